//! Tests of the wire as its users see it.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may panic, print, start processes and ask the time"
)]

mod allocation;
mod chunking;
mod corpus;
mod differential;
mod json;
mod linear;
mod message;
mod recovery;
