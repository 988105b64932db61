//! The policy that a command line asks for, and `hardline policy`, which reads one and says what it does.
//!
//! Without `--policy`, it is `policy.toml` in the configuration directory, if there is one.

mod check;
mod show;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use hardline_guard::Rule;
use hardline_guard::policy::{Policy, Profile};
use hardline_transport::file;

use crate::install::whole_path;
use crate::place;

/// Which policy.
#[derive(Debug, clap::Args)]
pub(crate) struct PolicyArgs {
    /// How strict to be where the policy does not say: observe, balanced or strict
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,

    /// A policy, in TOML; without one, policy.toml in the configuration directory, if it is there
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

impl PolicyArgs {
    /// Reads it.
    pub(crate) fn read(&self) -> Result<Policy> {
        self.read_in(None)
    }

    /// Reads it; unless it is named, it is the one in a configuration directory.
    pub(crate) fn read_in(&self, config: Option<&Path>) -> Result<Policy> {
        match self.file(config) {
            Some(path) => read(&path, self.profile),
            None => Ok(Policy::profile(self.profile.unwrap_or_default())),
        }
    }

    /// The same as options of a command, for somebody else to start: the policy is one that can be read.
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

    /// The file that it names, if it does.
    pub(crate) fn named(&self) -> Option<&Path> {
        self.policy.as_deref()
    }

    /// The file that is read, if one is.
    fn file(&self, config: Option<&Path>) -> Option<PathBuf> {
        let own = || place::policy_in(&config.map(Path::to_owned).or_else(place::config)?);
        self.policy.clone().or_else(own)
    }
}

/// Check a policy, or show what it does
///
/// A policy says what is done about findings: for all servers, for one, for one tool. docs/policy.md
/// describes it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
    Show(show::Args),
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Show(args) => show::run(args),
    }
}

/// The policy that holds unless another is named.
pub(crate) fn default_file() -> Option<PathBuf> {
    place::policy()
}

/// The rule that a command line names.
pub(crate) fn read_rule(name: &str) -> Result<Rule, String> {
    name.parse().map_err(|_| match Rule::nearest(name) {
        Some(rule) => format!("there is no such rule; did you mean {rule}?"),
        None => "there is no such rule; hardline policy show lists them".to_owned(),
    })
}

/// Reads a policy; `profile`, if there is one, counts instead of the one that the file names.
pub(crate) fn read(path: &Path, profile: Option<Profile>) -> Result<Policy> {
    let name = path.display();
    let text = read_file(path).with_context(|| format!("cannot read {name}"))?;
    let policy = match profile {
        Some(profile) => Policy::parse_with_profile(&text, profile),
        None => Policy::parse(&text),
    };
    policy.map_err(|error| anyhow!("{name} is no policy:\n{error}"))
}

#[expect(clippy::disallowed_methods, reason = "no more is read than a policy may have")]
fn read_file(path: &Path) -> io::Result<String> {
    let most = u64::try_from(Policy::MAX_BYTES).unwrap_or(u64::MAX);
    let mut text = String::new();
    // One byte more shows that it is too long, and the parser says so.
    file::open(path)?.take(most + 1).read_to_string(&mut text)?;
    Ok(text)
}
