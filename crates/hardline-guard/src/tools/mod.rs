//! Decides which tools of a server its client sees and may call.
//!
//! Two parts decide: a [`ToolFilter`] that the user configures, and the pins that a [`PinKeeper`]
//! stores. A `Roster` reviews the tool lists of a server: it pins the first list, finds later
//! changes, and remembers hidden tools, so that no client can call them. It does the same for the
//! instructions of the server.
//!
//! Invariants:
//! - A hidden tool cannot be called.
//! - A tool with planted text in its definition is never pinned without an approval.
//! - A tool that cannot be pinned counts as new in every list.
//! - A tool that is hidden because of its pin can be called as soon as a person has approved it.

mod filter;
mod glob;
mod keeper;
mod opening;
mod review;
mod roster;
mod shadow;

pub use filter::ToolFilter;
pub use glob::Glob;
pub use keeper::{Page, PinKeeper, shell_word};
pub(crate) use review::Listed;
pub(crate) use roster::Roster;

/// Name of a server's instructions where a policy names a tool: `tool = "(instructions)"`.
pub const INSTRUCTIONS: &str = "(instructions)";

/// Rule name in the errors for calls of denied tools. It is not a [`Rule`](crate::Rule): there are
/// no findings of it.
pub const TOOL_DENIED: &str = "tool.denied";
