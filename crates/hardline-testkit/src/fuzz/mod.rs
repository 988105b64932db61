//! Bodies of the fuzz targets, beside the generators that they share with the tests.
//!
//! Each takes any bytes and panics if a promise is broken. `fuzz/` calls them under libFuzzer, and
//! a plain test calls them on the checked-in corpus.

mod batch;
mod guard;
mod header;
mod joiner;
mod json;
mod line;
mod lock;
mod policy;
mod recover;
mod session;
mod sse;
mod text;

pub use batch::batch;
pub use guard::guard;
pub use header::header;
pub use joiner::joiner;
pub use json::{json, json_differs};
pub use line::{line, line_in_chunks};
pub use lock::lock;
pub use policy::policy;
pub use recover::{recover, recover_in_chunks};
pub use session::session;
pub use sse::{sse, sse_in_chunks};
pub use text::text;

use crate::generate::Rng;

/// A fuzz target: its name and its body.
pub type Target = (&'static str, fn(&[u8]));

/// All fuzz targets.
pub const TARGETS: &[Target] = &[
    ("line", line),
    ("json", json),
    ("recover", recover),
    ("batch", batch),
    ("sse", sse),
    ("header", header),
    ("guard", guard),
    ("joiner", joiner),
    ("policy", policy),
    ("lock", lock),
    ("text", text),
    ("session", session),
];

/// Splits off the first bytes of `data`, which decide about chunks and limits.
fn split_seed(data: &[u8]) -> (Rng, &[u8]) {
    match data.split_first_chunk::<2>() {
        // The seed is at the front, so that a fuzzer can extend the data without changing it.
        Some((seed, rest)) => (Rng::new(u16::from_le_bytes(*seed).into()), rest),
        None => (Rng::new(0), data),
    }
}
