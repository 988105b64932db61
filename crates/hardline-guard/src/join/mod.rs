//! Joins messages that raw newlines tore apart: the rule `frame.split`.
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
//! - A hold ends after 5 s, however much the server writes; one that resumes, 5 s later. Lines over the
//!   frame limit are not kept, but the hold goes on, and no line passes.
//! - After a hold that ran out the server is [suspect](Joiner::is_suspicious) for a while: the rest of
//!   the torn message may come after a pause. If the hold ended between two values, a line that goes on
//!   there resumes it.
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

mod conclude;
mod event;
mod head;
mod hold;
mod keys;
mod lex;
mod printed;
mod suspicion;
mod watch;
mod witness;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use hardline_wire::encode::code;
use hardline_wire::frame::Decoder;
use hardline_wire::id::Id;
use hardline_wire::json::ends_in_string;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line};

use crate::frame::is_utf16;
use crate::rule::Rule;
use crate::session::Reply;
use head::{Head, has_incomplete_object};
use hold::Hold;
use keys::Keys;
use lex::Lexer;
use printed::{Printed, Step};
use suspicion::Suspicion;
use watch::Watch;

pub(crate) use head::{begins_bare, begins_inside, starts_with_member};

pub use event::{JoinEvent, Joined};
pub use suspicion::MAX_SUSPICION;

/// Duration of a hold without new bytes.
pub const MAX_QUIET: Duration = Duration::from_millis(250);
/// Limit on the duration of a hold.
pub const MAX_HOLD: Duration = Duration::from_secs(5);
/// Time that a request has for a proper answer after one was among held lines.
pub const MAX_WAIT: Duration = Duration::from_secs(5);

/// Time after a log line in which a pretty-printed answer counts as part of what the server prints.
const MAX_PRINT_GAP: Duration = Duration::from_millis(100);

/// Knows which requests of the client have no answer yet.
pub trait Pending {
    /// Returns true if the client waits for an answer with this id.
    fn is_pending(&self, id: &Id<'_>) -> bool;
}

impl<F: Fn(&Id<'_>) -> bool> Pending for F {
    fn is_pending(&self, id: &Id<'_>) -> bool {
        self(id)
    }
}

/// Decision of the joiner about a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a line passes or it does not")]
#[must_use]
pub enum Taken {
    /// Not held: judge it, after the events of [`Joiner::poll_event`].
    Pass,
    /// Held.
    Held,
}

/// Joins the lines of one server where a message was torn.
#[derive(Debug)]
pub struct Joiner {
    limits: Limits,
    decoder: Decoder,
    hold: Option<Box<Hold>>,
    /// Set after a torn message whose rest has not come.
    suspicion: Option<Suspicion>,
    /// A hold that ran out between two values. A line that goes on there resumes it.
    paused: Option<Box<Hold>>,
    /// The state at the end of such a hold, after another one has begun.
    outer: Option<Lexer>,
    /// A value that the server prints.
    printed: Option<Box<Printed>>,
    /// Set if the last line is part of a printed value.
    is_printed_line: bool,
    /// True if the server has begun a line and not ended it.
    is_mid_line: bool,
    /// Set if a hold ran out, or suspicion ended, while the server was in the middle of a line.
    is_line_torn: bool,
    watch: Watch,
    /// Time of the last line that began no message.
    last_noise: Option<Duration>,
    /// Events to fetch before the next line: a few, and at most one per request in flight.
    events: VecDeque<JoinEvent>,
    /// Ids of the requests that fail by these events.
    failed: HashSet<Id<'static>>,
    /// Set if the joiner only reports findings, and every line passes.
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
            paused: None,
            outer: None,
            printed: None,
            is_printed_line: false,
            is_mid_line: false,
            is_line_torn: false,
            watch: Watch::new(limits),
            last_noise: None,
            events: VecDeque::new(),
            failed: HashSet::new(),
            is_observing: false,
        }
    }

    /// Creates a joiner that only reports torn frames: every line passes unchanged.
    pub fn observing(limits: &Limits) -> Self {
        Self { is_observing: true, ..Self::new(limits) }
    }

    /// Handles one line, blank ones too. `now` is the time since the session's start.
    ///
    /// While nothing [is held](Self::is_holding), the caller may skip lines that are valid frames:
    /// they are no heads.
    pub fn handle_line(&mut self, line: &Line<'_>, now: Duration, pending: &impl Pending) -> Taken {
        self.is_printed_line = false;
        if let Some(hold) = &mut self.hold {
            hold.forgive(now);
        }
        // Checked before the line is added: a server that never stops must not extend a hold.
        if let Some(hold) = self.hold.take_if(|hold| hold.is_over(now)) {
            self.run_out(hold, now, pending);
        }
        self.resume(line, now);
        let is_held = self.add(line, now, pending) || self.begin(line, now, pending);
        if is_held && !self.is_observing { Taken::Held } else { Taken::Pass }
    }

    /// Reports that bytes arrived. `unfinished` is the incomplete line at the end of them.
    pub fn handle_bytes(&mut self, unfinished: &[u8], now: Duration) {
        self.is_mid_line = !unfinished.trim_ascii().is_empty();
        if let Some(hold) = &mut self.hold {
            hold.forgive(now);
            hold.hear(now);
        }
    }

    /// Advances the time. Call it when [`poll_timeout`](Self::poll_timeout) is due, and only when there
    /// is nothing to read: a line that has already arrived may be part of the held message.
    pub fn handle_timeout(&mut self, now: Duration, pending: &impl Pending) {
        if let Some(hold) = self.hold.take_if(|hold| hold.deadline() <= now) {
            self.run_out(hold, now, pending);
        }
        if self.printed.as_ref().and_then(|it| it.deadline()).is_some_and(|at| at <= now) {
            self.end_printed();
        }
        if self.suspicion.take_if(|suspicion| suspicion.until() <= now).is_some() {
            // The line began while the server was suspect.
            self.is_line_torn |= self.is_mid_line;
            (self.paused, self.outer) = (None, None);
        }
        while let Some(id) = self.watch.next_due(now) {
            if self.is_owed(&id, pending) {
                self.fail(id, "its answer was inside another message, and no proper one followed");
            }
        }
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout), if no line arrives
    /// before.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let hold = self.hold.as_deref().map(Hold::deadline);
        let suspicion = self.suspicion.as_ref().map(Suspicion::until);
        let printed = self.printed.as_deref().and_then(Printed::deadline);
        [hold, suspicion, printed, self.watch.next_deadline()].into_iter().flatten().min()
    }

    /// Returns the next event. Call it after each other call, until it returns `None`.
    pub fn poll_event(&mut self) -> Option<JoinEvent> {
        let event = self.events.pop_front();
        // The caller settles each id that failed, so `pending` excludes them from here on.
        if self.events.is_empty() && !self.failed.is_empty() {
            self.failed = HashSet::new();
        }
        event
    }

    /// Forgets a request of the client that was answered or cancelled.
    pub fn settle(&mut self, id: &Id<'_>) {
        self.watch.forget(id);
    }

    /// Ends the stream, and with it all waiting.
    pub fn finish(&mut self, pending: &impl Pending) {
        if let Some(hold) = self.hold.take() {
            let last = hold.last();
            self.run_out(hold, last, pending);
        }
        self.end_printed();
        self.suspicion = None;
        (self.paused, self.outer) = (None, None);
        while let Some(id) = self.watch.take_first() {
            if self.is_owed(&id, pending) {
                self.fail(id, "its answer was inside another message");
            }
        }
    }

    /// Returns true while lines are held.
    pub fn is_holding(&self) -> bool {
        self.hold.is_some()
    }

    /// Returns true if the rest of a torn message may still come, so that a message which the server
    /// seems to send on its own may be part of it.
    pub fn is_suspicious(&self) -> bool {
        self.suspicion.is_some() || self.printed.as_ref().is_some_and(|it| it.is_suspect)
    }

    /// Returns true after a torn message. A value that is being printed does not count.
    pub fn is_after_torn(&self) -> bool {
        self.suspicion.is_some()
    }

    /// Returns true if the last line is part of a value that the server prints on several lines, as far as
    /// it goes, and no message.
    pub fn is_printed_line(&self) -> bool {
        self.is_printed_line
    }

    /// Returns true if a held line goes on with a message whose hold ran out before this hold began, or
    /// completes it.
    pub fn goes_on_outside(&self, text: &[u8]) -> bool {
        let goes_on = |mut lexer: Lexer| {
            lexer.read(text);
            !lexer.is_broken()
        };
        begins_inside(text) && self.outer.is_some_and(goes_on)
            || self.suspicion.is_some_and(|it| it.is_completed_by(text))
    }

    /// Returns true, once, if the line that has just ended began while lines were held or the server was
    /// suspect, and that ended before the line. It belongs to the torn message, like the lines that were held.
    pub fn take_torn_line(&mut self) -> bool {
        self.is_mid_line = false;
        std::mem::take(&mut self.is_line_torn)
    }

    /// Ends a value that the server prints, before a message that was not handed over. Its lines were no
    /// value then.
    pub fn handle_message(&mut self) {
        self.is_printed_line = false;
        self.end_printed();
    }

    /// Gives up on a printed value that has not ended.
    fn end_printed(&mut self) {
        let Some(printed) = self.printed.take() else { return };
        // Lines that looked torn were excused as parts of a value, and there was none.
        if printed.is_suspect {
            self.suspect(printed.last());
            self.push(JoinEvent::Lost);
        }
        self.push(JoinEvent::Printed { text: printed.into_text(), is_whole: false });
    }

    /// Takes a line as part of a printed value. Returns false if it is none.
    fn follow_printed(&mut self, text: &[u8], now: Duration) -> bool {
        if self.is_observing {
            return false;
        }
        let would_suspect = has_incomplete_object(text) || is_utf16(text);
        let Some(printed) = &mut self.printed else {
            let Some(mut printed) = Printed::begin(text, now, &self.limits) else { return false };
            printed.is_suspect = would_suspect;
            self.printed = Some(Box::new(printed));
            return true;
        };
        match printed.add(text, now) {
            Step::Open => {
                printed.is_suspect |= would_suspect;
                true
            }
            Step::Whole => {
                let Some(printed) = self.printed.take() else { return false };
                let is_suspect = printed.is_suspect || would_suspect;
                let text = printed.into_text();
                // Only a whole value without a message in it excuses the lines that looked torn.
                if is_suspect && !self.is_printed(&text) {
                    self.suspect(now);
                    self.push(JoinEvent::Lost);
                }
                self.push(JoinEvent::Printed { text, is_whole: true });
                true
            }
            Step::Broken => {
                self.end_printed();
                // The line may begin another one.
                self.follow_printed(text, now)
            }
        }
    }

    /// Begins suspicion after a broken line that no later line can complete: content may have broken
    /// it, and may go on.
    pub fn suspect(&mut self, now: Duration) {
        // One that began just now stays: it may know the head that a later line completes.
        if !self.is_observing && self.suspicion.is_none_or(|it| it.until() < now + MAX_SUSPICION) {
            self.suspicion = Some(Suspicion::new(now));
        }
    }

    /// Goes on with a hold that ran out, if a line goes on with its message.
    ///
    /// Servers pause between the lines of a pretty-printed answer. What follows is held like before the
    /// pause: content in it may be a whole message.
    fn resume(&mut self, line: &Line<'_>, now: Duration) {
        let Some(text) = line.whole().filter(|text| self.hold.is_none() && begins_inside(text))
        else {
            return;
        };
        if let Some(mut hold) = self.paused.take_if(|it| it.goes_on_with(text)) {
            hold.resume(now);
            self.end_printed();
            self.hold = Some(hold);
        }
    }

    /// Begins a hold if a line is a head. Returns true if it is.
    fn begin(&mut self, line: &Line<'_>, now: Duration, pending: &impl Pending) -> bool {
        let Some(text) = line.whole() else {
            self.end_printed();
            return false;
        };
        // Inside a printed value, a line of opening brackets is nesting and not a new message.
        let is_bare = self.printed.is_some() && Head::is_bare_line(text);
        let Some(mut head) = Head::read(text, &self.limits).filter(|_| !is_bare) else {
            self.suspicion.take_if(|it| it.is_completed_by(text));
            self.is_printed_line = !line.is_blank() && self.follow_printed(text, now);
            // Half a string beside the key of a message is more of the torn message.
            let goes_on =
                || self.suspicion.is_some() && Keys::of(text).has_any() && ends_in_string(text);
            let is_incomplete = || has_incomplete_object(text) || is_utf16(text) || goes_on();
            if !self.is_printed_line && is_incomplete() {
                self.suspect(now);
            }
            if !line.is_blank() {
                self.last_noise = Some(now);
            }
            return false;
        };
        self.end_printed();
        // Right after a log line, a pretty-printed answer is probably printed text as well.
        let is_printed = self.last_noise.is_some_and(|at| now <= at + MAX_PRINT_GAP);
        let before = std::mem::take(&mut head.before);
        let mut hold = Hold::new(text, line.end, head, line.offset, now, &self.limits);
        hold.is_printed |= is_printed && hold.is_pretty;
        // Messages before the head are held with its line, so their requests must be known.
        hold.witness.note_recovered(before.into_iter(), (text, 0, false), &self.limits, pending);
        self.hold = Some(Box::new(hold));
        if let Some(paused) = self.paused.take() {
            self.outer = Some(paused.lexer());
        }
        true
    }

    /// Adds a line to the held ones. Returns true if it belongs to them.
    fn add(&mut self, line: &Line<'_>, now: Duration, pending: &impl Pending) -> bool {
        let Self { limits, decoder, hold: Some(hold), .. } = self else { return false };
        if hold.head.is_bare && !line.is_blank() {
            // A whole message is probably one of the server, and not the inside of another one. Messages
            // that the server sends on its own are suspect nevertheless.
            let is_message = line.whole().is_some_and(|text| decoder.decode(text).is_ok());
            if is_message || !line.whole().is_some_and(Head::is_confirmed_by) {
                self.drop_bare_head(now);
                if is_message {
                    // The message ends whatever the brackets began, so no value goes on behind it.
                    self.end_printed();
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
                // The line is not kept, but the requests that it answers must not wait forever.
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
    fn drop_bare_head(&mut self, now: Duration) {
        if let Some(hold) = self.hold.take() {
            self.report_noise(&hold);
            if !self.is_observing {
                self.printed = Printed::begin(hold.raw(), now, &self.limits).map(Box::new);
            }
        }
    }

    /// Returns true if the client waits for an answer, and no queued event fails the request.
    fn is_owed(&self, id: &Id<'static>, pending: &impl Pending) -> bool {
        pending.is_pending(id) && !self.failed.contains(id)
    }

    fn fail(&mut self, id: Id<'static>, reason: &str) {
        self.watch.forget(&id);
        // Until the caller has fetched this event, it still reports the id as pending.
        self.failed.insert(id.clone());
        let reply = Reply::new(id, Rule::FrameSplit, format!("no usable answer: {reason}"));
        self.push(JoinEvent::Failed(reply));
    }

    fn refuse(&mut self, id: Id<'static>) {
        let reply = Reply::new(id, Rule::FrameSplit, "Parse error: a raw newline inside a string");
        self.push(JoinEvent::Refused(reply.with_code(code::PARSE_ERROR)));
    }

    fn push(&mut self, event: JoinEvent) {
        if !self.is_observing || matches!(event, JoinEvent::Found { .. }) {
            self.events.push_back(event);
        }
    }
}
