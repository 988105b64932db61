//! Tests of the relay as whoever drives it sees it.
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic, ask the time and start processes"
)]

mod audit;
mod pins;
mod redact;
mod relay;
mod restart;
