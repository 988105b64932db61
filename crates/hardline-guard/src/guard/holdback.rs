//! Holds back messages that a server sends right after another one, for a moment.
//!
//! A server that escapes nothing can be made to end its own message: content such as `a"}]}}`, a newline
//! and a message arrive as two sound lines. What follows gives it away. The rest of the real message
//! (`b"}]}}`) is no message, and ends with brackets that nothing on its line opened. So a message that
//! the server sends on its own right after another one waits until the server has been quiet for a
//! moment. If such a rest comes first, the guard drops what waits.
//!
//! Answers to pending requests do not wait. They release the notifications that came before them, so
//! that the order stays the same. Requests go on waiting, longer than other messages.
//!
//! After a torn line answers wait too, also for the end of a line that has begun. A line that goes on with the
//! torn message shows that they stand inside of it.
//!
//! Invariants: no more than [`MAX_HELD`] messages and `max_queue_bytes` wait; with more, all but requests
//! are released. Bytes of the server put a release off for [`MAX_QUIETS`] quiet times at most.

use std::time::Duration;

use hardline_wire::limits::Limits;

use super::ending::{Endings, ending};
use super::rest::{ends_string, is_closing, is_rest, is_whole_message, may_become_rest};

/// Least quiet time before a request of the server is released, where the policy holds anything back.
///
/// The rest of a message may come later than its start: a write larger than the pipe's buffer, or a busy
/// machine. A planted request does more harm than a notification.
const MIN_REQUEST_QUIET: Duration = Duration::from_millis(20);
/// Limit on the time for which a message waits, in quiet times: a server that never is quiet for so long
/// must not starve its own messages.
const MAX_QUIETS: u32 = 10;
/// Time after a message in which a message of the server's own is held back, if its line begins in that time.
const AFTER_MESSAGE: Duration = Duration::from_millis(100);
/// Time after a message in which the rest of one is recognized.
const MAX_REST_WAIT: Duration = Duration::from_secs(30);
/// Quiet time after which messages are released although the server has begun a line that may be the
/// rest of another one.
const MAX_MID_REST: Duration = Duration::from_secs(25);
/// Time for which a request, or an answer after a torn line, waits for the end of any other line that the
/// server has begun. The end may show that the line is the rest of a message.
const MAX_MID_LINE: Duration = Duration::from_secs(1);
/// Limit on the messages that are held back at once.
const MAX_HELD: usize = 4096;
/// Minimum of closing brackets that make a line the rest of a message. Servers print objects over several
/// lines, so one bracket alone is an ordinary log line.
const MIN_CLOSING: usize = 2;
/// Limit on the bytes at the end of a message that are compared with the end of a later line.
const MAX_CLOSING: usize = 16;

/// The messages that are held back.
#[derive(Debug)]
pub(super) struct Holdback {
    /// Quiet time after which messages are released. Zero holds nothing back.
    quiet: Duration,
    /// The same for requests.
    request_quiet: Duration,
    max_bytes: usize,
    /// Time of the last message that content may have ended.
    last: Option<Duration>,
    /// Set if the server has sent a message on its own since.
    has_followed: bool,
    /// Set if the last message stood on several lines. Then so does the rest of it.
    is_on_lines: bool,
    /// The bytes that close the last message.
    closing: Closing,
    /// The ends of the answers so far.
    endings: Endings,
    /// End of the last line that was no answer, with its time.
    last_end: Option<(Vec<u8>, Duration)>,
    /// Time at which the server began the line that has not ended.
    unfinished_since: Option<Duration>,
    /// Time at which the last line that has ended began.
    begun: Duration,
    /// Time of the last torn line.
    torn: Option<Duration>,
    /// Set if the server has begun a line that may be the rest of a message.
    is_mid_rest: bool,
    /// True if a request or an answer waits and the server has begun any line.
    is_mid_line: bool,
    /// Time since which a request waits.
    request_since: Option<Duration>,
    /// Time since which any other message waits.
    other_since: Option<Duration>,
    /// True if an answer to a pending request waits because of a torn line.
    has_answer: bool,
    /// Time of the last bytes of the server.
    heard: Duration,
    held: Vec<Held>,
    /// True if one of them was written over several lines for people to read.
    has_pretty: bool,
    bytes: usize,
}

/// A message that is held back.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) frame: Vec<u8>,
    pub(super) kind: HeldKind,
    since: Duration,
}

/// Kind of a message that is held back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HeldKind {
    /// A request of the server, or a batch with one.
    Request,
    /// An answer to a pending request, after a torn line.
    Answer,
    /// Any other message.
    Other,
}

impl Holdback {
    pub(super) fn new(quiet: Duration, limits: &Limits) -> Self {
        let request_quiet =
            if quiet.is_zero() { Duration::ZERO } else { quiet.max(MIN_REQUEST_QUIET) };
        Self {
            quiet,
            request_quiet,
            max_bytes: limits.max_queue_bytes(),
            last: None,
            has_followed: false,
            is_on_lines: false,
            closing: Closing::default(),
            endings: Endings::default(),
            last_end: None,
            unfinished_since: None,
            begun: Duration::ZERO,
            torn: None,
            is_mid_rest: false,
            is_mid_line: false,
            request_since: None,
            other_since: None,
            has_answer: false,
            heard: Duration::ZERO,
            held: Vec::new(),
            has_pretty: false,
            bytes: 0,
        }
    }

    /// Records the end of a line.
    pub(super) fn note_line(&mut self, now: Duration) {
        self.begun = self.unfinished_since.take().unwrap_or(now);
    }

    /// Returns true if the line began right after `at`.
    ///
    /// Its end says nothing: a line that content has written goes on as slowly as its server writes.
    fn begins_after(&self, at: Duration) -> bool {
        self.begun <= at + AFTER_MESSAGE
    }

    /// Records a message that does not wait.
    pub(super) fn note_message(&mut self, is_answer: bool, text: &[u8], now: Duration) {
        // A held message is still undecided, so an answer that passes it must not clear this.
        self.has_followed = self.is_holding() || self.last.is_some() && !is_answer;
        (self.last, self.is_on_lines) = (Some(now), false);
        self.closing = Closing::of(text);
    }

    /// Records a message that is dropped in any case.
    pub(super) fn note_other(&mut self, now: Duration) {
        self.last = Some(now);
    }

    /// Records a torn line. For a moment answers wait as well: content may have written them.
    pub(super) fn note_torn(&mut self, now: Duration) {
        // A torn line has no end, so no later line can be compared with it.
        self.note_message(true, b"", now);
        self.torn = Some(now);
    }

    /// Returns true if an answer to a pending request has to wait. It does while the server
    /// `is_suspect`, so that a second answer with the same id can show that content wrote one of them.
    pub(super) fn is_due_for_answers(&self, is_suspect: bool) -> bool {
        let is_after_torn = self.torn.is_some_and(|at| self.begins_after(at));
        !self.quiet.is_zero() && (is_suspect || is_after_torn)
    }

    /// Records a message that was joined from several lines.
    pub(super) fn note_joined(&mut self, text: &[u8], now: Duration) {
        self.note_message(true, text, now);
        self.is_on_lines = true;
    }

    /// Records the end of an answer to a pending request: others from the same template have it too.
    pub(super) fn note_answer(&mut self, text: &[u8]) {
        self.endings.note(text);
    }

    /// Returns true if a message ends like an answer of this session.
    pub(super) fn ends_like_answer(&self, text: &[u8]) -> bool {
        self.endings.has_end_of(text)
    }

    /// Records the end of a log line in JSON, or of a notification. Any other line has none.
    pub(super) fn note_own(&mut self, text: &[u8], now: Duration) {
        self.last_end = ending(text).map(|end| (end, now));
    }

    /// Returns true if a request ends like the line right before it, a log line or a notification: content
    /// may have ended that line and begun the request.
    pub(super) fn ends_like_last_line(&self, text: &[u8]) -> bool {
        let last = self.last_end.as_ref().filter(|(_, at)| self.begins_after(*at));
        let is_alike = |end: &[u8]| ending(text).is_some_and(|it| it == end);
        !self.quiet.is_zero() && last.is_some_and(|(end, _)| is_alike(end))
    }

    /// Returns true if a message that the server sends on its own has to wait.
    pub(super) fn is_due(&self) -> bool {
        let is_after_message = self.last.is_some_and(|at| self.begins_after(at));
        !self.quiet.is_zero() && (is_after_message || !self.held.is_empty())
    }

    /// Returns true if a server's request has to wait. It does at any time: content may have turned a
    /// notification into a request, and the rest of the notification shows it.
    pub(super) fn is_due_for_requests(&self) -> bool {
        !self.quiet.is_zero()
    }

    /// Returns true if a message of the server may be the rest of the last one, with a start that content
    /// has written: it ends with the same brackets.
    pub(super) fn may_end_message(&self, text: &[u8]) -> bool {
        // Honest requests end with a row of braces, as many other messages do.
        self.is_due() && self.closing.has_array() && self.closing.ends(text)
    }

    /// Returns true if messages wait.
    pub(super) fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// Holds a message back. Returns false if there is no room.
    pub(super) fn push(&mut self, frame: &[u8], kind: HeldKind, now: Duration) -> bool {
        if self.held.len() == MAX_HELD || self.bytes + frame.len() > self.max_bytes {
            return false;
        }
        self.has_followed = true;
        // Content may have ended this message as well, so the rest of it counts.
        self.last = Some(now);
        self.put_back(Held { frame: frame.to_vec(), kind, since: now });
        self.heard = now;
        true
    }

    /// Holds an answer back that a server has written over several lines. Returns false without room,
    /// or if nothing is held back.
    pub(super) fn push_pretty(&mut self, frame: &[u8], now: Duration) -> bool {
        let is_held = !self.quiet.is_zero() && self.push(frame, HeldKind::Other, now);
        self.has_pretty |= is_held;
        is_held
    }

    /// Returns true if a pretty-printed answer is held. A log line right after it shows that both are
    /// printed text.
    pub(super) fn has_pretty(&self) -> bool {
        self.has_pretty
    }

    /// Records an incomplete line, and restarts the quiet time.
    pub(super) fn hear_bytes(&mut self, unfinished: &[u8], now: Duration) {
        let since = self.unfinished_since.unwrap_or(now);
        self.unfinished_since = (!unfinished.is_empty()).then_some(since);
        // The line may be long, so it is read only while messages wait.
        self.is_mid_rest = self.is_holding() && may_become_rest(unfinished);
        // A request does the most harm, so it also waits for a line that looks harmless so far. After a torn
        // line, the line may be the real answer to the request that an answer seems to be for.
        let waits = self.has_request() || self.has_answer;
        self.is_mid_line = waits && !unfinished.trim_ascii().is_empty();
        self.heard = now;
    }

    /// Returns true if a request or an answer waits and the server has begun a line.
    pub(super) fn is_mid_line(&self) -> bool {
        self.is_mid_line
    }

    /// Returns true if messages wait and the server has begun a line that may be the rest of another.
    pub(super) fn is_mid_rest(&self) -> bool {
        self.is_mid_rest && self.is_holding()
    }

    /// Returns true if a request waits.
    pub(super) fn has_request(&self) -> bool {
        self.request_since.is_some()
    }

    /// Returns the time at which messages are released, if some wait.
    pub(super) fn release_at(&self) -> Option<Duration> {
        // A server may pause inside the rest, so the usual quiet time proves nothing here.
        if self.is_mid_rest() {
            return Some(self.heard + MAX_MID_REST);
        }
        let others = self.other_since.map(|since| {
            let end = self.end_of(since, self.quiet);
            // All wait, so that the order stays the same.
            if self.has_answer { self.end_of_line(since, end) } else { end }
        });
        others.into_iter().chain(self.release_requests_at()).min()
    }

    /// Returns true if the requests have to wait on when other messages are released.
    pub(super) fn keeps_requests(&self, now: Duration) -> bool {
        self.release_requests_at().is_some_and(|at| now < at)
    }

    /// Returns the time at which requests are released. They also wait for the end of a line that the
    /// server has begun.
    fn release_requests_at(&self) -> Option<Duration> {
        let since = self.request_since?;
        Some(self.end_of_line(since, self.end_of(since, self.request_quiet)))
    }

    /// Puts a release at `end` off while the server is in the middle of a line, for so long.
    fn end_of_line(&self, since: Duration, end: Duration) -> Duration {
        if self.is_mid_line { end.max(since + MAX_MID_LINE) } else { end }
    }

    /// Returns the end of the quiet time, which bytes of the server put off for so long.
    fn end_of(&self, since: Duration, quiet: Duration) -> Duration {
        (self.heard + quiet).min(since + quiet * MAX_QUIETS)
    }

    /// Lets a message that was just taken wait on.
    pub(super) fn put_back(&mut self, held: Held) {
        self.bytes += held.frame.len();
        let is_request = held.kind == HeldKind::Request;
        let first = if is_request { &mut self.request_since } else { &mut self.other_since };
        first.get_or_insert(held.since);
        self.has_answer |= held.kind == HeldKind::Answer;
        self.held.push(held);
    }

    /// Takes all messages that wait.
    pub(super) fn take(&mut self) -> Vec<Held> {
        self.bytes = 0;
        (self.has_pretty, self.has_answer) = (false, false);
        (self.request_since, self.other_since) = (None, None);
        std::mem::take(&mut self.held)
    }

    /// Holds messages back that were taken and have to wait on. `has_pretty` is what
    /// [`has_pretty`](Self::has_pretty) returned before.
    pub(super) fn restore(&mut self, held: Vec<Held>, has_pretty: bool, now: Duration) {
        self.has_pretty = has_pretty && !held.is_empty();
        held.into_iter().for_each(|held| self.put_back(held));
        self.heard = now;
    }

    /// Reads a line that is no message. Returns true if it is the rest of the last message.
    ///
    /// While messages wait, a line that ends with the same brackets as the last message counts as well:
    /// content may have written the start of a log line for the rest to end.
    pub(super) fn ends_message(&self, text: &[u8], limits: &Limits, now: Duration) -> bool {
        // Such a line costs its own request only. Requests that are held back are dropped all the same.
        if is_whole_message(text) {
            return false;
        }
        let is_recent = self.last.is_some_and(|at| now <= at + MAX_REST_WAIT);
        // The rest of a pretty-printed message may be one bracket on a line of its own.
        let least = if self.is_on_lines { 1 } else { MIN_CLOSING };
        let is_likely = || self.is_holding() && (self.closing.ends(text) || ends_string(text));
        is_recent && (is_rest(text, limits) || is_closing(text, least) || is_likely())
    }

    /// Returns true if an answer waits because of a torn line. A line that goes on with the torn message
    /// shows that the answer stands inside of it.
    pub(super) fn has_answer(&self) -> bool {
        self.has_answer
    }

    /// Returns true if messages wait and a line looks like the rest of one.
    pub(super) fn is_followed_by_rest(&self, text: &[u8], limits: &Limits) -> bool {
        self.is_holding() && is_rest(text, limits)
    }

    /// Returns true if the server has sent a message on its own since the last one that content may
    /// have ended.
    pub(super) fn has_followed(&self) -> bool {
        self.has_followed
    }
}

/// The quotes and brackets at the end of a message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Closing {
    bytes: [u8; MAX_CLOSING],
    length: usize,
}

impl Closing {
    fn of(text: &[u8]) -> Self {
        let mut closing = Self::default();
        let is_closing = |byte: &&u8| matches!(byte, b'"' | b'}' | b']');
        let bytes = text.iter().rev().filter(|byte| !byte.is_ascii_whitespace());
        let run = bytes.take_while(is_closing);
        for (slot, byte) in closing.bytes.iter_mut().zip(run) {
            *slot = *byte;
            closing.length += 1;
        }
        closing
    }

    /// Returns true if an array ends here.
    fn has_array(self) -> bool {
        self.bytes.iter().take(self.length).any(|byte| *byte == b']')
    }

    /// Returns true if a text ends with these bytes, and if few other texts do.
    fn ends(self, text: &[u8]) -> bool {
        let other = Self::of(text);
        let same = self.bytes.iter().zip(&other.bytes).take_while(|(one, two)| one == two);
        // Many log lines end with two brackets, so two prove nothing.
        self.length > MIN_CLOSING && same.count() >= self.length
    }
}
