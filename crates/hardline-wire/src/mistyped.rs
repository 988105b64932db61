//! Ids of answers that have the right value and another JSON type: `"7"` or `7.0` for `7`.
//!
//! Such an answer must not be delivered: a sender that guesses a number must not be able to answer
//! for another party. But a server that sent one will rarely send another answer, so transports and
//! guards fail the probable request after a short wait.

use std::time::Duration;

use crate::id::Id;
use crate::json::{Checker, Kind};
use crate::limits::Limits;

/// Time for the proper answer to arrive after an answer with a mistyped id.
pub const MAX_MISTYPED_WAIT: Duration = Duration::from_secs(2);

/// Absolute value from which a double no longer identifies one integer.
const EXACT: f64 = (1_u64 << 53) as f64;

/// Returns the id with the same text and the other type: `7` for `"7"`, and `"7"` for `7`.
pub fn retyped(id: &Id<'_>) -> Option<Id<'static>> {
    if let Some(number) = id.as_i64() {
        return Some(Id::from_string(&number.to_string()));
    }
    let text = id.as_str()?;
    let number: i64 = text.parse().ok()?;
    // Leading zeros or a plus sign: a different text, so a different id.
    (number.to_string() == *text).then(|| Id::from_integer(number))
}

/// Returns the id that an answer is probably meant for, with the id as written. The written id must
/// be a number that JSON-RPC does not allow as an id but that has an integer value: with a zero
/// fraction or an exponent, as servers write it that keep every number as a double.
pub fn integer_meant<'a>(frame: &'a [u8], limits: &Limits) -> Option<(Id<'static>, &'a str)> {
    let checked = Checker::new(limits).check(frame).ok()?;
    let has = |key| checked.value.get(key).is_some();
    // Only an answer can be mistyped; a request with such an id is refused.
    if has("method") || !has("result") && !has("error") {
        return None;
    }
    let written = checked.value.get("id").filter(|id| id.kind() == Kind::Number)?.text();
    let value: f64 = written.parse().ok()?;
    if value.fract() != 0.0 || value.abs() >= EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer of 53 bits")]
    let id = Id::from_integer(value as i64);
    Some((id, written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_that_reads_the_same_is_retyped() {
        let number = Id::from_integer;
        assert_eq!(retyped(&number(7)), Some(Id::from_string("7")));
        assert_eq!(retyped(&Id::from_string("-7")), Some(number(-7)));
        for text in ["07", "+7", "7.0", " 7", "", "seven", "9223372036854775808"] {
            assert_eq!(retyped(&Id::from_string(text)), None, "{text}");
        }
    }

    #[test]
    fn an_answer_means_the_integer_that_its_number_equals() {
        #[track_caller]
        fn check(frame: &str, expected: Option<(i64, &str)>) {
            let limits = Limits::default();
            let meant = integer_meant(frame.as_bytes(), &limits);
            let meant = meant.map(|(id, written)| (id.as_i64().unwrap(), written));
            assert_eq!(meant, expected, "{frame}");
        }
        check(r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#, Some((7, "7.0")));
        check(r#"{"jsonrpc":"2.0","id":-1e3,"error":{}}"#, Some((-1000, "-1e3")));
        check(r#"{"id":7.5,"result":{}}"#, None);
        check(
            r#"{"id":9007199254740991.0,"result":{}}"#,
            Some(((1 << 53) - 1, "9007199254740991.0")),
        );
        check(r#"{"id":9007199254740992.0,"result":{}}"#, None);
        check(r#"{"id":"7.0","result":{}}"#, None);
        check(r#"{"id":7.0,"method":"ping","result":{}}"#, None);
        check(r#"{"id":7.0}"#, None);
        check(r#"{"id":7.0,"result":{}"#, None);
    }
}
