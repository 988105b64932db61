//! Integration tests of the relay through its public API.
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, read the clock and start processes"
)]

mod audit;
mod linear;
mod pins;
mod relay;
mod restart;
