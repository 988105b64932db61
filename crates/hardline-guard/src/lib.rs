//! Inspects MCP traffic between a client and a server, and decides what may pass: a message that
//! its sender did not write on purpose does not get through.
//!
//! The crate is pure: bytes and times in, findings and verdicts out. It has no I/O, no clock and no
//! threads. [`Guard`] combines all checks for a session, a line or a text.
//!
//! ```
//! use std::time::Duration;
//!
//! use hardline_guard::policy::Policy;
//! use hardline_guard::{Direction, Guard, Rule};
//!
//! let mut guard = Guard::for_server(Policy::default(), "files").for_whole_messages();
//! // An answer to a request that the client never made.
//! let answer = br#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
//! let inspection = guard.inspect_message(Direction::ServerToClient, answer, Duration::ZERO);
//! assert_eq!(inspection.found[0].finding.rule, Rule::SessionUnsolicitedResponse);
//! assert!(inspection.deliveries.is_empty());
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod content;
pub mod explain;
pub mod finding;
mod fold;
pub mod frame;
mod guard;
mod inspected;
pub mod join;
pub mod launch;
pub mod pin;
pub mod policy;
pub mod redact;
pub mod rule;
pub mod sanitize;
pub mod scan;
#[cfg(feature = "serde")]
mod serialize;
pub mod session;
pub mod tools;
mod undo;

pub use finding::{Direction, Finding, Severity};
pub use guard::{Carries, Delivery, Found, FrameReport, Guard, Inspection, MAX_FOUND, TextReport};
pub use inspected::Inspected;
pub use rule::{Action, Rule};

/// Compiles and runs the examples of the page on the guard.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guard.md")]
struct GuardPage;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
