//! Description of a process to start.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;

use super::child::{Child, Pipes};
use super::error::SpawnError;
use super::keeper::Keeper;
use super::orphan;
use super::program;
use super::stderr::Stderr;
use super::supervisor::Seat;

/// A process to start: a program and its arguments, never a shell command line.
#[derive(Clone)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    directory: Option<PathBuf>,
    environment: Environment,
    variables: Vec<(OsString, OsString)>,
    removed: Vec<OsString>,
    times: Times,
    stderr: Stderr,
    keeper: Option<Keeper>,
}

/// Base of a child's environment, before the variables set with [`Command::env`].
///
/// There is no default: inheriting everything hands our secrets to a foreign program, and a minimal
/// environment breaks programs that rely on a variable.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Environment {
    /// The whole environment of this process.
    Inherit,
    /// The variables that a program needs to run at all, as in the official MCP SDKs: `HOME`,
    /// `LOGNAME`, `PATH`, `SHELL`, `TERM`, `USER`, and also `LANG`, `LC_ALL`, `LC_CTYPE`, `TMPDIR`
    /// and `TZ`. Shell functions (values that begin with `()`) are left out.
    Base,
}

/// Time limits for the steps of [`Child::close`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Times {
    pub(super) exit: Duration,
    pub(super) terminate: Duration,
    pub(super) leftovers: Duration,
}

const BASE: [&str; 11] = [
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];

impl Command {
    /// Describes a process. Its standard error is forwarded, labelled with the program's file name.
    ///
    /// A `program` with a `/` in it is a path, relative to [`current_dir`](Self::current_dir) if
    /// that is set. Any other is searched for in the child's `PATH`.
    pub fn new(program: impl Into<OsString>, environment: Environment) -> Self {
        let program = program.into();
        let label = Path::new(&program).file_name().unwrap_or(&program).to_string_lossy();
        Self {
            stderr: Stderr::forward(&label),
            program,
            args: Vec::new(),
            directory: None,
            environment,
            variables: Vec::new(),
            removed: Vec::new(),
            times: Times::default(),
            keeper: None,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable on top of the [`Environment`].
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Sets environment variables on top of the [`Environment`].
    #[must_use]
    pub fn envs(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.variables.extend(variables);
        self
    }

    /// Removes variables from the [`Environment`]. Those set with [`env`](Self::env) stay.
    #[must_use]
    pub fn envs_remove(mut self, names: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.removed.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory. Default: that of this process.
    #[must_use]
    pub fn current_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Sets the time limits for the steps of closing.
    #[must_use]
    pub fn times(mut self, times: Times) -> Self {
        self.times = times;
        self
    }

    /// Sets the destination of the lines on standard error.
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Puts a keeper between us and the child, so that the tree ends even if we are killed.
    #[must_use]
    pub fn keeper(mut self, keeper: Keeper) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Returns the file that would be started.
    ///
    /// # Errors
    ///
    /// Those errors of [`spawn`](Self::spawn) that can be found without starting a process.
    pub fn resolve(&self) -> Result<PathBuf, SpawnError> {
        let directory = self.absolute_directory()?;
        program::find(&self.program, self.path().as_deref(), &directory)
    }

    /// Returns the environment that the child would get.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = match self.environment {
            Environment::Inherit => env::vars_os().collect(),
            Environment::Base => {
                base_variables().map(|(name, value)| (name.into(), value)).collect()
            }
        };
        // Before the explicit variables are added, so that those stay.
        all.retain(|(known, _)| !self.removed.contains(known));
        for (name, value) in &self.variables {
            all.retain(|(known, _)| known != name);
            all.push((name.clone(), value.clone()));
        }
        all
    }

    /// Starts the process.
    ///
    /// # Errors
    ///
    /// Names the missing or invalid part. Problems that only the system can find (a wrong
    /// architecture, a missing interpreter) are errors too; with a [keeper](Self::keeper) they are
    /// an [`Exit`](super::Exit) with code 126 or 127 and the reason in its tail.
    ///
    /// # Panics
    ///
    /// If called in a tokio runtime without `enable_io` or `enable_time`.
    pub fn spawn(&self) -> Result<Child, SpawnError> {
        // Only a runtime can read the pipes of the child.
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(SpawnError::NoRuntime);
        }
        let (program, mut command) = self.prepare()?;
        let refused =
            |error| SpawnError::System { program: program.to_string_lossy().into(), error };
        // The waiting thread must exist first: a child without one could never be reaped.
        let seat = Seat::new().map_err(refused)?;
        let mut started = orphan::spawn(&mut command).map_err(refused)?;
        // Only our ends of the pipes are needed. Dropping std's handle neither waits nor kills.
        let pipes = Pipes {
            stdin: started.stdin.take().map(Into::into),
            stdout: started.stdout.take().map(Into::into),
            stderr: started.stderr.take().map(Into::into),
        };
        let pid = Pid::from_child(&started);
        let supervisor = seat.take(pid, self.keeper.is_some(), self.times.leftovers);
        tracing::debug!(pid = supervisor.id(), program = %program.display(), "started a child");
        Child::new(supervisor, pipes, self.stderr.clone(), self.times).map_err(refused)
    }

    /// Checks everything that can be checked before the process exists.
    fn prepare(&self) -> Result<(PathBuf, std::process::Command), SpawnError> {
        let bad = |name: &OsStr, value: &OsStr| {
            let (name, value) = (name.as_bytes(), value.as_bytes());
            name.is_empty() || name.contains(&b'=') || name.contains(&0) || value.contains(&0)
        };
        // Checked here, so that the error can name the variable.
        if let Some((name, _)) = self.variables.iter().find(|(name, value)| bad(name, value)) {
            return Err(SpawnError::Variable { name: name.to_string_lossy().into_owned() });
        }
        let directory = self.absolute_directory()?;
        let program = program::find(&self.program, self.path().as_deref(), &directory)?;
        let mut command = match &self.keeper {
            None => new_std(&program),
            Some(keeper) => {
                // From our own PATH: the child's must not choose the keeper.
                let keeper_program =
                    keeper.find().map_err(|error| SpawnError::Keeper { error: Box::new(error) })?;
                let mut command = new_std(&keeper_program);
                command.args(keeper.arguments(self.times.leftovers)).arg(&program);
                command
            }
        };
        // Its own process group lets us signal the whole tree without hitting ourselves.
        command.args(&self.args).current_dir(&directory).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.environment == Environment::Base {
            command.env_clear().envs(base_variables());
        }
        // Before `envs`, so that explicitly set variables stay.
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        Ok((program, command))
    }

    fn absolute_directory(&self) -> Result<PathBuf, SpawnError> {
        let given = self.directory.as_deref().unwrap_or(Path::new("."));
        let wrong = |error| SpawnError::Directory { path: given.to_path_buf(), error };
        // A relative directory would depend on where this process runs when it starts the child.
        let directory = std::path::absolute(given).map_err(wrong)?;
        match directory.metadata() {
            Ok(metadata) if metadata.is_dir() => Ok(directory),
            Ok(_) => Err(wrong(io::ErrorKind::NotADirectory.into())),
            Err(error) => Err(wrong(error)),
        }
    }

    /// Returns the child's `PATH`.
    fn path(&self) -> Option<OsString> {
        // The last one set wins, as in `variables`.
        let given = self.variables.iter().rev().find(|(name, _)| name == "PATH");
        given.map(|(_, value)| value.clone()).or_else(|| env::var_os("PATH"))
    }
}

impl fmt::Debug for Command {
    /// Omits the values of variables, which are often secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values are left out: they may be secrets.
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("directory", &self.directory)
            .field("environment", &self.environment)
            .field("variables", &names)
            .field("removed", &self.removed)
            .field("times", &self.times)
            .field("stderr", &self.stderr)
            .field("keeper", &self.keeper)
            .finish()
    }
}

impl Times {
    /// Sets the time for the child to exit after its standard input was closed. Default: 2 s.
    #[must_use]
    pub fn with_exit(self, exit: Duration) -> Self {
        Self { exit, ..self }
    }

    /// Sets the time between `SIGTERM` to the tree and `SIGKILL`. Default: 2 s.
    #[must_use]
    pub fn with_terminate(self, terminate: Duration) -> Self {
        Self { terminate, ..self }
    }

    /// Sets the time between `SIGTERM` and `SIGKILL` for processes that outlive the child. Default:
    /// 500 ms. The child's exit is reported once all of them are gone.
    #[must_use]
    pub fn with_leftovers(self, leftovers: Duration) -> Self {
        Self { leftovers, ..self }
    }
}

impl Default for Times {
    fn default() -> Self {
        let (long, short) = (Duration::from_secs(2), Duration::from_millis(500));
        Self { exit: long, terminate: long, leftovers: short }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the module that starts processes")]
pub(super) fn new_std(program: &Path) -> std::process::Command {
    std::process::Command::new(program)
}

fn base_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    let set = BASE.into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
    // Exported bash functions are code, not settings.
    set.filter(|(_, value)| !value.as_bytes().starts_with(b"()"))
}
