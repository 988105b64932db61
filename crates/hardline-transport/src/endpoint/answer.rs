//! Answers of our own making, and the line-up of those that are to leave.

use hardline_wire::encode::{ReplyTo, code, error, push_id, refusal};
use hardline_wire::id::Id;
use hardline_wire::version::Version;

/// One line, with its end.
#[derive(Debug)]
pub(crate) struct Answer(String);

impl Answer {
    /// An error for the request with this id.
    pub(crate) fn new(id: &Id<'_>, code: i64, message: &str) -> Self {
        Self(error(ReplyTo::Id(id), code, message, None))
    }

    /// An error for whoever wrote a line without an id.
    pub(crate) fn to_nobody(version: Option<Version>, code: i64, message: &str) -> Self {
        Self(error(ReplyTo::unknown(version), code, message, None))
    }

    /// What ends a subscription that the session's end takes along: a result, as 2026-07-28 says.
    pub(crate) fn end_of_subscription(id: &Id<'_>) -> Self {
        let mut line = String::from(r#"{"jsonrpc":"2.0","id":"#);
        push_id(&mut line, id);
        line.push_str(r#","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"#);
        push_id(&mut line, id);
        line.push_str("}}}\n");
        Self(line)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// An error that is neither the caller's nor the service's doing.
pub(crate) fn internal_error(id: &Id<'_>, rule: &str, reason: &str) -> Answer {
    Answer(refusal(id, code::INTERNAL_ERROR, rule, reason))
}

/// Lines that are to leave. They are fetched after each line that arrived, so they are few.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    bytes: Vec<u8>,
    count: usize,
}

impl Replies {
    pub(crate) fn push(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.count += 1;
    }

    pub(crate) fn extend(&mut self, line: Option<&[u8]>) {
        if let Some(line) = line {
            self.push(line);
        }
    }

    pub(crate) fn take(&mut self) -> Option<(Vec<u8>, usize)> {
        if self.count == 0 {
            return None;
        }
        Some((std::mem::take(&mut self.bytes), std::mem::take(&mut self.count)))
    }
}
