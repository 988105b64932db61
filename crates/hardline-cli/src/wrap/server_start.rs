//! The start of a server: builds its command, applies the launch policy, detects a changed
//! executable.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use hardline_guard::policy::Policy;
use hardline_guard::tools::Glob;
use hardline_guard::{Action, Found, Rule};
use hardline_proxy::audit::Launch;
use hardline_proxy::launch::known::{Program, ProgramChange, Programs};
use hardline_proxy::launch::{Confined, Start, User, confine, judge, search_path, standard_path};
use hardline_transport::process::{Command, Environment, Keeper, SpawnError, Stderr};

use crate::directory;

/// Timeout for the lock on the file of known executables.
const PATIENCE: Duration = Duration::from_millis(300);
/// Digits of a hash that are shown.
const SHOWN_DIGITS: usize = 12;

/// A server that is ready to start.
pub(super) struct ServerStart {
    pub(super) command: Command,
    pub(super) start: Start,
    /// Findings of the launch rules about the command.
    pub(super) found: Vec<Found>,
    /// Changes to the environment that the client passed.
    pub(super) confined: Confined,
}

impl ServerStart {
    /// Resolves the command and judges it by the policy for the server `name`.
    pub(super) fn new(
        command: &[OsString],
        name: &str,
        policy: &Policy,
    ) -> Result<Self, SpawnError> {
        let no_name = OsString::new();
        // clap requires at least one word.
        let (program, rest) = command.split_first().unwrap_or((&no_name, &[]));
        let launch = policy.settings(Some(name)).launch();
        let (environment, mut variables) = if launch.is_env_clean() {
            (Environment::Base, listed_variables(launch.env()))
        } else {
            (Environment::Inherit, Vec::new())
        };
        let found_as = match search_path(launch) {
            // The policy's search path replaces the client's `PATH`, which the client controls.
            Some(path) => Command::new(program, environment).env("PATH", path).resolve(),
            None => Command::new(program, environment).envs(variables.clone()).resolve(),
        };
        if launch.programs().is_some() {
            // The program may start others by name, as a script does in its first line.
            let path = search_path(launch).or_else(standard_path);
            variables.extend(path.map(|path| ("PATH".into(), path)));
        }
        let file = found_as?;
        let mut command_line = Command::new(&file, environment).args(rest).envs(variables);
        let mut confined = Confined::default();
        if launch.programs().is_some() {
            confined = confine(&command_line.variables(), launch, &user());
            command_line = command_line.envs_remove(confined.left_out.clone());
            command_line = command_line.envs(confined.set.clone());
        }
        if let Some(directory) = launch.directory() {
            command_line = command_line.current_dir(directory);
        }
        let command_line = command_line.stderr(Stderr::forward(name));
        let keeper = Keeper::this_program(["keeper"]);
        // Without a keeper, the server still ends when its standard input closes.
        let command_line = match keeper {
            Ok(keeper) => command_line.keeper(keeper),
            Err(_) => command_line,
        };
        let start = Start::new(file, command);
        let text = |word: OsString| word.to_string_lossy().into_owned();
        let variables = command_line.variables().into_iter();
        let variables: Vec<_> = variables.map(|(key, value)| (text(key), text(value))).collect();
        let found = judge(&start, &variables, policy, name);
        // Judged last, with the exact environment that the server gets.
        Ok(Self { command: command_line, start, found, confined })
    }
}

/// Returns the user that the server runs as. A user that the system does not know has no home that
/// can be trusted; its home is then the root directory, as in containers.
fn user() -> User {
    let unknown = || User { home: "/".into(), shell: "/bin/sh".into() };
    directory::user().unwrap_or_else(unknown)
}

/// Returns our environment variables that match one of the names.
fn listed_variables(names: &[String]) -> Vec<(OsString, OsString)> {
    let globs: Vec<Glob> = names.iter().map(Glob::new).collect();
    let is_listed = |name: &OsString| globs.iter().any(|it| it.matches(&name.to_string_lossy()));
    std::env::vars_os().filter(|(name, _)| is_listed(name)).collect()
}

/// Identity of an executable, and the result of comparing it with the last start.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) launch: Launch,
    pub(super) program: Option<Program>,
    pub(super) found: Option<Found>,
    pub(super) trouble: Option<String>,
    /// True if the file of known executables cannot be read.
    pub(super) is_unread: bool,
}

/// Compares a server's executable with that of its last start: the one in `file`, or in `known` if
/// there is no file. May read the whole executable.
pub(super) fn identify(
    start: &Start,
    policy: &Policy,
    name: &str,
    file: Option<PathBuf>,
    known: Programs,
) -> Identity {
    let launch =
        Launch { argv: start.command.clone(), path: Some(start.program.clone()), sha256: None };
    let mut identity =
        Identity { launch, program: None, found: None, trouble: None, is_unread: false };
    let known = match file.as_deref().map(Programs::read) {
        Some(Ok(known)) => known,
        Some(Err(error)) => {
            let detail = format!("executables cannot be compared: {error}");
            // A policy that blocks a changed executable does not start one that may have changed.
            let found = start.found(policy, name, Rule::LaunchChanged, detail.clone());
            identity.is_unread = true;
            identity.found = Some(found).filter(|found| found.action >= Action::Block);
            identity.trouble = Some(detail).filter(|_| identity.found.is_none());
            return identity;
        }
        None => known,
    };
    let (program, change) = match known.look(name, &start.program) {
        Ok(looked) => looked,
        Err(error) => {
            let path = start.program.display();
            identity.trouble =
                Some(format!("{path} cannot be compared with the last start: {error}"));
            return identity;
        }
    };
    identity.launch.sha256 = Some(program.sha256.clone());
    identity.program = Some(program.clone());
    if let ProgramChange::Changed { before } = change {
        let detail = describe_change(&before, &program);
        let found = start.found(policy, name, Rule::LaunchChanged, detail);
        identity.found = Some(found).filter(|found| found.action != Action::Allow);
    }
    let is_blocked = identity.found.as_ref().is_some_and(|found| found.action >= Action::Block);
    let Some(file) = file else { return identity };
    let kept = if is_blocked {
        // Stored apart from the pinned one, for `hardline pin approve`.
        Programs::refuse(&file, name, &program, PATIENCE)
    } else if known.get(name) == Some(&program) {
        Ok(())
    } else {
        Programs::remember(&file, name, &program, PATIENCE)
    };
    identity.trouble = kept.err().map(|error| error.to_string());
    identity
}

/// Describes the change of an executable since the last start.
fn describe_change(before: &Program, program: &Program) -> String {
    let short = |hash: &str| hash.get(..SHOWN_DIGITS).unwrap_or(hash).to_owned();
    let path = program.path.display();
    let (old, new) = (short(&before.sha256), short(&program.sha256));
    if before.path == program.path {
        return format!("{path} has changed since the last start: sha256 {old}… → {new}…");
    }
    let old_path = before.path.display();
    format!(
        "the executable changed since the last start: {old_path} (sha256 {old}…) → {path} ({new}…)"
    )
}
