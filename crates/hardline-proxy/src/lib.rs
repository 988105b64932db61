//! A guarded relay in front of an MCP server.
//!
//! [`relay`] decides for each line which peer receives it, and handles the end of the server. It
//! has no I/O. [`wrap`] drives a relay between standard input and output and a child process.

pub mod audit;
pub mod launch;
pub mod notice;
pub mod pins;
pub mod record;
pub mod relay;
pub mod state;
mod verdict;
#[cfg(unix)]
pub mod wrap;

pub use notice::{CheckedLine, Notice};
pub use verdict::Verdict;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
