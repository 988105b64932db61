//! Lines in and out of streams, for whoever stands between two peers.
//!
//! No more than one chunk is read at once, and nothing is written that was not handed over; how much may
//! wait is up to whoever reads no further while too much does.

mod outlet;
mod source;

pub use outlet::Outlet;
pub use source::Source;
