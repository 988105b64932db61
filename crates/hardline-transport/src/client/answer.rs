//! An answer, stored as the received text.

use std::ops::Range;

use hardline_wire::frame::{Decoder, Frame, Refusal};
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::Message;

/// Answer to a request: one strict JSON message, a response or an error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Kind {
    /// Range of the result in the text.
    Result(Range<usize>),
    Error {
        code: i64,
        message: Box<str>,
        /// Range of the error data in the text.
        data: Option<Range<usize>>,
    },
}

impl Kind {
    /// Reads the kind of a message. `start` is the offset of the stored text in the checked text.
    fn read(message: &Message<'_>, start: usize) -> Option<Self> {
        let place = |value: Value<'_>| {
            let at = value.offset() - start;
            at..at + value.text().len()
        };
        match message {
            Message::Response(response) => Some(Self::Result(place(response.result))),
            Message::Error(error) => Some(Self::Error {
                code: error.code,
                message: error.message.as_ref().into(),
                data: error.data.map(place),
            }),
            Message::Request(_) | Message::Notification(_) => None,
        }
    }
}

/// Content of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC has these two")]
pub enum AnswerOutcome<'a> {
    /// The result, as JSON.
    Result(&'a str),
    /// An error.
    Error {
        /// Error code.
        code: i64,
        /// Error message from the server, unescaped: not safe for a terminal.
        message: &'a str,
        /// Error data from the server, as JSON.
        data: Option<&'a str>,
    },
}

impl Answer {
    /// Copies an answer. `whole` is the value that `message` was read from. Returns `None` if the
    /// message is not an answer.
    pub fn copy(message: &Message<'_>, whole: Value<'_>) -> Option<Self> {
        let kind = Kind::read(message, whole.offset())?;
        Some(Self { text: whole.text().to_owned(), kind })
    }

    /// Checks a text that should be one message, and stores it. Returns `None` if it is not an
    /// answer to the request with this id.
    ///
    /// # Errors
    ///
    /// [`Refusal`], if it is not a message.
    pub fn read(text: Vec<u8>, id: i64, decoder: &mut Decoder) -> Result<Option<Self>, Refusal> {
        let Frame::Message(message, _) = decoder.decode(&text)? else { return Ok(None) };
        // An answer with a guessed or mistyped id must not be accepted.
        if message.id().and_then(Id::as_i64) != Some(id) {
            return Ok(None);
        }
        let Some(kind) = Kind::read(&message, 0) else { return Ok(None) };
        drop(message);
        // Checked text is always UTF-8.
        Ok(String::from_utf8(text).ok().map(|text| Self { text, kind }))
    }

    /// Returns the whole message.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the result or the error.
    pub fn outcome(&self) -> AnswerOutcome<'_> {
        match &self.kind {
            Kind::Result(range) => AnswerOutcome::Result(self.part(range)),
            Kind::Error { code, message, data } => {
                let data = data.as_ref().map(|range| self.part(range));
                AnswerOutcome::Error { code: *code, message, data }
            }
        }
    }

    fn part(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}
