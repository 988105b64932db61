//! Connections against scripted servers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may")]
#![expect(clippy::indexing_slicing, reason = "of JSON, which gives null")]
#![expect(
    deprecated,
    reason = "rmcp deprecates what 2026-07-28 removed; older versions still need it"
)]

mod config;
mod deadline;
mod guard;
mod hostile;
mod http;
mod lenient;
mod manager;
mod opening;
mod peer;
#[cfg(target_os = "linux")]
mod process;
mod renewal;
mod request;
mod serving;
mod stateless;
