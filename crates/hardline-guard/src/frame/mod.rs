//! Judges the bytes of one line: decodes its message, or names the rule that refuses it and the
//! requests that wait for it.
//!
//! [`FrameJudge`] runs the strict decoder of the wire crate, and names the rule for each refusal. It
//! leaves actions, the state of the session and the content to others.
//!
//! A line of a server that cannot be meant as a message is [`Rule::FrameNoise`], with any other
//! fault that it has: servers print log lines, also JSON ones with duplicate keys and raw tabs. A
//! client has no reason to print anything, so its lines are never noise.
//!
//! ```
//! use hardline_guard::frame::{FrameJudge, FrameVerdict};
//! use hardline_guard::{Direction, Rule};
//! use hardline_wire::limits::Limits;
//! use hardline_wire::recover::Ending;
//!
//! let mut judge = FrameJudge::new(Direction::ServerToClient, &Limits::default());
//! let line = br#"{"jsonrpc":"2.0","id":7,"result":{"ok":true,"ok":false}}"#;
//! let judged = judge.judge_text(line, Ending::Whole);
//! assert_eq!(judged.findings[0].rule, Rule::FrameDuplicateKey);
//! let FrameVerdict::Refused(refused) = judged.verdict else { panic!() };
//! assert_eq!(refused.responses[0].as_i64(), Some(7));
//! ```
//!
//! Invariants:
//! - What passes is one message, or a batch whose elements are still to be judged one by one; every
//!   JSON reader finds the same envelope in it.
//! - A refused line has at least one finding of a rule other than [`Rule::FrameBom`].
//! - No id is named that the line does not carry without doubt; at most `max_in_flight` are.
//! - Cost is linear in the line.

mod balance;
mod header;
mod look;
mod mend;
mod prefix;
mod probable;
mod refuse;

use std::borrow::Cow;

use hardline_wire::batch::Element;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line};
use hardline_wire::message::Message;
use hardline_wire::recover::Ending;

use crate::finding::{Direction, Finding};
use crate::rule::Rule;

pub(crate) use balance::{brackets, first_end};
pub(crate) use look::is_plain_json;
pub(crate) use mend::mend;
pub(crate) use prefix::{Prefixed, cut_junk, cut_prefix, trim_colors};
pub(crate) use probable::{
    has_outcome, has_unnamed_answer, ids_of_part, is_bare_outcome, is_clear, is_half_of_answer,
    is_unnamed_answer, is_utf16, may_be_part, probable_ids, probable_ids_of_lines,
};
pub(crate) use refuse::finding_at;

/// Judges the lines of one direction, keeping its buffers between them.
#[derive(Debug)]
pub struct FrameJudge {
    direction: Direction,
    limits: Limits,
    decoder: Decoder,
    /// Checks texts that the decoder refused again.
    checker: Checker,
}

/// Result of judging a line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Judged<'a> {
    /// The findings, in the order of the line.
    pub findings: Vec<Finding>,
    /// The decision about the line.
    pub verdict: FrameVerdict<'a>,
}

/// Decision about a line.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a line is taken, refused or blank")]
pub enum FrameVerdict<'a> {
    /// The line is blank.
    Blank,
    /// A message or a batch.
    Frame(Frame<'a>),
    /// No valid message.
    Refused(Refused),
}

/// The facts about a refused line.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Refused {
    /// The rule that refuses it.
    pub rule: Rule,
    /// Code of the error for its sender or its receiver.
    pub code: i64,
    /// Text of that error. It contains no text of a peer.
    pub reason: Cow<'static, str>,
    /// Ids of requests on the line: their sender gets the error.
    pub requests: Vec<Id<'static>>,
    /// Ids of answers on the line: the requests with these ids get the error. An id that may be
    /// either is in both lists, and is a request only if no request waits for an answer with it.
    pub responses: Vec<Id<'static>>,
    /// Set if the sender should get an error without an id. The caller limits their rate.
    pub owes_anonymous: bool,
    /// The same line with each unpaired surrogate as `\uFFFD`, if that alone makes it a message and
    /// none was in the id or the method. It passes when it is judged again. Whether one was in an
    /// opaque value, which must not be edited, is left to who takes it. Where there is none, a line
    /// that should be sanitized can only be blocked.
    pub mended: Option<Vec<u8>>,
    /// Set if the line is a message that is incomplete, or has text behind it. Content with raw
    /// newlines may have broken it, and may continue on the next lines.
    pub is_torn: bool,
    /// Set if the line may be an answer although it names no id.
    pub may_answer: bool,
    /// Set if the line may have more answers than those that are named.
    pub has_more_answers: bool,
}

impl FrameJudge {
    /// Creates a judge for lines that go in `direction` and obey `limits`.
    pub fn new(direction: Direction, limits: &Limits) -> Self {
        Self {
            direction,
            limits: limits.clone(),
            decoder: Decoder::new(limits),
            checker: Checker::new(limits),
        }
    }

    /// Judges one line.
    pub fn judge<'a>(&mut self, line: &Line<'a>) -> Judged<'a> {
        let mut findings = Vec::new();
        if line.has_bom {
            findings.push(self.bom());
        }
        let verdict = match line.content {
            _ if line.is_blank() => FrameVerdict::Blank,
            Content::Whole(text) => self.judge_into(text, line.ending(), &mut findings),
            Content::Overlong(overlong) => {
                FrameVerdict::Refused(self.refuse_overlong(&overlong, &mut findings))
            }
        };
        Judged { findings, verdict }
    }

    /// Judges the content of a line that is in memory, without its end and byte order mark.
    pub fn judge_text<'a>(&mut self, text: &'a [u8], ending: Ending) -> Judged<'a> {
        let mut findings = Vec::new();
        let verdict = if text.trim_ascii().is_empty() {
            FrameVerdict::Blank
        } else {
            self.judge_into(text, ending, &mut findings)
        };
        Judged { findings, verdict }
    }

    /// Judges one element of a batch. Positions count from the start of the line; a mended element
    /// is that element alone.
    pub fn judge_element<'a>(&mut self, element: Element<'a>) -> Judged<'a> {
        let mut findings = Vec::new();
        let verdict = match self.decoder.decode_element(element) {
            Ok((message, value)) => FrameVerdict::Frame(Frame::Message(message, value)),
            Err(refusal) => {
                let refused =
                    self.refuse(element.text, refusal, Ending::Whole, true, &mut findings);
                FrameVerdict::Refused(refused)
            }
        };
        for finding in &mut findings {
            finding.offset += element.offset;
        }
        Judged { findings, verdict }
    }

    /// Returns the id of an element of a batch that is an answer.
    pub(crate) fn answered_id(&mut self, element: Element<'_>) -> Option<Id<'static>> {
        let (message, _) = self.decoder.decode_element(element).ok()?;
        let is_answer = matches!(message, Message::Response(_) | Message::Error(_));
        message.id().filter(|_| is_answer).map(|id| id.clone().into_owned())
    }

    /// Refuses a batch that the negotiated version does not have: each id in it is named.
    pub fn refuse_batch(&mut self, text: &[u8], ending: Ending) -> (Finding, Refused) {
        self.refuse_unexpected_batch(text, ending)
    }

    fn judge_into<'a>(
        &mut self,
        text: &'a [u8],
        ending: Ending,
        findings: &mut Vec<Finding>,
    ) -> FrameVerdict<'a> {
        match self.decoder.decode(text) {
            // Servers log arrays too.
            Ok(Frame::Batch(_)) if self.is_logged_array(text, ending) => {
                FrameVerdict::Refused(self.refuse_noise(text, findings))
            }
            Ok(frame) => FrameVerdict::Frame(frame),
            Err(refusal) => {
                FrameVerdict::Refused(self.refuse(text, refusal, ending, false, findings))
            }
        }
    }
}
