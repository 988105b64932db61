//! Request ids: a string or an integer, never one for the other.
//!
//! An [`Id`] keeps the JSON type and the exact text, so that an answer repeats what the caller
//! wrote. Two ids are equal if they have the same type and value, even if a string is escaped
//! differently.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use thiserror::Error;

use crate::encode::push_json_string;
use crate::excerpt::Excerpt;
use crate::json::{self, Kind, Value};

/// Id of a request.
#[derive(Clone)]
pub struct Id<'a>(Repr<'a>);

#[derive(Clone)]
enum Repr<'a> {
    /// An integer within 64 bits. JSON has one way to write it, so the text is not kept.
    Integer(i64),
    /// A larger integer. Never part of an accepted message, but repeated in its refusal.
    Big(Cow<'a, str>),
    /// A valid JSON string with its quotes and escapes.
    String(Cow<'a, str>),
}

impl<'a> Id<'a> {
    /// Creates an integer id.
    pub fn from_integer(id: i64) -> Self {
        Self(Repr::Integer(id))
    }

    /// Creates a string id.
    pub fn from_string(id: &str) -> Self {
        let mut text = String::with_capacity(id.len() + 2);
        push_json_string(&mut text, id);
        Self(Repr::String(Cow::Owned(text)))
    }

    /// Reads the id of a message.
    ///
    /// # Errors
    ///
    /// [`IdError`] if it is neither a string nor an integer, is out of range, or is longer than
    /// `max_bytes`.
    pub fn read(value: Value<'a>, max_bytes: usize) -> Result<Self, IdError> {
        // Other kinds are reported as such at any length.
        if max_bytes < value.text().len() && matches!(value.kind(), Kind::String | Kind::Number) {
            return Err(IdError::TooLong { limit: max_bytes });
        }
        match value.kind() {
            Kind::String => Ok(Self(Repr::String(Cow::Borrowed(value.text())))),
            // Parsers write `1.0` and `1e3` back as other texts.
            Kind::Number if !is_integer(value.text()) => Err(IdError::NotInteger),
            Kind::Number => match value.as_i64() {
                Some(id) => Ok(Self(Repr::Integer(id))),
                None => Err(IdError::OutOfRange),
            },
            _ => Err(IdError::WrongType),
        }
    }

    /// Reads an id from a line that is not a message, for the error reply. `text` is a number or a
    /// string with its quotes.
    pub(crate) fn salvage(text: &[u8], max_bytes: usize) -> Option<Id<'static>> {
        let text = str::from_utf8(text).ok().filter(|text| text.len() <= max_bytes)?;
        if is_integer(text) {
            // The refusal of a message must repeat its id, even one that is out of range.
            let big = || Repr::Big(Cow::Owned(text.to_owned()));
            return Some(Id(text.parse().map_or_else(|_| big(), Repr::Integer)));
        }
        json::is_sound_string(text).then(|| Id(Repr::String(Cow::Owned(text.to_owned()))))
    }

    /// Returns the integer, if the id is one within 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Integer(id) => Some(id),
            _ => None,
        }
    }

    /// Returns the unescaped string, if the id is one.
    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        match &self.0 {
            Repr::String(text) => Some(json::string_content(text)),
            _ => None,
        }
    }

    /// Copies borrowed text; an integer id does not allocate.
    pub fn into_owned(self) -> Id<'static> {
        Id(match self.0 {
            Repr::Integer(id) => Repr::Integer(id),
            Repr::Big(text) => Repr::Big(Cow::Owned(text.into_owned())),
            Repr::String(text) => Repr::String(Cow::Owned(text.into_owned())),
        })
    }
}

/// Writes the id as JSON, exactly as it was read.
impl fmt::Display for Id<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Integer(id) => write!(formatter, "{id}"),
            Repr::Big(text) | Repr::String(text) => formatter.write_str(text),
        }
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A string id comes from the peer, so escape it.
        write!(formatter, "Id({})", Excerpt::of_json(&self.to_string(), 64))
    }
}

impl PartialEq for Id<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Integer(left), Repr::Integer(right)) => left == right,
            (Repr::Big(left), Repr::Big(right)) => left == right,
            (Repr::String(left), Repr::String(right)) => {
                // Unescaping is the slow path: nearly all equal ids have equal text.
                left == right || json::string_content(left) == json::string_content(right)
            }
            // Never one for the other: `7` is not `"7"`.
            _ => false,
        }
    }
}

impl Eq for Id<'_> {}

impl Hash for Id<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(&self.0).hash(state);
        match &self.0 {
            Repr::Integer(id) => id.hash(state),
            Repr::Big(text) => text.hash(state),
            // Equal ids must have equal hashes, even if they are escaped differently.
            Repr::String(text) => json::string_content(text).hash(state),
        }
    }
}

/// Error returned when a value is not an id. The sender is always the cause.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum IdError {
    /// The value is `null`, a boolean, an array or an object.
    #[error("id is neither a string nor an integer")]
    WrongType,
    /// The value is a number with a fraction or an exponent, or minus zero.
    #[error("id is a number but not a plain integer")]
    NotInteger,
    /// The value is an integer outside 64 bits, which most parsers cannot hold.
    #[error("id is an integer outside 64 bits")]
    OutOfRange,
    /// The value is longer than [`max_id_bytes`](crate::limits::Limits::max_id_bytes).
    #[error("id longer than {limit} bytes")]
    TooLong {
        /// The limit in force.
        limit: usize,
    },
}

/// Returns true if `text` is an integer as JSON writes it. `-0` is not one: some parsers return `0`
/// for it.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // Leading zeros are not JSON, and parsers disagree on `-0`.
    let canonical = match digits.as_bytes() {
        [b'0'] => text == "0",
        [first, ..] => *first != b'0',
        [] => false,
    };
    canonical && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;
    use crate::json::Checker;
    use crate::limits::Limits;

    fn read(text: &str) -> Result<Id<'_>, IdError> {
        let checked = Checker::new(&Limits::default()).check(text.as_bytes()).unwrap();
        Id::read(checked.value, 40)
    }

    #[test]
    fn keeps_type_and_text() {
        for text in [
            "0",
            "-1",
            "7",
            "9223372036854775807",
            "-9223372036854775808",
            r#""""#,
            r#""7""#,
            r#""\u0041\/""#,
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
            assert_eq!(Id::salvage(text.as_bytes(), 40).unwrap(), read(text).unwrap());
        }
        assert_eq!(read("7").unwrap().as_i64(), Some(7));
        assert_eq!(read(r#""7""#).unwrap().as_i64(), None);
        assert_eq!(read(r#""\u0037""#).unwrap().as_str().unwrap(), "7");
    }

    #[test]
    fn refuses_what_is_no_id() {
        for text in ["null", "true", "[]", "{}"] {
            assert_eq!(read(text), Err(IdError::WrongType), "{text}");
        }
        for text in ["1.5", "1.0", "1e3", "-0"] {
            assert_eq!(read(text), Err(IdError::NotInteger), "{text}");
            assert_eq!(Id::salvage(text.as_bytes(), 40), None, "{text}");
        }
        for text in ["9223372036854775808", "-9223372036854775809"] {
            assert_eq!(read(text), Err(IdError::OutOfRange));
            assert_eq!(Id::salvage(text.as_bytes(), 40).unwrap().to_string(), text);
        }
        let longest = format!("\"{}\"", "x".repeat(38));
        assert_eq!(read(&longest).unwrap().to_string(), longest);
        let long = format!("\"{}\"", "x".repeat(39));
        assert_eq!(read(&long), Err(IdError::TooLong { limit: 40 }));
        assert_eq!(Id::salvage(long.as_bytes(), 40), None);
    }

    #[test]
    fn salvages_nothing_that_is_not_sound() {
        for text in
            ["", "-", "01", "+1", "\"", "\"a", "a\"", r#""\ud800""#, r#""\x""#, "\"\u{1}\"", "nan"]
        {
            assert_eq!(Id::salvage(text.as_bytes(), 40), None, "{text}");
        }
        assert_eq!(Id::salvage(b"\"\xff\"", 40), None);
    }

    #[test]
    fn compares_by_type_and_value() {
        let hasher = RandomState::new();
        let same = |left: &str, right: &str| {
            let (left, right) = (read(left).unwrap(), read(right).unwrap());
            assert_eq!(left == right, hasher.hash_one(&left) == hasher.hash_one(&right));
            left == right
        };
        assert!(same("1", "1"));
        assert!(same(r#""a/b""#, r#""\u0061\/b""#));
        assert!(!same("1", r#""1""#));
        assert!(!same("1", "2"));
        assert!(!same(r#""a""#, r#""b""#));
        assert!(!same(r#""a""#, r#""\u0062""#));
        let big = |text: &str| Id::salvage(text.as_bytes(), 40).unwrap();
        assert_eq!(big("9223372036854775808"), big("9223372036854775808"));
        assert_ne!(big("9223372036854775808"), big("9223372036854775809"));
        assert_eq!(Id::from_string("a\"b"), read(r#""a\"b""#).unwrap());
        assert_eq!(Id::from_integer(5), read("5").unwrap());
    }
}
