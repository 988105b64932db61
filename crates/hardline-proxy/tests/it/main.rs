//! Tests of the relay as whoever drives it sees it.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

mod relay;
mod restart;
