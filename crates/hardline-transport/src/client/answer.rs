//! An answer, kept as the text that it came as.

use std::ops::Range;

use hardline_wire::frame::{Decoder, Frame, Refusal};
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::Message;

/// The answer to a request: one strict JSON message, a response or an error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Answer {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Kind {
    /// Where in the text the result is.
    Result(Range<usize>),
    Error {
        code: i64,
        message: Box<str>,
        /// Where in the text the data is.
        data: Option<Range<usize>>,
    },
}

impl Kind {
    /// `start` is where the text that is kept starts in the one that was checked.
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

/// What an answer says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC has these two")]
pub enum Outcome<'a> {
    /// The result, as JSON.
    Result(&'a str),
    /// An error.
    Error {
        /// Its code.
        code: i64,
        /// What the server says, unescaped: not fit for a terminal.
        message: &'a str,
        /// What else the server says, as JSON.
        data: Option<&'a str>,
    },
}

impl Answer {
    /// Copies an answer: `whole` is the value that `message` was read from. Returns `None` if the
    /// message is no answer.
    pub fn copy(message: &Message<'_>, whole: Value<'_>) -> Option<Self> {
        let kind = Kind::read(message, whole.offset())?;
        Some(Self { text: whole.text().to_owned(), kind })
    }

    /// Checks a text that is one message, and keeps it. Returns `None` if it is no answer, or not to
    /// the request with this id.
    ///
    /// # Errors
    ///
    /// [`Refusal`], if it is no message.
    pub fn read(text: Vec<u8>, id: i64, decoder: &mut Decoder) -> Result<Option<Self>, Refusal> {
        let Frame::Message(message, _) = decoder.decode(&text)? else { return Ok(None) };
        if message.id().and_then(Id::as_i64) != Some(id) {
            return Ok(None);
        }
        let Some(kind) = Kind::read(&message, 0) else { return Ok(None) };
        drop(message);
        // A text that was checked is UTF-8.
        Ok(String::from_utf8(text).ok().map(|text| Self { text, kind }))
    }

    /// The whole message.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says.
    pub fn outcome(&self) -> Outcome<'_> {
        match &self.kind {
            Kind::Result(range) => Outcome::Result(self.part(range)),
            Kind::Error { code, message, data } => {
                let data = data.as_ref().map(|range| self.part(range));
                Outcome::Error { code: *code, message, data }
            }
        }
    }

    fn part(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}
