//! The policy that a command line asks for.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use hardline_guard::policy::{Policy, Profile};

/// Which policy.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyArgs {
    /// How strict to be where the policy does not say: observe, balanced or strict
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,

    /// A policy, in TOML
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

impl PolicyArgs {
    /// Reads it.
    pub(crate) fn read(&self) -> Result<Policy> {
        let Some(path) = &self.policy else {
            return Ok(Policy::profile(self.profile.unwrap_or_default()));
        };
        let name = path.display();
        let text = read_file(path).with_context(|| format!("cannot read {name}"))?;
        let policy = match self.profile {
            Some(profile) => Policy::parse_with_profile(&text, profile),
            None => Policy::parse(&text),
        };
        policy.map_err(|error| anyhow!("{name} is no policy:\n{error}"))
    }
}

#[expect(clippy::disallowed_methods, reason = "no more is read than a policy may have")]
fn read_file(path: &Path) -> io::Result<String> {
    let most = u64::try_from(Policy::MAX_BYTES).unwrap_or(u64::MAX);
    let mut text = String::new();
    // One byte more shows that it is too long, and the parser says so.
    File::open(path)?.take(most + 1).read_to_string(&mut text)?;
    Ok(text)
}
