//! Child processes that leave nothing behind.
//!
//! [`Command`] says what to start, [`Child`] is what runs, [`Exit`] is how it ended. Nothing else in
//! this workspace starts a process. What goes through the pipes is the caller's.
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
//! - A child is the leader of its own process group. A thread of its own waits for it, whatever
//!   becomes of the runtime, ends what it left behind and reaps it: no zombie, no orphan.
//! - A process is signalled only while it is known not to be reaped, so that no stranger that got
//!   its id is ever hit.
//! - Standard error is always read, and what is kept of it is bounded.
//! - Dropping a [`Child`], or the future of [`Child::close`], kills the whole tree at once.
//!
//! # When we are killed ourselves
//!
//! Nobody can clean up after a `SIGKILL`, and Linux' `PR_SET_PDEATHSIG` knows neither grandchildren
//! nor threads. So there is the [`Keeper`]: a small process between us and the child that becomes
//! the parent of every process that loses its own, watches us, and kills them all when we are gone.
//!
//! Without a keeper, the tree learns of our death by the end of its standard input, and lives on if it
//! does not care. Also without one, a descendant is found if it is in the child's process group, or if
//! the chain of its parents was whole when the tree was signalled (on Linux); a daemon, which cut both, is
//! not.
//!
//! # When the keeper is killed
//!
//! A server can kill its keeper, as both belong to one user. With [`adopt_orphans`] (on Linux) what the
//! keeper kept becomes ours then: it is killed, daemons included, and [`Exit::is_keeper_lost`] says that this
//! happened. Without it, the tree lives on as it does without a keeper. A keeper that is stopped is continued.
//!
//! A server that kills us and its keeper in the same moment gets away. Only a namespace for process ids
//! would hide both from it; but a server in one sees none of the user's other processes, has a `/proc` that
//! does not fit, and cannot use `sudo`, which honest servers do. A control group ends nothing by itself
//! when we are gone, and a server can leave it.

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
mod stderr;
mod supervisor;
mod tree;

use std::time::Instant;

pub use child::{Child, ExitWatch};
pub use command::{Command, Environment, Times};
pub use error::SpawnError;
pub use exit::Exit;
pub use forward::{flush as flush_stderr, line as write_stderr};
pub use keeper::Keeper;
pub use orphan::{adopt_orphans, end_descendants};
pub use stderr::Stderr;

#[expect(clippy::disallowed_methods, reason = "deadlines outside of any runtime")]
fn now() -> Instant {
    Instant::now()
}
