//! Whether a `wrap` that somebody else is to start would start.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Args as _, FromArgMatches as _};

use super::Args;

/// Directories and files of a `wrap`, as far as its arguments say.
pub(crate) struct Places {
    pub(crate) state: Option<PathBuf>,
    pub(crate) config: Option<PathBuf>,
    /// True if it is given a policy, so that its configuration directory does not matter.
    pub(crate) has_policy: bool,
}

/// Looks whether `wrap`, which is the first of these, would start with these arguments, as far as can be seen
/// from here. Returns where it would look for what is kept.
pub(crate) fn check<'a>(arguments: impl Iterator<Item = &'a str>) -> Result<Places> {
    let command = Args::augment_args(clap::Command::new("wrap"));
    // All that is wrong is in its first line.
    let first = |error: clap::Error| {
        let text = error.render().to_string();
        anyhow!("{}", text.lines().next().unwrap_or_default().trim_start_matches("error: "))
    };
    let matches = command.try_get_matches_from(arguments).map_err(first)?;
    let args = Args::from_arg_matches(&matches).map_err(first)?;
    // Only the client knows where a path begins, and what a variable stands for.
    let given = args.policy.named().or(args.config_dir.as_deref());
    let is_certain = given.is_some_and(Path::is_absolute);
    if is_certain {
        args.policy.read_in(args.config_dir.as_deref())?;
    }
    let has_policy = args.policy.named().is_some();
    Ok(Places { state: args.state_dir, config: args.config_dir, has_policy })
}
