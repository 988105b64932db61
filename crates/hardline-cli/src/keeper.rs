//! `hardline keeper`: the process that ends servers when whoever started them is killed.
//!
//! Started by `hardline` itself, not by people, and does nothing but call the library: it stays as
//! long as its server, so it has no runtime and takes next to no memory.

use std::ffi::OsString;
use std::process::ExitCode;

/// Keeps a server's processes together, and ends them when whoever started it is gone.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `[--parent PID] [--leftovers-ms MS] -- CMD ARGS…`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> ExitCode {
    hardline_transport::process::keeper::run(args.args)
}
