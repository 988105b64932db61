//! Replies that the endpoint writes itself, and the queue of lines to send.

use hardline_wire::encode::{ReplyTo, code, error, push_id, refusal};
use hardline_wire::id::Id;
use hardline_wire::version::Version;

/// One line, with its newline.
#[derive(Debug)]
pub(crate) struct OwnReply(String);

impl OwnReply {
    /// Creates an error for the request with this id.
    pub(crate) fn new(id: &Id<'_>, code: i64, message: &str) -> Self {
        Self(error(ReplyTo::Id(id), code, message, None))
    }

    /// Creates an error for a line without an id.
    pub(crate) fn without_id(version: Option<Version>, code: i64, message: &str) -> Self {
        Self(error(ReplyTo::unknown(version), code, message, None))
    }

    /// Creates the result that ends a subscription at the end of the session, as 2026-07-28
    /// requires.
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

/// Creates an error for a failure that neither the peer nor the service caused.
pub(crate) fn internal_error(id: &Id<'_>, rule: &str, reason: &str) -> OwnReply {
    OwnReply(refusal(id, code::INTERNAL_ERROR, rule, reason))
}

/// Lines to send. The connection takes them after each incoming line, so there are few.
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
