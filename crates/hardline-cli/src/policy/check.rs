//! `hardline policy check`: validates a policy file.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use super::{default_file, read};
use crate::terminal::{harmless, shown_path};

/// Validate a policy file and list all mistakes in it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if the policy is valid; 2 if it is not, or cannot be read.\n\n\
    Examples:\n  hardline policy check\n  hardline policy check team-policy.toml"
)]
pub(super) struct PolicyCheckArgs {
    /// Policy file; default: policy.toml in the configuration directory
    file: Option<PathBuf>,
}

pub(super) fn run(args: &PolicyCheckArgs) -> Result<ExitCode> {
    let path = args.file.clone().or_else(default_file);
    let path = path.context("HOME is not set, so there is no default policy: name a file")?;
    // An explicit file that is missing gets the more precise read error.
    if args.file.is_none() && !path.exists() {
        bail!("{} does not exist: name a file", shown_path(&path));
    }
    let policy = read(&path, None)?;
    let servers = policy.servers();
    let about = match &*servers {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let mut out = io::stdout().lock();
    writeln!(out, "{} is a valid policy", shown_path(&path))?;
    writeln!(out, "  profile: {}", policy.base())?;
    writeln!(out, "  servers named: {}", harmless(&about))?;
    Ok(ExitCode::SUCCESS)
}
