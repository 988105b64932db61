//! Handles answers of the server that are broken, or that share their line with other text.

use std::time::Duration;

use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::json::Checker;
use hardline_wire::line::Line;
use hardline_wire::message::Message;
use memchr::{memchr, memmem};

use super::Guard;
use super::work::Work;
use crate::finding::Direction;
use crate::frame::{
    Prefixed, brackets, cut_junk, cut_prefix, finding_at, has_outcome, has_unnamed_answer,
    is_bare_outcome, is_clear, is_half_of_answer, is_unnamed_answer, may_be_part, probable_ids,
    trim_colors,
};
use crate::join::{Pending, begins_bare};
use crate::rule::{Action, Rule};
use crate::session::Doubt;

impl Guard {
    /// Takes a line on which an answer to a pending request stands behind padding or a terminal escape,
    /// and delivers the answer. Returns false for any other line.
    ///
    /// Behind printable text the answer is not delivered. A log line that quotes a document has the same
    /// bytes, and the document may name any request.
    pub(super) fn take_prefixed<'a>(&mut self, line: &Line<'a>, work: &mut Work<'a>) -> bool {
        let direction = Direction::ServerToClient;
        let actions = self.policy.actions(None);
        let noise = actions.action(Rule::FrameNoise, direction);
        let Some(text) = line.whole() else { return false };
        let Some(cut) = cut_prefix(text).filter(|_| noise >= Action::Sanitize) else {
            return false;
        };
        // Colors also have an end.
        let message = if cut.is_padding { trim_colors(cut.message) } else { cut.message };
        let cut = Prefixed { message, ..cut };
        let Some(id) = answered_id(cut.message, &mut Decoder::new(&self.limits)) else {
            return false;
        };
        // After a torn line, content may have written both the prefix and the answer.
        if self.joiner.is_suspicious() || !self.session.is_pending(&id) {
            return false;
        }
        let length = memchr(b'{', text).unwrap_or_default();
        let detail = if cut.is_padding {
            "text before an answer on its line: removed from the protocol stream"
        } else {
            "an answer after other text on its line: not delivered, a document may have written it"
        };
        work.findings.add(Rule::FrameNoise, noise, || {
            finding_at(Rule::FrameNoise, direction, text, 0, length, detail)
        });
        self.note_answer(cut.message, work);
        self.holdback.note_message(true, cut.message, work.now);
        if cut.is_padding {
            work.inspection.noise = text.get(..length);
            self.take_text(direction, cut.message.to_vec(), work);
        } else {
            // The server may still send the answer on a line of its own.
            work.inspection.noise = Some(text);
            self.session.doubt(&id, Doubt::Damaged, work.now);
        }
        true
    }

    /// Returns true if a broken message stands behind a progress bar or a terminal escape.
    pub(super) fn is_torn_behind_decoration(&self, text: &[u8]) -> bool {
        let Some(cut) = cut_prefix(text).filter(|cut| !cut.has_words) else { return false };
        memmem::find(cut.message, b"jsonrpc").is_some()
            && Checker::new(&self.limits).check(cut.message).is_err()
    }

    /// Reports that the server began a line and did not end it. One of the requests of the client may
    /// have lost its answer.
    pub fn lose_answer(&mut self, now: Duration) {
        self.session.doubt_all(now);
    }

    /// Takes an answer whose line the server has begun and does not end. Returns true if the line
    /// may count as ended.
    ///
    /// After a torn message it may not: content may have written the answer, and the rest of the
    /// line may show it. Its request fails after a while.
    pub fn try_end_answer(&mut self, line: &[u8], now: Duration) -> bool {
        if !self.joiner.is_suspicious() {
            return true;
        }
        self.doubt_answers(line, true, 0, now);
        false
    }

    /// Takes note that a line of the server cannot be used. The requests that it seems to answer
    /// fail after a while, unless a proper answer comes.
    ///
    /// `may_answer` says that the line was meant as a message, and perhaps as an answer; `failed`
    /// is the number of requests that have failed because of it.
    pub(super) fn doubt_answers(
        &mut self,
        text: &[u8],
        may_answer: bool,
        failed: usize,
        now: Duration,
    ) {
        let ids = probable_ids(text, self.limits.max_id_bytes());
        let pending: Vec<_> = ids.iter().filter_map(|id| self.session.meant_by(id)).collect();
        // A log line that quotes one whole answer is no part of another one.
        let is_quote = || cut_prefix(text).is_some_and(|cut| is_clear(cut.message));
        let doubt = if is_clear(text) || is_quote() { Doubt::Damaged } else { Doubt::Torn };
        for id in &pending {
            self.session.doubt(id, doubt, now);
        }
        // Beside a request on the same line, an id may belong to that.
        let has_call = memmem::find(text, b"\"method\"").is_some() && is_unnamed_answer(text);
        let has_more = has_call || has_unnamed_answer(text, pending.len() + failed);
        // A log line that begins like one may hold the pieces of several answers.
        let is_jumble = has_more && !ids.is_empty();
        // After a torn line this may be the other half of an answer, with its id cut in two.
        let is_half = is_half_of_answer(text)
            && (self.joiner.is_after_torn() || memmem::find(text, b"\"jsonrpc\"").is_some());
        if is_half {
            // More of the torn message came, so that still more may follow.
            self.joiner.suspect(now);
        }
        // Behind padding, an answer without an id reads like noise.
        let is_unnamed = ids.is_empty() && cut_junk(text).is_some_and(is_unnamed_answer);
        let may_answer = may_answer || is_unnamed;
        if is_jumble || is_half || may_answer && (pending.is_empty() || has_more) {
            self.session.doubt_all(now);
        }
    }

    /// Takes note of a value that the server printed on several lines. A request whose answer it shows
    /// fails after a while, unless a proper answer comes.
    pub(super) fn doubt_printed(&mut self, text: &[u8], is_whole: bool, now: Duration) {
        let ids = probable_ids(text, self.limits.max_id_bytes());
        let pending: Vec<_> = ids.iter().filter_map(|id| self.session.meant_by(id)).collect();
        for id in &pending {
            self.session.doubt(id, Doubt::Damaged, now);
        }
        let message = memmem::find(text, b"jsonrpc");
        let is_unclear = if is_whole {
            // Two answers that a server writes at once may stand one inside of the other.
            let is_inside = message.is_some_and(|at| !is_top_member(text, at));
            (is_inside || is_bare_outcome(&text.to_ascii_lowercase())) && pending.is_empty()
        } else {
            // The id may have been in the part that is missing, and so may all that shows an answer.
            ids.is_empty() && (message.is_some() || has_outcome(text) || begins_bare(text))
        };
        if is_unclear {
            self.session.doubt_all(now);
        }
    }

    /// Makes all requests doubtful after a refused line of the server that may have been meant as
    /// an answer, or as a part of one, unless it is clear which request it was for.
    ///
    /// `was_suspect` says that content may have torn an earlier line. Then any line may be a part.
    pub(super) fn doubt_unclear(
        &mut self,
        text: &[u8],
        is_noise: bool,
        was_suspect: bool,
        now: Duration,
    ) {
        let is_unclear =
            if was_suspect { !is_noise || may_be_part(text) } else { !is_noise && !is_clear(text) };
        if is_unclear {
            self.session.doubt_all(now);
        }
    }
}

/// Returns true if the key at `at` is a member of the value that a text prints.
fn is_top_member(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let before = before.strip_suffix(b"\"").unwrap_or(before);
    brackets(before, false) == Some(1)
}

/// Returns the id of a text that is an answer.
fn answered_id(text: &[u8], decoder: &mut Decoder) -> Option<Id<'static>> {
    let Ok(Frame::Message(message, _)) = decoder.decode(text) else { return None };
    match &message {
        Message::Response(_) | Message::Error(_) => message.id().map(|id| id.clone().into_owned()),
        Message::Request(_) | Message::Notification(_) => None,
    }
}
