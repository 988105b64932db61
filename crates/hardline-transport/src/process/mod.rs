//! Child processes that leave no process behind.
//!
//! [`Command`] describes the process to start, [`Child`] is the running process, [`Exit`] is its
//! end. No other module of this workspace starts a process. The caller reads and writes the pipes.
//!
//! ```no_run
//! # async fn example() -> Result<(), hardline_transport::process::SpawnError> {
//! use hardline_transport::process::{Command, Environment};
//!
//! let mut child = Command::new("my-server", Environment::Base).arg("--stdio").spawn()?;
//! let (requests, answers) = (child.take_stdin(), child.take_stdout());
//! // … talk …
//! drop((requests, answers));
//! println!("the server {}", child.close().await);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - A program is started from a list of arguments, never through a shell.
//! - A child is the leader of its own process group. A separate thread waits for it, independent of
//!   the runtime, ends its descendants and reaps it: no zombie, no orphan.
//! - A process is signalled only while it is known not to be reaped, so that a signal never hits an
//!   unrelated process that got the same id.
//! - Standard error is always read, and the stored part of it is bounded.
//! - Dropping a [`Child`], or the future of [`Child::close`], kills the whole tree at once.
//!
//! # When we are killed ourselves
//!
//! A process cannot clean up after its own `SIGKILL`, and Linux' `PR_SET_PDEATHSIG` covers neither
//! grandchildren nor threads. The [`Keeper`] solves this: a small process between us and the child
//! that becomes the parent of every process in the tree that loses its own, watches us, and kills
//! them all when we are gone.
//!
//! Without a keeper, the tree learns of our death by the end of its standard input, and lives on if
//! it ignores that. Also without one, a descendant is found only if it is in the child's process
//! group, or if the chain of its parents was complete when the tree was signalled (on Linux). A
//! daemon, which breaks both, is not found.
//!
//! # When the keeper is killed
//!
//! A server can kill its keeper, because both belong to one user. With [`adopt_orphans`] (on
//! Linux), the keeper's processes then become our children. We kill them, daemons included, and
//! [`Exit::is_keeper_lost`] reports it. Without it, the tree lives on as it does without a keeper.
//! A keeper that was stopped is continued.
//!
//! A server that kills us and its keeper in the same moment escapes. Only a PID namespace would
//! hide both from it. But a server in one sees none of the user's other processes, has a `/proc`
//! that does not fit, and cannot use `sudo`, which honest servers do. A control group ends no
//! process by itself when we are gone, and a server can leave it.

pub mod keeper;

mod child;
mod command;
mod error;
mod exit;
mod forward;
mod orphan;
#[cfg(target_os = "linux")]
mod proc;
mod program;
mod shield;
mod stderr;
mod supervisor;
mod tree;

use std::time::Instant;

pub use child::{Child, ExitWatch};
pub use command::{Command, Environment, Times};
pub use error::SpawnError;
pub use exit::Exit;
pub use forward::{flush as flush_stderr, foreign_line as forward_stderr, line as write_stderr};
pub use keeper::Keeper;
pub use orphan::{adopt_orphans, end_descendants};
pub use shield::deny_foreign_access;
pub use stderr::Stderr;

#[expect(clippy::disallowed_methods, reason = "deadlines outside of any runtime")]
fn now() -> Instant {
    Instant::now()
}
