//! Tests of the guard as its users see it.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod explain;
mod frame;
mod guard;
mod inspect;
mod join;
mod pin;
mod policy;
mod property;
mod reader;
mod redact;
mod safety;
mod scan;
mod session;
mod tools;
mod undo;
