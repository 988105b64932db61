//! Answers whose id reads like a request's and is of another JSON type: `"7"` or `7.0` for `7`.
//!
//! Such an answer is nobody's: whoever guesses a number must not be able to answer for somebody else. But
//! its sender has said all that it will say, as a rule, so its request is not left waiting for long either.
//! Whoever reports progress on a request has not answered it yet, whatever came before.

use std::time::Duration;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Kind};
use hardline_wire::limits::Limits;
use tokio::time::Instant;

use crate::event::show;

/// How long a request waits for its proper answer after one with a mistyped id has come.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(2);
/// How long it is looked, after a deadline, for what has arrived before it.
const LOOK_TIME: Duration = Duration::from_millis(100);
/// How often something may be found then, so that whoever goes on talking puts the end off for no longer.
const MAX_LOOKS: u32 = 16;

/// The time after a deadline in which it is looked for what has arrived: whoever had other things to do
/// until then cannot tell that nothing has.
#[derive(Debug, Default)]
pub(crate) struct Overtime {
    /// When the look that has begun ends.
    until: Option<Instant>,
    looks: u32,
}

impl Overtime {
    /// When a wait ends that has this deadline; `None` if it is over.
    pub(crate) fn end(&mut self, deadline: Instant) -> Option<Instant> {
        let now = Instant::now();
        if now < deadline {
            *self = Self::default();
            return Some(deadline);
        }
        let is_over = MAX_LOOKS <= self.looks;
        (!is_over).then(|| *self.until.get_or_insert(now + LOOK_TIME))
    }

    /// Something was found.
    pub(crate) fn found(&mut self) {
        self.looks += u32::from(self.until.take().is_some());
    }
}

/// The id that reads the same and has the other type: `7` for `"7"`.
pub(crate) fn retyped(id: &Id<'_>) -> Option<Id<'static>> {
    if let Some(number) = id.as_i64() {
        return Some(Id::from_string(&number.to_string()));
    }
    let text = id.as_str()?;
    let number: i64 = text.parse().ok()?;
    (number.to_string() == *text).then(|| Id::from_integer(number))
}

/// The id that a frame is meant for, if it is an answer whose id is a number that no id may be, but has an
/// integer's value: with a fraction of zero or an exponent, as by a server that holds all numbers as
/// doubles. With the id as it is written.
pub(crate) fn unwritten<'a>(frame: &'a [u8], limits: &Limits) -> Option<(Id<'static>, &'a str)> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let checked = Checker::new(limits).check(frame).ok()?;
    let has = |key| checked.value.get(key).is_some();
    if has("method") || !has("result") && !has("error") {
        return None;
    }
    let written = checked.value.get("id").filter(|id| id.kind() == Kind::Number)?.text();
    let value: f64 = written.parse().ok()?;
    if value.fract() != 0.0 || EXACT <= value.abs() {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer of 53 bits")]
    let id = Id::from_integer(value as i64);
    Some((id, written))
}

/// The token of a notification of progress: the id of its request, for those who give out such tokens.
#[cfg(feature = "http")]
pub(crate) fn progress_token(text: &str, limits: &Limits) -> Option<i64> {
    let checked = Checker::new(limits).check(text.as_bytes()).ok()?;
    let token = checked.value.get("params")?.get("progressToken")?;
    token.text().parse().ok()
}

/// What to say of a request that got no other answer.
pub(crate) fn reason(id: &Id<'_>, written: &str) -> String {
    let written = Excerpt::of_json(written, 64);
    format!("it has the id {written} in place of {}, and no proper one followed", show(id))
}
