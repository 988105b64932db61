//! Whether a `wrap` that somebody else is to start would start.

use anyhow::{Result, anyhow};
use clap::{Args as _, FromArgMatches as _};

use super::Args;

/// Looks whether `wrap`, which is the first of these, would start with these arguments, as far as can be seen
/// from here.
pub(crate) fn check<'a>(arguments: impl Iterator<Item = &'a str>) -> Result<()> {
    let command = Args::augment_args(clap::Command::new("wrap"));
    // All that is wrong is in its first line.
    let first = |error: clap::Error| {
        let text = error.render().to_string();
        anyhow!("{}", text.lines().next().unwrap_or_default().trim_start_matches("error: "))
    };
    let matches = command.try_get_matches_from(arguments).map_err(first)?;
    let args = Args::from_arg_matches(&matches).map_err(first)?;
    // Only the client knows where a path begins, and what a variable stands for.
    if args.policy.is_certain() { args.policy.read().map(drop) } else { Ok(()) }
}
