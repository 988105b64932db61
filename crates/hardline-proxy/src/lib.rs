//! A guarded relay in front of an MCP server.
//!
//! [`relay`] decides, line by line, what goes to whom, and what is done when the server ends; it has
//! no I/O in it. [`wrap`] drives it between standard input and output and a child process.

pub mod audit;
pub mod launch;
pub mod note;
pub mod pins;
pub mod record;
pub mod redact;
pub mod relay;
pub mod state;
#[cfg(unix)]
pub mod wrap;

pub use note::{Note, Seen};
