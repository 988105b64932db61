//! Connections with scripted peers, in memory and with a clock that tests control.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod client;
mod end;
mod http;
mod mistyped;
mod peer;
mod pressure;
mod promise;
mod rules;
mod serve;
mod traps;
mod typed;
