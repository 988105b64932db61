//! Frames that raw newlines tore apart, put together again: `frame.split`.
//!
//! A server that builds JSON by hand writes a raw newline inside a string, and the line falls apart:
//! a head that is incomplete, lines that the content's author chose, and a tail. A client that takes
//! each line for a frame takes one in the middle for a message that the server never sent.
//!
//! [`Joiner`] is given all lines from a server, blank ones too, and the time. After a head it holds
//! them, and tries two readings: newlines escaped and the lines as they are; or the lines in the
//! middle escaped entirely, quotes and all. Once one is an answer to a pending request, the joiner
//! delivers that one message. Other layers judge its content.
//!
//! Decisions:
//! - A pretty-printed message is a torn one too. A line of nothing but opening brackets begins a
//!   hold, and the next line decides whether it is the start of a message.
//! - A torn notification, a torn request of the server, and a torn answer to no pending request (a
//!   late one, after its request was cancelled) are never delivered: no pending id vouches for
//!   them. The hold ends as soon as a reading of them is whole, and the joiner answers a request
//!   with an error.
//! - Every id with a damaged or whole answer on a held line gets a proper answer within 5 s, or an
//!   error.
//! - A hold ends after 5 s, however much the server writes. Lines over the frame limit are not kept,
//!   but the hold goes on, and no line passes.
//! - After a hold that ran out the server is [suspect](Joiner::is_suspicious) for a while: the rest of
//!   the torn message may come after a pause.
//! - A head alone, with nothing behind it, was not torn apart: it is `frame.not-json`.
//!
//! The caller hands over each line, fetches the events, and only then judges a line that passes. An
//! id that fails or is joined is pending no more; the caller [settles](Joiner::settle) an id that is
//! answered or cancelled otherwise.
//!
//! ```
//! use std::time::Duration;
//!
//! use hardline_guard::join::{JoinEvent, Joiner, Taken};
//! use hardline_wire::id::Id;
//! use hardline_wire::limits::Limits;
//! use hardline_wire::line::LineFramer;
//!
//! let limits = Limits::default();
//! let (mut framer, mut joiner) = (LineFramer::new(&limits), Joiner::new(&limits));
//! let mut chunk: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"one\n\
//!     {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\"}\n\
//!     two\"}}\n";
//! let is_pending = |id: &Id<'_>| id.as_i64() == Some(7);
//! while let Some(line) = framer.next_line(&mut chunk) {
//!     assert_eq!(joiner.handle_line(&line, Duration::ZERO, &is_pending), Taken::Held);
//! }
//! let joined = std::iter::from_fn(|| joiner.poll_event()).find_map(|event| match event {
//!     JoinEvent::Joined(joined) => Some(joined),
//!     _ => None,
//! });
//! let text = String::from_utf8(joined.unwrap().text).unwrap();
//! assert!(text.contains(r#"one\n{\"jsonrpc\":\"2.0\",\"id\":1,"#));
//! ```
//!
//! Invariants:
//! - While a head is open no line passes, and of all lines held at most one message is delivered.
//! - No more than three times `max_frame_bytes` are kept. Each byte is read a fixed number of times.
//! - Each request of the client that a held line was about is delivered an answer or failed.

mod event;
mod head;
mod hold;
mod keys;
mod lex;
mod suspicion;
mod watch;
mod witness;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use hardline_wire::encode::code;
use hardline_wire::frame::Decoder;
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line};
use hardline_wire::recover::{Ending, recover};

use crate::finding::{Direction, Finding, Severity};
use crate::frame::{
    finding_at, first_end, has_unnamed_answer, is_utf16, probable_ids, probable_ids_of_lines,
};
use crate::rule::Rule;
use crate::session::Reply;
use head::{Head, has_incomplete_object};
use hold::{Hold, Reading};
use suspicion::Suspicion;
use watch::Watch;

pub(crate) use head::starts_with_member;

pub use event::{JoinEvent, Joined};
pub use suspicion::MAX_SUSPICION;

/// How long a hold lasts without new bytes.
pub const MAX_QUIET: Duration = Duration::from_millis(250);
/// How long a hold lasts at most.
pub const MAX_HOLD: Duration = Duration::from_secs(5);
/// How long a request whose answer was among held lines waits for a proper one.
pub const MAX_WAIT: Duration = Duration::from_secs(5);

/// Time after a log line in which a pretty-printed answer counts as part of what the server prints.
const MAX_PRINT_GAP: Duration = Duration::from_millis(100);

/// Knows which requests of the client have no answer yet.
pub trait Pending {
    /// Whether the client waits for an answer with this id.
    fn is_pending(&self, id: &Id<'_>) -> bool;
}

impl<F: Fn(&Id<'_>) -> bool> Pending for F {
    fn is_pending(&self, id: &Id<'_>) -> bool {
        self(id)
    }
}

/// What became of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a line passes or it does not")]
#[must_use]
pub enum Taken {
    /// It is not the joiner's: judge it, after the events that [`Joiner::poll_event`] has.
    Pass,
    /// It is the joiner's.
    Held,
}

/// Puts the lines of one server together where a message was torn.
#[derive(Debug)]
pub struct Joiner {
    limits: Limits,
    decoder: Decoder,
    hold: Option<Box<Hold>>,
    /// Set after a torn message whose rest has not come.
    suspicion: Option<Suspicion>,
    watch: Watch,
    /// Time of the last line that began no message.
    last_noise: Option<Duration>,
    /// To be fetched before the next line: a few, and no more than requests are in flight.
    events: VecDeque<JoinEvent>,
    /// The ids that fail among these events.
    failed: HashSet<Id<'static>>,
    /// Whether lines pass all the same, and only findings are made.
    is_observing: bool,
}

impl Joiner {
    /// Creates a joiner that obeys `max_frame_bytes`, `max_depth`, `max_id_bytes` and
    /// `max_in_flight` of `limits`.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            decoder: Decoder::new(limits),
            hold: None,
            suspicion: None,
            watch: Watch::new(limits),
            last_noise: None,
            events: VecDeque::new(),
            failed: HashSet::new(),
            is_observing: false,
        }
    }

    /// Creates one that finds torn frames, and lets every line pass as it came: it protects nobody.
    pub fn observing(limits: &Limits) -> Self {
        Self { is_observing: true, ..Self::new(limits) }
    }

    /// Takes one line, blank ones too. `now` is the time since the session's start.
    ///
    /// While nothing [is held](Self::is_holding), a line that a judge takes for a frame need not be
    /// handed over, which saves a look at it: such a line is no head.
    pub fn handle_line(&mut self, line: &Line<'_>, now: Duration, pending: &impl Pending) -> Taken {
        if let Some(hold) = &mut self.hold {
            hold.forgive(now);
        }
        if let Some(hold) = self.hold.take_if(|hold| hold.is_over(now)) {
            self.run_out(&hold, now, pending);
        }
        let is_held = self.add(line, now, pending) || self.begin(line, now, pending);
        if is_held && !self.is_observing { Taken::Held } else { Taken::Pass }
    }

    /// Takes note that bytes came which do not end a line.
    pub fn handle_bytes(&mut self, now: Duration) {
        if let Some(hold) = &mut self.hold {
            hold.forgive(now);
            hold.hear(now);
        }
    }

    /// Takes note of the time: after what [`poll_timeout`](Self::poll_timeout) says, and only when there
    /// is nothing to read. A line that was already there must be taken first: it may be part of what is
    /// held.
    pub fn handle_timeout(&mut self, now: Duration, pending: &impl Pending) {
        if let Some(hold) = self.hold.take_if(|hold| hold.deadline() <= now) {
            self.run_out(&hold, now, pending);
        }
        self.suspicion.take_if(|suspicion| suspicion.until() <= now);
        while let Some(id) = self.watch.next_due(now) {
            if self.is_owed(&id, pending) {
                self.fail(id, "its answer was inside another message, and no proper one followed");
            }
        }
    }

    /// When the joiner wants to be told the time, if no line comes before that.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let hold = self.hold.as_deref().map(Hold::deadline);
        let suspicion = self.suspicion.as_ref().map(Suspicion::until);
        [hold, suspicion, self.watch.next_deadline()].into_iter().flatten().min()
    }

    /// What there is to do, in its order. To be asked until there is nothing, after each call.
    pub fn poll_event(&mut self) -> Option<JoinEvent> {
        let event = self.events.pop_front();
        if self.events.is_empty() && !self.failed.is_empty() {
            self.failed = HashSet::new();
        }
        event
    }

    /// Takes note that a request of the client has its answer, or wants none any more.
    pub fn settle(&mut self, id: &Id<'_>) {
        self.watch.forget(id);
    }

    /// Ends the stream: nothing more will come, so nothing is waited for.
    pub fn finish(&mut self, pending: &impl Pending) {
        if let Some(hold) = self.hold.take() {
            self.run_out(&hold, hold.last(), pending);
        }
        self.suspicion = None;
        while let Some(id) = self.watch.take_first() {
            if self.is_owed(&id, pending) {
                self.fail(id, "its answer was inside another message");
            }
        }
    }

    /// Whether lines are being held.
    pub fn is_holding(&self) -> bool {
        self.hold.is_some()
    }

    /// Whether a torn message has left its rest behind, so that a message which the server seems to
    /// send on its own may be part of it.
    pub fn is_suspicious(&self) -> bool {
        self.suspicion.is_some()
    }

    /// Begins suspicion after a broken line that no later line can complete: content may have broken
    /// it, and may go on.
    pub fn suspect(&mut self, now: Duration) {
        if !self.is_observing && self.suspicion.is_none_or(|it| it.until() < now + MAX_SUSPICION) {
            self.suspicion = Some(Suspicion::new(now));
        }
    }

    /// Begins a hold if a line is a head. Returns whether it is.
    fn begin(&mut self, line: &Line<'_>, now: Duration, pending: &impl Pending) -> bool {
        let Some(text) = line.whole() else { return false };
        let Some(mut head) = Head::read(text, &self.limits) else {
            self.suspicion.take_if(|it| it.is_completed_by(text));
            if has_incomplete_object(text) || is_utf16(text) {
                self.suspect(now);
            }
            if !line.is_blank() {
                self.last_noise = Some(now);
            }
            return false;
        };
        let is_printed = self.last_noise.is_some_and(|at| now <= at + MAX_PRINT_GAP);
        let before = std::mem::take(&mut head.before);
        let mut hold = Hold::new(text, line.end, head, line.offset, now, &self.limits);
        hold.is_printed = is_printed && hold.is_pretty;
        hold.witness.note_recovered(before.into_iter(), (text, 0, false), &self.limits, pending);
        self.hold = Some(Box::new(hold));
        true
    }

    /// Adds a line to those that are held. Returns whether it belongs to them.
    fn add(&mut self, line: &Line<'_>, now: Duration, pending: &impl Pending) -> bool {
        let Self { limits, decoder, hold: Some(hold), .. } = self else { return false };
        if hold.head.is_bare && !line.is_blank() {
            // A whole message is rather one of the server than the inside of another one. What the
            // server sends on its own is suspect all the same.
            let is_message = line.whole().is_some_and(|text| decoder.decode(text).is_ok());
            if is_message || !line.whole().is_some_and(Head::is_confirmed_by) {
                self.drop_bare_head();
                if is_message {
                    self.suspect(now);
                }
                return false;
            }
            hold.confirm(line.whole().is_some_and(Head::is_bare_line), now);
        }
        hold.hear(now);
        hold.followers += usize::from(!line.is_blank());
        let offset = hold.length;
        let whole = match line.content {
            Content::Whole(text) => {
                hold.witness.look(text, offset, decoder, limits, pending);
                hold.add(text, line.end, line.has_bom, decoder)
            }
            Content::Overlong(overlong) => {
                let recovered = overlong.recovered.iter().cloned();
                hold.witness.note_recovered(
                    recovered,
                    (overlong.prefix, offset, true),
                    limits,
                    pending,
                );
                hold.overflow(usize::try_from(overlong.length).unwrap_or(usize::MAX));
                None
            }
        };
        if let Some((reading, text)) = whole
            && let Some(mut hold) = self.hold.take()
        {
            self.conclude(&mut hold, reading, text, pending);
        }
        true
    }

    /// Gives up on opening brackets that begin no message: a server printed them.
    fn drop_bare_head(&mut self) {
        if let Some(hold) = self.hold.take() {
            self.report_noise(&hold);
        }
    }

    fn report_noise(&mut self, hold: &Hold) {
        let (rule, detail) = (Rule::FrameNoise, "no message: kept off the protocol");
        let length = hold.raw().len();
        let finding = finding_at(rule, Direction::ServerToClient, hold.raw(), 0, length, detail);
        self.push(JoinEvent::Found { finding, start: hold.offset });
    }

    /// Ends a hold with a reading that is whole.
    fn conclude(
        &mut self,
        hold: &mut Hold,
        reading: Reading,
        mut text: Vec<u8>,
        pending: &impl Pending,
    ) {
        while text.last() == Some(&b' ') {
            text.pop();
        }
        let has_planted = 0 < hold.witness.total();
        let mut delivered = None;
        let is_unclear = hold.is_unclear(&reading, pending);
        match reading {
            // A document that the server prints may show any answer, and pretty-printed ones first.
            Reading::Answer(id) if hold.is_printed && self.is_owed(&id, pending) => {
                self.report(hold, "an answer on the lines after a log line was not delivered");
                hold.witness.probable.push(id);
            }
            Reading::Answer(id) if self.is_owed(&id, pending) => {
                self.report(hold, "a raw newline tore a message apart; it was put together again");
                self.watch.forget(&id);
                delivered = Some(id.clone());
                let (is_pretty, offset) = (hold.is_pretty, hold.offset);
                self.push(JoinEvent::Joined(Joined { text, id, has_planted, is_pretty, offset }));
            }
            Reading::Answer(_) => {
                self.report(hold, "a torn answer that nobody waits for was dropped");
            }
            Reading::Notification => self.report(hold, "a torn notification was dropped"),
            Reading::Request(id) => {
                self.report(hold, "a torn request was answered with an error");
                self.refuse(id);
            }
            Reading::Other | Reading::Nothing => {
                self.report(hold, "a torn line that is no message was dropped");
                self.fail_answers_in(&text, pending);
                // Content may have ended it too early, and may go on.
                self.suspect(hold.last());
            }
        }
        if is_unclear {
            self.push(JoinEvent::Lost);
        }
        if hold.is_read_as_text() && hold.witness.has_head {
            // The line that ended this message may belong to the other one.
            self.suspect(hold.last());
        }
        if !hold.is_printed {
            self.fail_head(hold, delivered.as_ref(), pending);
        }
        // The lines between may have been answers of their own.
        self.watch_answers_in(hold, hold.last(), delivered.as_ref(), pending);
        for id in std::mem::take(&mut hold.witness.touched) {
            let is_settled = delivered.as_ref() == Some(&id) || !self.is_owed(&id, pending);
            if !is_settled && !self.watch.add(id.clone(), hold.last() + MAX_WAIT) {
                self.fail(id, "its answer was inside another message");
            }
        }
    }

    /// Ends a hold without a message. Every request that a held line was about gets an error.
    fn run_out(&mut self, hold: &Hold, now: Duration, pending: &impl Pending) {
        if hold.head.is_bare {
            self.report_noise(hold);
            self.push(JoinEvent::Lost);
            return;
        }
        self.report(hold, "a raw newline tore a message apart, and its rest was not found");
        if let (true, Some(id)) = (hold.head.has_method, &hold.head.id) {
            self.refuse(id.clone());
        }
        let failed_before = self.failed.len();
        self.fail_head(hold, None, pending);
        // The id may stand behind the content.
        self.fail_answers_in(hold.raw(), pending);
        let is_unnamed = self.failed.len() == failed_before && !hold.head.has_method;
        let has_more = self.has_more_answers(hold, pending) || hold.witness.has_unnamed;
        // Any of the lines after the head may be a part of another answer, and so may text on its
        // own line behind the first message there.
        let has_parts = hold.followers > 0 || first_end(hold.raw()).is_some();
        if is_unnamed || has_more || has_parts {
            self.push(JoinEvent::Lost);
        }
        for id in &hold.witness.touched {
            if self.is_owed(id, pending) {
                self.fail(id.clone(), "its answer was inside a message that fell apart");
            }
        }
        self.watch_answers_in(hold, now, None, pending);
        if !self.is_observing {
            self.suspicion = Some(Suspicion::after_hold(now, hold.after_head()));
        }
    }

    /// Returns true if the lines of a hold seem to have more answers than those for known requests.
    fn has_more_answers(&self, hold: &Hold, pending: &impl Pending) -> bool {
        let is_named = |id: &Id<'static>| self.failed.contains(id) || pending.is_pending(id);
        let max_id_bytes = self.limits.max_id_bytes();
        let ids = probable_ids_of_lines(hold.raw(), max_id_bytes);
        let named = ids.into_iter().filter(is_named).count();
        // One line may have the halves of two answers, while another one is whole.
        let has_more_on = |line: &[u8]| {
            let named = probable_ids(line, max_id_bytes).into_iter().filter(is_named).count();
            has_unnamed_answer(line, named)
        };
        let mut lines = hold.raw().split(|byte| *byte == b'\n');
        has_unnamed_answer(hold.raw(), named) || lines.any(has_more_on)
    }

    /// Gives the requests that held lines seem to answer some time for a proper answer, except the one
    /// that has been `delivered`.
    fn watch_answers_in(
        &mut self,
        hold: &Hold,
        now: Duration,
        delivered: Option<&Id<'static>>,
        pending: &impl Pending,
    ) {
        let mut ids = probable_ids_of_lines(hold.raw(), self.limits.max_id_bytes());
        // The hold does not keep lines once there are too many.
        ids.extend_from_slice(&hold.witness.probable);
        for id in ids {
            let is_owed = self.is_owed(&id, pending) && delivered != Some(&id);
            if is_owed && !self.watch.add(id.clone(), now + MAX_WAIT) {
                self.fail(id, "its answer was inside a message that fell apart");
            }
        }
    }

    /// Fails the requests that `text` has answers to, as far as their ids can be recovered.
    fn fail_answers_in(&mut self, text: &[u8], pending: &impl Pending) {
        let ids: Vec<_> = recover(text, Ending::Whole, &self.limits)
            .take(self.limits.max_in_flight())
            // An object with an id and without a method is an answer, however damaged.
            .filter(|it| !it.has_method && !it.follows_junk)
            .filter_map(|it| it.id)
            .collect();
        for id in ids {
            if self.is_owed(&id, pending) {
                self.fail(id, "its answer was inside a message that fell apart");
            }
        }
    }

    /// Fails the request that the head was the answer to, unless that was delivered.
    fn fail_head(&mut self, hold: &Hold, delivered: Option<&Id<'_>>, pending: &impl Pending) {
        let Some(id) = hold.head.id.as_ref().filter(|_| !hold.head.has_method) else { return };
        if delivered != Some(id) && self.is_owed(id, pending) {
            self.fail(id.clone(), "its answer fell apart at a raw newline");
        }
    }

    /// Whether the client waits for an answer, and was not just promised an error.
    fn is_owed(&self, id: &Id<'static>, pending: &impl Pending) -> bool {
        pending.is_pending(id) && !self.failed.contains(id)
    }

    fn fail(&mut self, id: Id<'static>, reason: &str) {
        self.watch.forget(&id);
        self.failed.insert(id.clone());
        let reply = Reply::new(id, Rule::FrameSplit, format!("no usable answer: {reason}"));
        self.push(JoinEvent::Failed(reply));
    }

    fn refuse(&mut self, id: Id<'static>) {
        let reply = Reply::new(id, Rule::FrameSplit, "Parse error: a raw newline inside a string");
        self.push(JoinEvent::Refused(reply.with_code(code::PARSE_ERROR)));
    }

    /// Makes the findings of a hold: one for the frame, and one for each message inside it.
    fn report(&mut self, hold: &Hold, what: &str) {
        let witness = &hold.witness;
        let rule = if hold.followers == 0 { Rule::FrameNotJson } else { Rule::FrameSplit };
        let detail = match witness.total() {
            0 => format!("{what} ({} lines after its first)", hold.followers),
            _ => format!(
                "{what}; whole messages on its lines, none of them delivered: {} requests, \
                 {} notifications, {} answers",
                witness.requests, witness.notifications, witness.answers
            ),
        };
        let direction = Direction::ServerToClient;
        let is_planted = 0 < witness.total() && rule == Rule::FrameSplit;
        let severity = if is_planted { Severity::Critical } else { rule.severity() };
        let offset = hold.head_length;
        let finding = finding_at(rule, direction, hold.raw(), offset, hold.length, &detail);
        let length = hold.length.saturating_sub(offset);
        let start = hold.offset;
        let finding = Finding { severity, length, ..finding };
        self.push(JoinEvent::Found { finding, start });
        for planted in &witness.planted {
            let detail = format!("a whole {} on a line inside a torn message", planted.kind);
            let finding =
                finding_at(Rule::FrameSplit, direction, &planted.start, 0, planted.length, &detail);
            let (offset, length) = (planted.offset, planted.length);
            let finding = Finding { severity: Severity::Critical, offset, length, ..finding };
            self.push(JoinEvent::Found { finding, start });
        }
    }

    fn push(&mut self, event: JoinEvent) {
        if !self.is_observing || matches!(event, JoinEvent::Found { .. }) {
            self.events.push_back(event);
        }
    }
}
