//! The oracles: they watch a session and say which promise was broken.
//!
//! - Liveness: every request of the client that was not cancelled gets exactly one answer, if the
//!   server said anything that could be meant as that answer, or died.
//! - No injection: no reader of the client ever sees a message that a document planted.
//! - One meaning: all readers find the same messages in what is delivered, to either side.
//! - Capability: the server asks the client for nothing that the client did not offer.
//! - Hidden text: no text reaches the client that a model reads and a person does not see.
//! - Round trip: a text that a client reads and writes back is the same again.
//! - Honesty: where neither side does anything wrong, every line arrives as it was sent.

mod capability;
mod echo;
mod limit;
mod request;
mod transcript;

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use hardline_testkit::plant::json_string;
use memchr::memchr;

use crate::document::MARK;
use crate::hidden::find_hidden_in;
use crate::plan::Part;
use crate::reader::{Json, parse, read};
use capability::Offer;
use echo::Echoes;
use limit::{Planted, Relay};
use request::Requests;
use transcript::Transcript;

pub use limit::Limit;

/// Longest delay of an honest message that is no answer, in times of the hold-back. Answers must not be
/// delayed at all.
const MAX_DELAYS: u32 = 10;
/// Longest delay of an honest request, which also waits for the end of a line that has begun.
const MAX_REQUEST_DELAY: Duration = Duration::from_millis(1100);

/// A promise that can be broken.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Fault {
    /// A request got no answer.
    Unanswered,
    /// A request got two answers, or an answer has an id that was never asked.
    Invented,
    /// A reader sees a message that a document planted.
    Injected,
    /// Two readers see different messages.
    TwoMeanings,
    /// The server asked for something that the client did not offer.
    Forbidden,
    /// An honest line did not arrive as it was sent.
    Altered,
    /// Text that people do not see reached the client.
    Hidden,
    /// A text that was read and written back has changed.
    RoundTrip,
    /// Time does not go on.
    Stuck,
}

/// A broken promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The promise.
    pub fault: Fault,
    /// The facts.
    pub detail: String,
    /// The step of the plan at which it broke.
    pub step: usize,
    /// The virtual time at which it broke.
    pub at: Duration,
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, detail, step, at } = self;
        write!(out, "{fault:?} at step {step}, {:.3} s: {detail}", at.as_secs_f64())
    }
}

/// Watches one session.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The step that is being played.
    pub(crate) step: usize,
    is_honest: bool,
    is_strict: bool,
    /// Time for which the relay holds back what a server says on its own after an answer.
    hold_back: Duration,
    has_ended: bool,
    failure: Option<Failure>,
    requests: Requests,
    transcript: Transcript,
    offer: Offer,
    echoes: Echoes,
    /// Requests of the server that the client has seen and not answered, as JSON ids.
    asked: Vec<String>,
    /// Lines of the server that an honest session must deliver, and the times at which they ended.
    expected: Vec<(Vec<u8>, Duration)>,
    /// True if the honest server has ended a line since the last of these.
    has_more: bool,
    /// The answers of an honest server.
    seen: HashSet<Vec<u8>>,
    /// The bytes of an honest server after its last line end.
    unfinished: Vec<u8>,
    /// True if those were delivered before their line end came.
    is_early: bool,
}

impl Judge {
    pub(crate) fn new(is_honest: bool, is_strict: bool, hold_back: Duration) -> Self {
        Self {
            step: 0,
            is_honest,
            is_strict,
            hold_back,
            has_ended: false,
            failure: None,
            requests: Requests::default(),
            transcript: Transcript::default(),
            offer: Offer::default(),
            echoes: Echoes::default(),
            asked: Vec::new(),
            expected: Vec::new(),
            has_more: false,
            seen: HashSet::new(),
            unfinished: Vec::new(),
            is_early: false,
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(crate) fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }

    pub(crate) fn fail(&mut self, fault: Fault, detail: String, at: Duration) {
        let step = self.step;
        self.failure.get_or_insert(Failure { fault, detail, step, at });
    }

    /// Takes a line that the client sends.
    pub(crate) fn handle_client(&mut self, line: &[u8]) {
        self.requests.handle_client(line);
        self.echoes.handle_client(line);
        self.offer.handle_client(line);
    }

    /// Takes the bytes that the server writes, before the relay gets them.
    pub(crate) fn handle_server_bytes(&mut self, output: u32, bytes: &[u8], now: Duration) {
        self.transcript.add(output, bytes, now);
        if self.is_honest {
            self.unfinished.extend_from_slice(bytes);
            while let Some(end) = memchr(b'\n', &self.unfinished) {
                let mut line: Vec<_> = self.unfinished.drain(..=end).collect();
                line.pop();
                self.has_more = true;
                if self.is_early {
                    self.is_early = false;
                } else if self.take_news(&line) {
                    self.has_more = false;
                    self.expected.push((line, now));
                }
            }
        }
    }

    /// Records an honest server's line. Returns true if it is a message that must arrive; log lines and
    /// copies of answers need not.
    fn take_news(&mut self, line: &[u8]) -> bool {
        let Some(messages) = messages_of(line) else { return false };
        let is_copy = messages.iter().any(|it| it.get("method").is_none())
            && !self.seen.insert(line.to_vec());
        messages.iter().any(Json::is_message) && !is_copy
    }

    /// Takes note that the server has now said what it meant as these answers.
    pub(crate) fn handle_meant(&mut self, ids: &[String]) {
        for id in ids {
            self.requests.owe(id, "the server said something that was meant as its answer");
        }
    }

    /// Takes note that the server ended.
    pub(crate) fn handle_server_end(&mut self) {
        // The next server does not go on with the line of this one.
        self.transcript.end_line();
        self.has_ended = true;
        self.requests.handle_server_end();
    }

    /// Takes note that a server was started.
    pub(crate) fn handle_server_start(&mut self) {
        self.requests.handle_server_start();
    }

    /// Returns the client's answers to everything that it was asked.
    pub(crate) fn take_replies(&mut self) -> Vec<Vec<u8>> {
        let ids = std::mem::take(&mut self.asked);
        ids.iter()
            .map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into_bytes())
            .collect()
    }

    /// Returns the line with which the client writes back a part of what it read last.
    pub(crate) fn take_echo(
        &mut self,
        id: &str,
        part: Part,
        has_returns: bool,
        document: &str,
    ) -> Option<Vec<u8>> {
        let text = json_string(&self.echoes.send(id, part, has_returns, document)?);
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write","arguments":{{"path":"/a","text":{text}}}}}}}"#
        );
        Some(line.into_bytes())
    }

    /// Takes a frame that the server gets.
    pub(crate) fn handle_to_server(&mut self, frame: &[u8], now: Duration) {
        let seen = read(frame);
        if let Some(how) = seen.disagreement {
            let detail = format!("to the server: {how}: {}", frame.escape_ascii());
            self.fail(Fault::TwoMeanings, detail, now);
        }
        for message in &seen.messages {
            if let (Some(_), Some(id)) = (message.get("method"), message.get("id")) {
                self.requests.deliver(&id.to_string());
            }
            self.allow_refusal(message);
            if let Some(detail) = self.echoes.handle_to_server(message) {
                self.fail(Fault::RoundTrip, detail, now);
            }
        }
    }

    /// Does not expect a request of an honest server any more that a strict relay has answered with an
    /// error, because the server has said more since.
    fn allow_refusal(&mut self, message: &Json<'_>) {
        let Some(id) = message.get("id").filter(|_| message.get("error").is_some()) else { return };
        let is_request = |line: &[u8]| {
            let messages = messages_of(line).unwrap_or_default();
            messages.iter().any(|it| it.get("method").is_some() && it.get("id") == Some(id))
        };
        let place = self.expected.iter().position(|(line, _)| is_request(line));
        // The relay must not object to the server's last line.
        let is_last = place == Some(self.expected.len().saturating_sub(1)) && !self.has_more;
        if let Some(place) = place.filter(|_| self.is_strict && !is_last) {
            self.expected.remove(place);
        }
    }

    /// Takes a frame that the client gets.
    pub(crate) fn handle_to_client(&mut self, frame: &[u8], is_own: bool, now: Duration) {
        let seen = read(frame);
        for message in &seen.messages {
            self.look_for_mark(message, frame, now);
        }
        if let Some(how) = seen.disagreement {
            let detail = format!("to the client: {how}: {}", frame.escape_ascii());
            self.fail(Fault::TwoMeanings, detail, now);
        }
        for message in &seen.messages {
            self.look_at(message, frame, now);
        }
        if self.is_honest {
            let is_answer = seen.messages.iter().any(|it| it.get("method").is_none());
            self.compare(frame, is_answer, is_own, now);
        }
    }

    /// Judges the end of the session.
    pub(crate) fn finish(&mut self, now: Duration, is_over: bool) {
        if let Some((id, why)) = self.requests.unanswered(is_over) {
            self.fail(Fault::Unanswered, format!("request {id} has no answer: {why}"), now);
        }
        if let Some((line, _)) = self.expected.first().filter(|_| !self.has_ended) {
            let detail = format!("never delivered: {}", line.escape_ascii());
            self.fail(Fault::Altered, detail, now);
        }
    }

    fn look_at(&mut self, message: &Json<'_>, frame: &[u8], now: Duration) {
        self.echoes.handle_to_client(message);
        if let Some(way) = find_hidden_in(message) {
            self.fail(Fault::Hidden, format!("{way}: {}", frame.escape_ascii()), now);
        }
        let id = message.get("id").filter(|it| **it != Json::Null).map(Json::to_string);
        if message.get("method").is_some() {
            if let Some(reason) = self.offer.objection(message) {
                let detail = format!("{reason}: {}", frame.escape_ascii());
                self.fail(Fault::Forbidden, detail, now);
            }
            self.asked.extend(id);
            return;
        }
        if let Some(reason) = self.offer.objection_inside(message) {
            self.fail(Fault::Forbidden, format!("{reason}: {}", frame.escape_ascii()), now);
        }
        if let Some(id) = id
            && let Err(reason) = self.requests.answer(&id)
        {
            let detail = format!("{reason}: {}", frame.escape_ascii());
            self.fail(Fault::Invented, detail, now);
        }
    }

    /// Fails the session if `message` was planted by a document and no documented limit excuses it.
    fn look_for_mark(&mut self, message: &Json<'_>, frame: &[u8], now: Duration) {
        let Some(mark) = planted_mark(message) else { return };
        let kind = match (message.get("method"), message.get("id")) {
            (None, _) => Planted::Answer,
            (Some(_), Some(_)) => Planted::Request,
            (Some(_), None) => Planted::Notification,
        };
        let relay = Relay { is_strict: self.is_strict, hold_back: self.hold_back };
        if limit::excuse(&self.transcript, &mark, kind, relay, now).is_none() {
            let detail = format!("{mark} reached the client: {}", frame.escape_ascii());
            self.fail(Fault::Injected, detail, now);
        }
    }

    fn compare(&mut self, frame: &[u8], is_answer: bool, is_own: bool, now: Duration) {
        if self.has_ended {
            return;
        }
        match self.expected.iter().position(|(line, _)| line == frame) {
            Some(at) => {
                let (_, ended) = self.expected.remove(at);
                let delay = now.saturating_sub(ended);
                let most = match (is_answer, has_request(frame)) {
                    (true, _) => Duration::ZERO,
                    (false, true) => MAX_REQUEST_DELAY,
                    (false, false) => self.hold_back * MAX_DELAYS,
                };
                if delay > most {
                    let detail = format!("{delay:?} late: {}", frame.escape_ascii());
                    self.fail(Fault::Altered, detail, now);
                }
            }
            None if !self.is_early && self.unfinished == frame => self.is_early = true,
            None => {
                let who = if is_own { "of the relay's making" } else { "changed" };
                self.fail(Fault::Altered, format!("{who}: {}", frame.escape_ascii()), now);
            }
        }
    }
}

/// Returns true if a frame has a request.
fn has_request(frame: &[u8]) -> bool {
    let messages = messages_of(frame).unwrap_or_default();
    messages.iter().any(|it| it.get("method").is_some() && it.get("id").is_some())
}

/// Returns the mark of a planted message, if it stands in the message's own envelope: in the method,
/// or as a key of its parameters, its result or its error's data. Text inside an answer is no mark.
fn planted_mark(message: &Json<'_>) -> Option<String> {
    let method = message.get("method").and_then(Json::as_str);
    let data = message.get("error").and_then(|error| error.get("data"));
    let parts = [message.get("params"), message.get("result"), data, Some(message)];
    let keys = parts.into_iter().flatten().flat_map(Json::members).map(|(key, _)| &**key);
    let marked = method.into_iter().chain(keys).find(|it| it.starts_with(MARK))?;
    Some(marked.to_owned())
}

/// Reads the messages of a client's line: the line itself, or the elements of a batch.
fn messages_of(line: &[u8]) -> Option<Vec<Json<'_>>> {
    let (value, quirks) = parse(line)?;
    if !quirks.is_empty() {
        return None;
    }
    Some(match value {
        Json::Array(elements) => elements,
        value => vec![value],
    })
}
