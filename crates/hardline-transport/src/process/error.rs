//! Why a process was not started.

use std::io;
use std::path::PathBuf;

/// Why a process was not started. Never a peer's doing: there is none yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// No directory of the child's `PATH` has the program.
    #[error("program {program:?} not found in PATH ({path:?}): install it, or give its full path")]
    NotFound {
        /// The program's name as given.
        program: String,
        /// The directories that were searched, as in `PATH`.
        path: String,
    },
    /// The program was given as a path, and nothing is there.
    #[error("no program at {}: check the path", path.display())]
    NoSuchFile {
        /// Where it should be.
        path: PathBuf,
    },
    /// It is there, but may not be executed.
    #[error(
        "{} is not executable: give it the permission (chmod +x), or start its interpreter with \
         it as an argument",
        path.display()
    )]
    NotExecutable {
        /// Where it is.
        path: PathBuf,
    },
    /// It is a directory, a socket or the like.
    #[error("{} is not a file: give the path of a program", path.display())]
    NotAFile {
        /// What it is.
        path: PathBuf,
    },
    /// The working directory cannot be used.
    #[error("working directory {} cannot be used: {error}", path.display())]
    Directory {
        /// The directory as given.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The name or the value of an environment variable is none.
    #[error("environment variable {name:?} cannot be set: no `=` in a name, no NUL anywhere")]
    Variable {
        /// Its name.
        name: String,
    },
    /// The keeper's own program cannot be started.
    #[error("keeper cannot be started: {error}")]
    Keeper {
        /// What is wrong with it.
        error: Box<Self>,
    },
    /// There is no tokio runtime that could read the child's standard error.
    #[error("no tokio runtime here: start processes from within one")]
    NoRuntime,
    /// The system refused.
    #[error("cannot start {program:?}: {error}")]
    System {
        /// The program as found.
        program: String,
        /// What the system says.
        error: io::Error,
    },
}
