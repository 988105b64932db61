//! The guard on a connection.
//!
//! [`GuardSettings`] say by which policy a server is judged and who is told of what is found;
//! [`Settings::with_guard`](crate::Settings::with_guard) puts such a guard on every connection that is opened
//! with them. A server that is started has it on its lines, with all that `hardline wrap` does for them:
//! messages that a raw newline tore apart, noise, keys that stand twice ([`lines()`]). Everything else has
//! it on its messages ([`Guarded`]).
//!
//! ```no_run
//! use hardline_client::guard::{GuardSettings, Note};
//! use hardline_client::{Connection, Settings};
//! use hardline_guard::policy::{Policy, Profile};
//! use hardline_transport::process::{Command, Environment};
//!
//! # async fn run() -> Result<(), hardline_client::Error> {
//! let guard = GuardSettings::new(Policy::profile(Profile::Strict)).for_server("files").with_observer(
//!     |note| {
//!         if let Note::Found(found) = note {
//!             tracing::warn!("{}: {}", found.finding.rule, found.finding.detail);
//!         }
//!     },
//! );
//! let command = Command::new("my-server", Environment::Base);
//! let server = Connection::spawn(&command, Settings::default().with_guard(guard)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - Nothing goes on, in either direction, that the guard has not seen, and nothing but what it gave out.
//! - A request that it stops, or whose answer it stops, fails at once, with its error.

mod guarded;
mod judge;
mod lines;
mod settings;
mod shared;
mod state;

pub use guarded::Guarded;
pub use hardline_guard::policy::{Policy, Profile};
pub use lines::{GuardedInput, GuardedOutput, lines};
pub use settings::{GuardSettings, Note};
