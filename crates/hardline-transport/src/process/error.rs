//! Errors of starting a process.

use std::io;
use std::path::PathBuf;

/// Error returned when a process was not started. A peer is never the cause: there is none yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// No directory of the child's `PATH` has the program.
    #[error("program {program:?} not found in PATH ({path:?}): install it, or give its full path")]
    NotFound {
        /// Name of the program as given.
        program: String,
        /// The searched directories, as in `PATH`.
        path: String,
    },
    /// The program was given as a path, and no file is there.
    #[error("no program at {}: check the path", path.display())]
    NoSuchFile {
        /// Expected path of the program.
        path: PathBuf,
    },
    /// The file exists but is not executable.
    #[error(
        "{} is not executable: give it the permission (chmod +x), or start its interpreter with \
         it as an argument",
        path.display()
    )]
    NotExecutable {
        /// Path of the file.
        path: PathBuf,
    },
    /// The path names a directory, a socket or the like.
    #[error("{} is not a file: give the path of a program", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The working directory cannot be used.
    #[error("working directory {} cannot be used: {error}", path.display())]
    Directory {
        /// The directory as given.
        path: PathBuf,
        /// Error from the system.
        error: io::Error,
    },
    /// The name or the value of an environment variable is invalid.
    #[error("environment variable {name:?} cannot be set: no `=` in a name, no NUL anywhere")]
    Variable {
        /// Name of the variable.
        name: String,
    },
    /// The program of the keeper cannot be started.
    #[error("keeper cannot be started: {error}")]
    Keeper {
        /// The reason.
        error: Box<Self>,
    },
    /// There is no tokio runtime to read the child's standard error.
    #[error("no tokio runtime here: start processes from within one")]
    NoRuntime,
    /// The system refused to start the process.
    #[error("cannot start {program:?}: {error}")]
    System {
        /// Path of the program.
        program: String,
        /// Error from the system.
        error: io::Error,
    },
}
