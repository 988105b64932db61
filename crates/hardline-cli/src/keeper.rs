//! `hardline keeper`: the process that ends a server's process tree if its parent is killed.
//!
//! `hardline` itself starts it, not the user. It only calls the library: it lives as long as its
//! server, so it has no async runtime and needs little memory.

use std::ffi::OsString;
use std::process::ExitCode;

/// Ends a server's processes when the process that started the server is gone.
#[derive(Debug, clap::Args)]
pub(crate) struct KeeperArgs {
    /// `[--parent PID] [--leftovers-ms MS] -- CMD ARGS…`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: KeeperArgs) -> ExitCode {
    hardline_transport::process::keeper::run(args.args)
}
