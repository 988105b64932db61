//! Inspects MCP traffic between a client and a server, and decides what may pass: a message that
//! its sender did not write on purpose does not get through.
//!
//! The crate is pure: bytes and times in, findings and verdicts out. It has no I/O, no clock and no
//! threads. `docs/guard.md` shows how to embed it.

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

/// Compiles and runs the examples of `docs/guard.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guard.md")]
struct GuardPage;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
