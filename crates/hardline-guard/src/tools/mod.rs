//! Which tools of a server its client sees and may call.
//!
//! Two things decide: a [`ToolFilter`], set up by a person, and the pins, kept by a [`PinKeeper`]. What
//! a server lists is reviewed by a `Roster`: it pins what a server lists first, finds what changed
//! since, and remembers what is hidden, so that no client calls it. It does the same for the server's
//! instructions.
//!
//! Invariants:
//! - A tool that is hidden cannot be called.
//! - A tool with something planted in its definition is never pinned by itself.
//! - What cannot be pinned counts as new, in every list.
//! - What is hidden because of its pin can be called as soon as somebody approved it.

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

/// The rule that errors for calls of denied tools name. There is no finding of it.
pub const TOOL_DENIED: &str = "tool.denied";
