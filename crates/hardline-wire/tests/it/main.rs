//! Tests of the wire as its users see it.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, start processes and ask the time"
)]

mod allocation;
mod chunking;
mod corpus;
mod differential;
mod json;
mod linear;
mod message;
