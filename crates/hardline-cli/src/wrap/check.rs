//! Checks the arguments of a `wrap` command that a client will run, without running it.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Args as _, FromArgMatches as _};

use super::WrapArgs;

/// State and configuration of a `wrap` command, as its arguments name them.
pub(crate) struct Directories {
    pub(crate) state: Option<PathBuf>,
    pub(crate) config: Option<PathBuf>,
    /// True if the arguments name a policy; the configuration directory is not read then.
    pub(crate) has_policy: bool,
}

/// Checks if `wrap` would accept these arguments (the first one is `wrap` itself). Returns the
/// directories that they name.
///
/// The check is partial: relative paths and variables have a meaning only for the client.
pub(crate) fn check<'a>(arguments: impl Iterator<Item = &'a str>) -> Result<Directories> {
    let command = WrapArgs::augment_args(clap::Command::new("wrap"));
    // The first line of a clap error has the reason; the rest is usage.
    let first = |error: clap::Error| {
        let text = error.render().to_string();
        anyhow!("{}", text.lines().next().unwrap_or_default().trim_start_matches("error: "))
    };
    let matches = command.try_get_matches_from(arguments).map_err(first)?;
    let args = WrapArgs::from_arg_matches(&matches).map_err(first)?;
    let given = args.policy.named().or(args.config_dir.as_deref());
    // Only the client knows its working directory and the values of its variables.
    let is_certain = given.is_some_and(Path::is_absolute);
    if is_certain {
        args.policy.read_in(args.config_dir.as_deref())?;
    }
    let has_policy = args.policy.named().is_some();
    Ok(Directories { state: args.state_dir, config: args.config_dir, has_policy })
}
