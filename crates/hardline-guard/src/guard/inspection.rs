//! The result of an inspection.

use std::borrow::Cow;

use hardline_wire::message::Message;

use super::Found;
use crate::finding::Direction;
use crate::inspected::Inspected;
use crate::rule::Rule;
use crate::session::{Asked, Reply};

/// Result of inspecting a line or of a timeout: the frames to send, and the findings.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Inspection<'a> {
    /// Frames to send, in this order: original, sanitized, joined or held-back lines, and replies to
    /// peers whose requests cannot be answered.
    pub deliveries: Vec<Delivery<'a>>,
    /// The findings with their actions, without those that the policy allows.
    pub found: Vec<Found>,
    /// Number of findings beyond the [`MAX_FOUND`] that are listed for one line.
    pub unlisted: usize,
    /// A line of the server that is no message. It is not sent, but a person should see it.
    pub noise: Option<&'a [u8]>,
    /// Rule because of which the policy ends the session.
    pub close: Option<Rule>,
    /// The request that the line answers.
    pub asked: Option<Asked>,
    /// Name of a hidden or denied tool whose call was refused, as the client wrote it.
    pub denied: Option<String>,
    /// A problem with the pins, described for people.
    pub trouble: Option<String>,
}

/// Limit on the listed findings of one line.
pub const MAX_FOUND: usize = 256;

/// A frame to send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Delivery<'a> {
    /// Direction of the frame.
    pub direction: Direction,
    /// The line, without its end.
    pub frame: Inspected<Cow<'a, [u8]>>,
    /// Content of the frame.
    pub carries: Carries<'a>,
}

/// Content of a frame to send.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a log of messages must know each kind")]
pub enum Carries<'a> {
    /// One message as it arrived. The frame may be a sanitized copy.
    Message(Message<'a>),
    /// A batch of messages as they arrived.
    Batch(Vec<Message<'a>>),
    /// A reply.
    Reply(Reply),
    /// A reply to a line without an id.
    Complaint,
    /// A message or a batch that was joined, mended or held back. Read it from the frame.
    Unread,
    /// A line that is no message, but that the policy lets pass.
    Unchecked,
}

impl Delivery<'_> {
    /// Returns true if the frame has the bytes of the line that arrived.
    pub fn is_unchanged(&self) -> bool {
        // The guard copies a frame only to edit, join or hold it back.
        matches!(self.frame.get(), Cow::Borrowed(_))
    }

    /// Returns true if the guard wrote the frame itself.
    pub fn is_reply(&self) -> bool {
        matches!(self.carries, Carries::Reply(_) | Carries::Complaint)
    }
}

impl Inspection<'_> {
    /// Returns true if there is nothing to do and nothing to report.
    pub fn is_empty(&self) -> bool {
        self.deliveries.is_empty()
            && self.found.is_empty()
            && self.unlisted == 0
            && self.noise.is_none()
            && self.close.is_none()
            && self.denied.is_none()
            && self.trouble.is_none()
    }
}
