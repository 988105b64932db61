//! The policy options of a command line, and `hardline policy`, which validates and explains a
//! policy.
//!
//! Without `--policy`, the policy is `policy.toml` in the configuration directory, if that file
//! exists.

mod check;
mod show;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use hardline_guard::Rule;
use hardline_guard::policy::{Policy, Profile};
use hardline_transport::file;

use crate::directory;
use crate::install::whole_path;
use crate::terminal::shown_path;

/// Options that select the policy.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyArgs {
    /// Strictness where the policy says nothing: observe, balanced or strict
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,

    /// Policy file in TOML; default: policy.toml in the configuration directory, if it exists
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

impl PolicyArgs {
    /// Reads the policy.
    pub(crate) fn read(&self) -> Result<Policy> {
        self.read_in(None)
    }

    /// Reads the policy; the default one is in `config`, or else in the configuration directory.
    pub(crate) fn read_in(&self, config: Option<&Path>) -> Result<Policy> {
        match self.file(config) {
            Some(path) => read(&path, self.profile),
            None => Ok(Policy::profile(self.profile.unwrap_or_default())),
        }
    }

    /// Returns the same choice as options for another command line. Fails if the policy is invalid.
    pub(crate) fn options(&self) -> Result<Vec<String>> {
        self.read()?;
        let mut options = Vec::new();
        if let Some(profile) = self.profile {
            options.extend(["--profile".to_owned(), profile.to_string()]);
        }
        if let Some(path) = &self.policy {
            options.extend(["--policy".to_owned(), whole_path(path)?]);
        }
        Ok(options)
    }

    /// Returns the policy file that the options name.
    pub(crate) fn named(&self) -> Option<&Path> {
        self.policy.as_deref()
    }

    /// Returns the policy file that is read, if any.
    fn file(&self, config: Option<&Path>) -> Option<PathBuf> {
        let own = || directory::policy_in(&config.map(Path::to_owned).or_else(directory::config)?);
        self.policy.clone().or_else(own)
    }
}

/// Validate a policy, or show its effect
///
/// A policy selects the action for each kind of finding: for all servers, for one server, for one
/// tool. docs/policy.md describes the file.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyCommandArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::PolicyCheckArgs),
    Show(show::PolicyShowArgs),
}

pub(crate) fn run(args: &PolicyCommandArgs) -> Result<ExitCode> {
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Show(args) => show::run(args),
    }
}

/// Returns the default policy file, which may not exist.
pub(crate) fn default_file() -> Option<PathBuf> {
    directory::policy()
}

/// Parses the name of a rule.
pub(crate) fn read_rule(name: &str) -> Result<Rule, String> {
    name.parse().map_err(|_| match Rule::nearest(name) {
        Some(rule) => format!("unknown rule; did you mean {rule}?"),
        None => "unknown rule; `hardline policy show` lists all rules".to_owned(),
    })
}

/// Reads a policy. A `profile` overrides the profile in the file.
pub(crate) fn read(path: &Path, profile: Option<Profile>) -> Result<Policy> {
    let name = shown_path(path);
    let text = read_file(path).with_context(|| format!("cannot read {name}"))?;
    let policy = match profile {
        Some(profile) => Policy::parse_with_profile(&text, profile),
        None => Policy::parse(&text),
    };
    policy.map_err(|error| anyhow!("{name} is not a valid policy:\n{error}"))
}

#[expect(clippy::disallowed_methods, reason = "the size is limited to that of a policy")]
fn read_file(path: &Path) -> io::Result<String> {
    let most = u64::try_from(Policy::MAX_BYTES).unwrap_or(u64::MAX);
    let mut text = String::new();
    // With one byte more than the limit, the parser sees that the file is too long and reports it.
    file::open(path)?.take(most + 1).read_to_string(&mut text)?;
    Ok(text)
}
