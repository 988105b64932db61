//! Recognizes copies of answers: servers print what they send once more.
//!
//! A second answer to a request usually means that content wrote one of the two. A copy means nothing:
//! the client has it already.
//!
//! Invariants: no more than [`MAX_ANSWERS`] answers and [`MAX_TOTAL_BYTES`] are kept. Keeping one costs
//! a copy of its bytes; they are compared only if a second answer comes.

use std::collections::VecDeque;
use std::time::Duration;

use hardline_wire::id::Id;

/// Limit on the answers that are remembered. A copy follows its answer soon.
const MAX_ANSWERS: usize = 64;
/// Limit on the length of an answer whose copy is recognized, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// Limit on the bytes of all remembered answers. The oldest are forgotten first.
const MAX_TOTAL_BYTES: usize = 256 << 10;

/// An answer that was delivered.
#[derive(Debug)]
struct DeliveredAnswer {
    id: Id<'static>,
    text: Vec<u8>,
    at: Duration,
}

/// The answers that were delivered last.
#[derive(Debug, Default)]
pub(super) struct Answers {
    seen: VecDeque<DeliveredAnswer>,
    bytes: usize,
}

impl Answers {
    /// Records an answer that ended its request.
    pub(super) fn note(&mut self, id: &Id<'_>, text: &[u8], at: Duration) {
        if text.len() > MAX_BYTES {
            return;
        }
        self.bytes += text.len();
        let mut copy = Vec::new();
        while self.seen.len() >= MAX_ANSWERS || self.bytes > MAX_TOTAL_BYTES {
            let Some(oldest) = self.seen.pop_front() else { break };
            self.bytes -= oldest.text.len();
            copy = oldest.text;
        }
        // The memory of an answer that is forgotten serves again, unless it is much too large.
        copy.clear();
        copy.shrink_to(2 * text.len());
        copy.extend_from_slice(text);
        self.seen.push_back(DeliveredAnswer { id: id.clone().into_owned(), text: copy, at });
    }

    /// Returns the time of the last answer with this id, if a text is a copy of it. White space between
    /// the tokens does not count.
    pub(super) fn time_of_copied(&self, id: &Id<'_>, text: &[u8]) -> Option<Duration> {
        let last = self.seen.iter().rev().find(|it| it.id == *id)?;
        is_same_json(&last.text, text).then_some(last.at)
    }
}

/// Returns true if two JSON texts differ at most in the white space between their tokens.
pub(super) fn is_same_json(one: &[u8], other: &[u8]) -> bool {
    tokens(one).eq(tokens(other))
}

/// Returns the bytes of a JSON text without the white space between its tokens.
fn tokens(text: &[u8]) -> impl Iterator<Item = u8> {
    let (mut is_inside, mut is_escaped) = (false, false);
    text.iter().copied().filter(move |byte| {
        let was_inside = is_inside;
        if is_inside {
            is_inside = is_escaped || *byte != b'"';
            is_escaped = *byte == b'\\' && !is_escaped;
        } else {
            is_inside = *byte == b'"';
        }
        was_inside || !byte.is_ascii_whitespace()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_between_tokens_does_not_count() {
        let mut answers = Answers::default();
        let id = Id::from_integer(1);
        answers.note(&id, br#"{"id":1,"result":{"a":"b \" c"}}"#, Duration::ZERO);
        assert!(
            answers
                .time_of_copied(&id, b"{\n  \"id\": 1,\n  \"result\": {\"a\": \"b \\\" c\"} }")
                .is_some()
        );
        for other in [
            r#"{"id":1,"result":{"a":"b \"  c"}}"#,
            r#"{"id":1,"result":{"a":"b \" c"}}}"#,
            r#"{"id":1,"result":{"a":"b \" c"#,
        ] {
            assert!(answers.time_of_copied(&id, other.as_bytes()).is_none(), "{other}");
        }
        assert!(
            answers
                .time_of_copied(&Id::from_integer(2), br#"{"id":1,"result":{"a":"b \" c"}}"#)
                .is_none()
        );
    }

    #[test]
    fn remembers_the_last_answers() {
        let mut answers = Answers::default();
        for number in 0..=64 {
            answers.note(&Id::from_integer(number), b"{}", Duration::ZERO);
        }
        answers.note(&Id::from_integer(5), &[b' '; MAX_BYTES + 1], Duration::ZERO);
        assert_eq!((answers.seen.len(), answers.bytes), (MAX_ANSWERS, 2 * MAX_ANSWERS));
        assert!(answers.time_of_copied(&Id::from_integer(0), b"{}").is_none());
        assert!(answers.time_of_copied(&Id::from_integer(5), b"{}").is_some());
    }

    #[test]
    fn long_answers_take_the_place_of_others() {
        let mut answers = Answers::default();
        for number in 0..10 {
            answers.note(&Id::from_integer(number), &[b'1'; MAX_BYTES], Duration::ZERO);
        }
        assert_eq!((answers.seen.len(), answers.bytes), (4, MAX_TOTAL_BYTES));
    }
}
