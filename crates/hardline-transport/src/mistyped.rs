//! Answers whose id looks like the id of a request but has another JSON type: `"7"` or `7.0` for
//! `7`.
//!
//! Such an answer is never delivered: a sender that guesses a number must not be able to answer for
//! another party. But a server that sent one will rarely send another answer, so the request fails
//! after a short wait. A progress notification shows that the server still works on the request and
//! ends that wait.

use std::time::Duration;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Kind};
use hardline_wire::limits::Limits;
use tokio::time::Instant;

use crate::event::show;

/// Time for the proper answer to arrive after an answer with a mistyped id.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(2);
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

/// Returns the id with the same text and the other type: `7` for `"7"`.
pub(crate) fn retyped(id: &Id<'_>) -> Option<Id<'static>> {
    if let Some(number) = id.as_i64() {
        return Some(Id::from_string(&number.to_string()));
    }
    let text = id.as_str()?;
    let number: i64 = text.parse().ok()?;
    // Leading zeros or a plus sign: a different text, so a different id.
    (number.to_string() == *text).then(|| Id::from_integer(number))
}

/// Returns the id that an answer is probably meant for, with the id as written. Its id must be a
/// number that JSON-RPC does not allow as an id but that has an integer value: with a zero fraction
/// or an exponent, as servers write it that keep every number as a double.
pub(crate) fn unwritten<'a>(frame: &'a [u8], limits: &Limits) -> Option<(Id<'static>, &'a str)> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let checked = Checker::new(limits).check(frame).ok()?;
    let has = |key| checked.value.get(key).is_some();
    // Only an answer can be mistyped; a request with such an id is refused.
    if has("method") || !has("result") && !has("error") {
        return None;
    }
    let written = checked.value.get("id").filter(|id| id.kind() == Kind::Number)?.text();
    let value: f64 = written.parse().ok()?;
    // From 2^53 on, a double no longer identifies one integer.
    if value.fract() != 0.0 || value.abs() >= EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer of 53 bits")]
    let id = Id::from_integer(value as i64);
    Some((id, written))
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
