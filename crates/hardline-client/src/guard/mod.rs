//! Inspection of a connection's traffic by the guard.
//!
//! [`GuardSettings`] name the policy, the server, the pins and an observer for findings.
//! [`ConnectionSettings::with_guard`](crate::ConnectionSettings::with_guard) guards every connection opened with those settings.
//! If the client starts the server as a process, the guard reads its raw lines ([`lines()`]) and handles all
//! that `hardline wrap` handles: messages torn apart by a raw newline, noise, duplicate keys. For every
//! other transport it inspects whole messages ([`Guarded`]).
//!
//! ```no_run
//! use hardline_client::guard::{GuardSettings, GuardEvent};
//! use hardline_client::{Connection, ConnectionSettings};
//! use hardline_guard::policy::{Policy, Profile};
//! use hardline_transport::process::{Command, Environment};
//!
//! # async fn run() -> Result<(), hardline_client::Error> {
//! let guard = GuardSettings::new(Policy::profile(Profile::Strict)).for_server("files").with_observer(
//!     |event| {
//!         if let GuardEvent::Found(found) = event {
//!             tracing::warn!("{}: {}", found.finding.rule, found.finding.detail);
//!         }
//!     },
//! );
//! let command = Command::new("my-server", Environment::Base);
//! let server = Connection::spawn(&command, ConnectionSettings::default().with_guard(guard)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - Every message in either direction passes the guard first, and only its output is delivered.
//! - If the guard blocks a request or its answer, the request fails at once with the guard's error.

mod guarded;
mod judge;
mod lines;
mod outgoing;
mod settings;
mod shared;
mod state;

pub use guarded::Guarded;
pub use hardline_guard::policy::{Policy, Profile};
pub use lines::{GuardedInput, GuardedOutput, lines};
pub use settings::{GuardEvent, GuardSettings};
