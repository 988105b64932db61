//! The judge of MCP traffic: nothing gets through that nobody sent on purpose.
//!
//! Pure: bytes and times in, findings and verdicts out; no I/O, no clock, no threads.

mod content;
pub mod explain;
pub mod finding;
pub mod frame;
mod guard;
mod inspected;
pub mod join;
pub mod launch;
pub mod pin;
pub mod policy;
pub mod rule;
pub mod sanitize;
pub mod scan;
pub mod session;
pub mod tools;
mod undo;

pub use finding::{Direction, Finding, Severity};
pub use guard::{Carries, Delivery, Found, FrameReport, Guard, MAX_FOUND, TextReport, Verdict};
pub use inspected::Inspected;
pub use rule::{Action, Rule};
