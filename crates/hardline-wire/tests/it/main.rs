//! Tests of the public API of the wire.
#![expect(
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may panic and print"
)]

mod allocation;
mod chunking;
mod corpus;
mod differential;
mod json;
mod linear;
mod message;
mod recovery;
