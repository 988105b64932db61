//! Table `messages`: one row per message, unless a flood makes the writer count messages instead.

use std::time::Duration;

use hardline_guard::Direction;
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use rusqlite::Result;

use super::{MAX_NAME_BYTES, Repeated, cut, insert, placeholder, row, signed};
use crate::audit::body;
use crate::audit::time::Time;
use crate::verdict::Verdict;

/// A message for the log. It borrows everything, so a message that is only counted is never copied.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the relay fills in every field")]
pub struct LoggedMessage<'a> {
    /// Direction of the message.
    pub direction: Direction,
    /// Method of the message; for an answer, the method of its request, if known.
    pub method: Option<&'a str>,
    /// For an answer, the name of the tool that answers.
    pub tool: Option<&'a str>,
    /// For a call of a tool, its parameters. The name in them is read only if the message gets a row of
    /// its own.
    pub call: Option<Value<'a>>,
    /// Id of the message.
    pub id: Option<&'a Id<'a>>,
    /// Length of the message in bytes.
    pub bytes: usize,
    /// For an answer, the time since its request.
    pub latency: Option<Duration>,
    /// Verdict on the message.
    pub verdict: Verdict,
    /// The line as received. Used only if message texts are stored.
    pub body: &'a [u8],
}

/// A message with a row of its own.
#[derive(Debug)]
pub(in crate::audit) struct MessageRecord {
    pub(in crate::audit) at: i64,
    pub(in crate::audit) direction: Direction,
    pub(in crate::audit) method: Option<Box<str>>,
    pub(in crate::audit) tool: Option<Box<str>>,
    pub(in crate::audit) id: Option<Box<str>>,
    pub(in crate::audit) bytes: u64,
    pub(in crate::audit) latency: Option<i64>,
    pub(in crate::audit) verdict: Verdict,
    pub(in crate::audit) body: Option<Vec<u8>>,
}

impl MessageRecord {
    pub(in crate::audit) fn new(
        at: i64,
        message: &LoggedMessage<'_>,
        body: Option<Vec<u8>>,
    ) -> Self {
        // Peers choose these names, so their length must be bounded.
        let name = |text: &str| Box::from(cut(text, MAX_NAME_BYTES));
        let called = message.call.and_then(|params| params.get("name")?.as_str());
        let latency = message.latency.map(|it| i64::try_from(it.as_micros()).unwrap_or(i64::MAX));
        Self {
            at,
            direction: message.direction,
            method: message.method.map(name),
            tool: called.as_deref().or(message.tool).map(name),
            // As JSON, so that `7` and `"7"` stay different.
            id: message.id.map(|id| name(&id.to_string())),
            bytes: message.bytes as u64,
            latency,
            verdict: message.verdict,
            body,
        }
    }

    pub(in crate::audit) fn insert(&self, to: &mut Repeated<'_>, session: i64) -> Result<()> {
        insert!(to, "INSERT INTO messages", {
            session: session,
            at: self.at,
            direction: self.direction.name(),
            method: self.method.as_deref(),
            tool: self.tool.as_deref(),
            request: self.id.as_deref(),
            bytes: signed(self.bytes),
            latency: self.latency,
            verdict: self.verdict.name(),
            body: self.body.as_ref().map(|text| body::stored_text(text, self.bytes)),
        })?;
        Ok(())
    }
}

row! {
    /// A message that has a row of its own.
    pub struct MessageRow {
        /// Time at which the message was read.
        pub at: Time = "at",
        /// Key of the session.
        pub session: String = "key",
        /// Name of the server.
        pub server: String = "server",
        /// Direction of the message.
        pub direction: String = "direction",
        /// Method of the message; for an answer, the method of its request.
        pub method: Option<String> = "method",
        /// Name of the called tool.
        pub tool: Option<String> = "tool",
        /// Id of the message, as JSON.
        pub id: Option<String> = "request",
        /// Length of the message in bytes.
        pub bytes: u64 = "bytes",
        /// For an answer, the microseconds since its request.
        pub latency: Option<u64> = "latency",
        /// Outcome of the message: the name of a [`Verdict`](crate::Verdict).
        pub verdict: String = "verdict",
        /// Text of the message, redacted and shortened, if texts were stored.
        pub body: Option<String> = "body",
    }
}
