//! The keeper process: holds a process tree together, and ends it when we are gone.
//!
//! A keeper stands between a parent and the program it starts. It makes itself the reaper of all
//! its descendants, so that none escapes by losing its parent, and it watches its own parent. Any
//! executable that calls [`run`] can be a keeper: `hardline keeper` is one.
//!
//! Protocol between parent and keeper:
//! - The keeper ends as the program did: with the same code, or by the same signal. It ends once no
//!   process of the tree is left; processes that outlive the program get `SIGTERM`, and `SIGKILL`
//!   later.
//! - `SIGTERM` to the keeper is `SIGTERM` to the whole tree; `SIGUSR1` is `SIGKILL` to it.
//! - When the parent is gone, the whole tree gets `SIGKILL`.
//! - Code 125: the keeper was used wrongly, or its parent was gone before it started. Codes 126 and
//!   127: the program could not be started. The reason is on standard error.
//!
//! Only Linux has such reapers. On other systems a keeper ends the program and its process group.

mod parent;
mod watch;

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::error::SpawnError;
use super::program;
use watch::Watch;

/// Signal that tells a keeper to kill its tree. A keeper that has not installed its handler yet
/// dies of it, but has no tree yet.
pub(super) const KILL_SIGNAL: Signal = Signal::USR1;

const PARENT: &str = "--parent";
const LEFTOVERS: &str = "--leftovers-ms";

/// Command line of a keeper.
#[derive(Clone, Debug)]
pub struct Keeper {
    program: OsString,
    args: Vec<OsString>,
}

impl Keeper {
    /// Creates a keeper that is started as `program args… OPTIONS -- CMD ARGS…`. It must pass
    /// everything after its own `args` to [`run`], and in that very process: no process in between
    /// may start another.
    ///
    /// It is searched for in our own `PATH` and working directory, and gets the environment and the
    /// working directory of the child.
    pub fn new(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// Uses the running executable as the keeper.
    ///
    /// # Errors
    ///
    /// If the system cannot tell the path of the executable.
    pub fn this_program(args: impl IntoIterator<Item = impl Into<OsString>>) -> io::Result<Self> {
        let program = env::current_exe()?;
        // The file was replaced while it ran, as by an update. The old one can still be started.
        let deleted = cfg!(target_os = "linux") && !program.exists();
        let program = if deleted { PathBuf::from("/proc/self/exe") } else { program };
        Ok(Self::new(program, args))
    }

    pub(super) fn find(&self) -> Result<PathBuf, SpawnError> {
        let here = Path::new(".");
        let wrong = |error| SpawnError::Directory { path: here.to_path_buf(), error };
        let directory = std::path::absolute(here).map_err(wrong)?;
        program::find(&self.program, env::var_os("PATH").as_deref(), &directory)
    }

    /// Returns the arguments that come before the program to start.
    pub(super) fn arguments(&self, leftovers: Duration) -> impl Iterator<Item = OsString> {
        let options = [
            PARENT.into(),
            std::process::id().to_string().into(),
            LEFTOVERS.into(),
            // `Orders::read` parses a `u32`.
            leftovers.as_millis().min(u32::MAX.into()).to_string().into(),
            "--".into(),
        ];
        self.args.iter().cloned().chain(options)
    }
}

/// Parsed command line of a keeper.
#[derive(Debug, Eq, PartialEq)]
struct Orders {
    /// Process that started the keeper; unknown if a person did.
    parent: Option<Pid>,
    leftovers: Duration,
    command: Vec<OsString>,
}

/// Runs a keeper: starts the program that `args` name (`[--parent PID] [--leftovers-ms MS] [--] CMD
/// ARGS…`) and stays until no process of its tree is left.
///
/// Call it from `main`, in a process with a single thread and no children, and return its result
/// from there at once.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    // Without it the keeper works as well; it holds the streams of the server alone.
    let _ = super::deny_foreign_access();
    let outcome = Orders::read(args).and_then(|orders| Watch::start(&orders));
    match outcome {
        Ok(watch) => watch.run(),
        Err(failure) => {
            // If standard error is gone too, the exit code is the only report.
            let _ = writeln!(io::stderr(), "keeper: {failure}");
            ExitCode::from(failure.code)
        }
    }
}

/// Reason why the keeper cannot work, with its exit code.
#[derive(Debug, Eq, PartialEq)]
struct Failure {
    code: u8,
    reason: String,
}

/// Exit code of the keeper's own failures, as `env` and `timeout` use it.
const OWN_FAILURE: u8 = 125;

impl Failure {
    fn own(reason: impl Into<String>) -> Self {
        Self { code: OWN_FAILURE, reason: reason.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl Orders {
    fn read(args: impl IntoIterator<Item = OsString>) -> Result<Self, Failure> {
        let mut args = args.into_iter().peekable();
        // The same default as in `Times`.
        let (mut parent, mut leftovers) = (None, Duration::from_millis(500));
        while let Some(option) = args.next_if(|it| it.as_encoded_bytes().starts_with(b"-")) {
            if option == "--" {
                break;
            }
            let value = args.next().and_then(|it| it.into_string().ok());
            let number = value.and_then(|it| it.parse::<u32>().ok());
            match (option.to_str(), number) {
                (Some(PARENT), Some(pid)) => {
                    parent = i32::try_from(pid).ok().and_then(Pid::from_raw);
                }
                (Some(LEFTOVERS), Some(ms)) => leftovers = Duration::from_millis(ms.into()),
                _ => return Err(Failure::own(format!("wrong option {option:?}"))),
            }
        }
        let command: Vec<_> = args.collect();
        if command.is_empty() {
            return Err(Failure::own("no command to start"));
        }
        Ok(Self { parent, leftovers, command })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Result<Orders, String> {
        Orders::read(args.iter().map(OsString::from)).map_err(|failure| failure.reason)
    }

    #[test]
    fn reads_its_orders() {
        let orders = read(&["--parent", "7", "--leftovers-ms", "20", "--", "a", "--", "b"]);
        let command = ["a", "--", "b"].map(OsString::from).to_vec();
        let leftovers = Duration::from_millis(20);
        assert_eq!(orders, Ok(Orders { parent: Pid::from_raw(7), leftovers, command }));
        let orders = read(&["a", "-x"]).unwrap();
        assert_eq!((orders.parent, orders.command.len()), (None, 2));
        assert_eq!(read(&["--", "--parent"]).unwrap().command, ["--parent"]);
        for (args, reason) in [
            (&["--"][..], "no command to start"),
            (&[], "no command to start"),
            (&["--parent", "x", "--", "a"], "wrong option \"--parent\""),
            (&["--parent"], "wrong option \"--parent\""),
            (&["--else", "1", "--", "a"], "wrong option \"--else\""),
        ] {
            assert_eq!(read(args), Err(reason.into()));
        }
    }

    #[test]
    fn reads_what_it_writes() {
        let keeper = Keeper::new("k", ["keeper"]);
        let args = keeper.arguments(Duration::from_millis(30)).skip(1).chain(["x".into()]);
        let orders = Orders::read(args).unwrap();
        assert_eq!(orders.leftovers, Duration::from_millis(30));
        assert_eq!(orders.parent, Some(rustix::process::getpid()));
        assert_eq!(orders.command, ["x"]);
    }
}
