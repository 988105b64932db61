//! What becomes of a line, in a session.

use std::borrow::Cow;

use hardline_wire::message::Message;

use super::Found;
use crate::finding::Direction;
use crate::inspected::Inspected;
use crate::rule::Rule;
use crate::session::{Asked, Reply};

/// What becomes of a line, or of the time: what goes on, and what was found.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Verdict<'a> {
    /// What is to be sent, in its order: lines as they came, sanitized, put together or kept back
    /// before, and errors to whoever waits for what does not go on.
    pub deliveries: Vec<Delivery<'a>>,
    /// What was found, and what is done about it. What the policy allows is left out.
    pub found: Vec<Found>,
    /// How many findings there were beyond those: one line has no more than [`MAX_FOUND`] listed.
    pub unlisted: usize,
    /// A line of the server that is no message: kept off the protocol, and worth showing to a person.
    pub noise: Option<&'a [u8]>,
    /// The policy wants the session to end, because of this rule.
    pub close: Option<Rule>,
    /// What was asked, if the line is the answer.
    pub answered: Option<Asked>,
    /// A call of a tool that is hidden or denied was refused: the tool's name, as the client wrote it.
    pub denied: Option<String>,
    /// Trouble with the pins, in words for a person.
    pub trouble: Option<String>,
}

/// Most findings of one line that are listed.
pub const MAX_FOUND: usize = 256;

/// Something to be sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Delivery<'a> {
    /// Which way it goes.
    pub direction: Direction,
    /// The line, without its end.
    pub frame: Inspected<Cow<'a, [u8]>>,
    /// What it carries.
    pub carries: Carries<'a>,
}

/// What a delivery carries.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "whoever keeps books on messages must know each")]
pub enum Carries<'a> {
    /// One message, as it came: the frame may be a sanitized one.
    Message(Message<'a>),
    /// Several, as they came.
    Batch(Vec<Message<'a>>),
    /// An error of ours.
    Reply(Reply),
    /// An error of ours for a line that has no id.
    Complaint,
    /// A message or a batch that was put together, mended or kept back: to be read from the frame.
    Unread,
    /// A line that is no message, which the policy lets pass.
    Unchecked,
}

impl Verdict<'_> {
    /// Whether there is nothing to be done.
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
