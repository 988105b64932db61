//! Errors of the strict JSON check.

use thiserror::Error;

/// A refused text, with the position of the fault. The sender is always the cause.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("{reason} at byte {offset}")]
#[non_exhaustive]
pub struct JsonError {
    /// The reason.
    pub reason: Reason,
    /// Position of the fault, in bytes from the start of the text.
    pub offset: usize,
}

impl JsonError {
    pub(crate) fn new(reason: Reason, offset: usize) -> Self {
        Self { reason, offset }
    }

    /// Returns true if the text ended inside a string: the sign of a line that a raw newline tore
    /// in two.
    ///
    /// [`ends_in_string`](super::ends_in_string) also works for a text with other faults.
    pub fn ended_in_string(&self) -> bool {
        self.reason == Reason::EndedInString
    }

    /// Returns true if a later layer may repair the text and check it again.
    ///
    /// This is so for unpaired surrogates in string values if nothing else is wrong:
    /// [`lone_surrogates`](super::lone_surrogates) finds all of them.
    pub fn is_mendable(&self) -> bool {
        self.reason.is_mendable()
    }
}

impl Reason {
    /// Returns true if a later layer may repair the text and check it again.
    pub fn is_mendable(self) -> bool {
        self == Self::LoneSurrogate
    }

    /// Returns true if the fault is certain only at the end of the text.
    pub(super) fn needs_the_end(self) -> bool {
        // A surrogate is reported only if the rest of the text is valid.
        let lone = [Self::LoneSurrogate, Self::LoneSurrogateInKey];
        [Self::Ended, Self::EndedInString].contains(&self) || lone.contains(&self)
    }
}

/// Reason for refusing a text.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The text is longer than [`max_frame_bytes`](crate::limits::Limits::max_frame_bytes).
    #[error("text longer than {limit} bytes")]
    TooLong {
        /// The limit in force.
        limit: usize,
    },
    /// The text ended between tokens, or inside a number or a literal.
    #[error("unexpected end of the text")]
    Ended,
    /// The text ended inside a string.
    #[error("text ended inside a string")]
    EndedInString,
    /// No value starts with this byte.
    #[error("expected a value")]
    ExpectedValue,
    /// An object's member must start with a string.
    #[error("expected a key in double quotes")]
    ExpectedKey,
    /// A key must be followed by a colon.
    #[error("expected ':' after a key")]
    ExpectedColon,
    /// An object's member must be followed by a comma or the object's end.
    #[error("expected ',' or '}}'")]
    ExpectedCommaOrBrace,
    /// An array's element must be followed by a comma or the array's end.
    #[error("expected ',' or ']'")]
    ExpectedCommaOrBracket,
    /// A number breaks JSON's grammar: a leading zero, a missing digit.
    #[error("invalid number")]
    InvalidNumber,
    /// A number has more digits than [`MAX_NUMBER_BYTES`](super::MAX_NUMBER_BYTES).
    #[error("a number with too many digits: some readers refuse the message")]
    LongNumber,
    /// A word other than `true`, `false` and `null`.
    #[error("invalid literal")]
    InvalidLiteral,
    /// A backslash is not followed by a valid escape.
    #[error("invalid escape in a string")]
    InvalidEscape,
    /// A byte below 0x20 is not escaped in a string.
    #[error("control character in a string")]
    ControlCharacter,
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// A surrogate escape in a string value has no partner; nothing else is wrong.
    #[error("unpaired surrogate in a string")]
    LoneSurrogate,
    /// A surrogate escape in a key has no partner. Keys are never repaired.
    #[error("unpaired surrogate in a key")]
    LoneSurrogateInKey,
    /// An object has one key twice, even if it is escaped differently.
    #[error("duplicate key")]
    DuplicateKey,
    /// Arrays and objects nest deeper than [`max_depth`](crate::limits::Limits::max_depth).
    #[error("nested deeper than {limit}")]
    TooDeep {
        /// The limit in force.
        limit: usize,
    },
    /// Something other than whitespace follows the value.
    #[error("trailing data after the value")]
    TrailingData,
}
