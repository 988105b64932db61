//! The wall clock, for expiry times and signatures.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the seconds since 1970.
#[expect(clippy::disallowed_methods, reason = "tokens expire by the time of day")]
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
