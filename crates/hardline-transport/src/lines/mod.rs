//! Line-based input and output for proxies between two peers.
//!
//! Each read takes at most one chunk, and only lines passed to an outlet are written. Memory is not
//! bounded here: the caller must stop reading while too many bytes wait to be written.

mod outlet;
mod source;

pub use outlet::Outlet;
pub use source::Source;
