//! The bodies of the fuzz targets, beside the generators they share with the tests.
//!
//! Each takes any bytes and panics if a promise is broken. `fuzz/` calls them under libFuzzer, and
//! a plain test calls them on the checked-in corpus.

mod batch;
mod header;
mod json;
mod line;
mod recover;
mod sse;

pub use batch::batch;
pub use header::header;
pub use json::{json, json_differs};
pub use line::{line, line_in_chunks};
pub use recover::{recover, recover_in_chunks};
pub use sse::{sse, sse_in_chunks};

use crate::generate::Rng;

/// A fuzz target: its name and its body.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("line", line),
    ("json", json),
    ("recover", recover),
    ("batch", batch),
    ("sse", sse),
    ("header", header),
];

/// Takes what decides about chunks and limits off the front of `data`.
fn split_seed(data: &[u8]) -> (Rng, &[u8]) {
    match data.split_first_chunk::<2>() {
        Some((seed, rest)) => (Rng::new(u16::from_le_bytes(*seed).into()), rest),
        None => (Rng::new(0), data),
    }
}
