//! The wait for a proper answer after one with a mistyped id: `"7"` or `7.0` for `7`.
//!
//! [`hardline_wire::mistyped`] finds the request that such an answer was probably meant for. It
//! fails after [`MAX_WAIT`]. A progress notification shows that the server still works on the
//! request and ends that wait.

use std::time::Duration;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;
#[cfg(feature = "http")]
use hardline_wire::json::Checker;
#[cfg(feature = "http")]
use hardline_wire::limits::Limits;
use tokio::time::Instant;

use crate::event::show;

pub(crate) use hardline_wire::mistyped::MAX_MISTYPED_WAIT as MAX_WAIT;

/// Extra time after a deadline in which input already in the receive buffer still counts.
const LOOK_TIME: Duration = Duration::from_millis(100);
/// Limit on reads in that extra time, so that a peer that keeps talking cannot delay the end
/// further.
const MAX_LOOKS: u32 = 16;

/// The extra time after a deadline. A task that was busy until the deadline may not have read input
/// that arrived before it.
#[derive(Debug, Default)]
pub(crate) struct Overtime {
    /// End of the extra time, once it has begun.
    until: Option<Instant>,
    looks: u32,
}

impl Overtime {
    /// Returns the end of a wait with this deadline, or `None` if the wait is over.
    pub(crate) fn end(&mut self, deadline: Instant) -> Option<Instant> {
        let now = Instant::now();
        if now < deadline {
            *self = Self::default();
            return Some(deadline);
        }
        let is_over = self.looks >= MAX_LOOKS;
        (!is_over).then(|| *self.until.get_or_insert(now + LOOK_TIME))
    }

    /// Records that input was read.
    pub(crate) fn found(&mut self) {
        self.looks += u32::from(self.until.take().is_some());
    }
}

/// Returns the token of a progress notification. It is the request id for clients that use ids as
/// tokens.
#[cfg(feature = "http")]
pub(crate) fn progress_token(text: &str, limits: &Limits) -> Option<i64> {
    let checked = Checker::new(limits).check(text.as_bytes()).ok()?;
    let token = checked.value.get("params")?.get("progressToken")?;
    token.text().parse().ok()
}

/// Returns the failure reason for a request that got no other answer.
pub(crate) fn reason(id: &Id<'_>, written: &str) -> String {
    let written = Excerpt::of_json(written, 64);
    format!("it has the id {written} in place of {}, and no proper one followed", show(id))
}
