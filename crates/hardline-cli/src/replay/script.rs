//! The script of a replay: lines to send and expected answers, from a recording.
//!
//! A [`Script`] has the lines of one session. Each line of the client is a [`Turn`], with the
//! server's lines before it: a line that followed an answer is sent only after that answer. The
//! client's answers to requests of the server are not turns; they are sent when the request
//! arrives.
//!
//! Invariants:
//! - A script holds at most [`MAX_BYTES`] of the recording.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::time::Duration;

use anyhow::{Result, bail};
use hardline_guard::Direction;
use hardline_guard::redact::{REDACTED, redact};
use hardline_proxy::Verdict;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::limits::Limits;
use hardline_wire::message::{Message, Request, cancelled_id};
use memchr::memmem;

use crate::recording::Recorded;

/// Limit on the size of a session in memory.
const MAX_BYTES: usize = 1 << 30;
/// Prefix of the ids of a relay's own requests.
const OWN_ID: &str = "hardline:";
/// Key for errors without an id, which are compared like notifications.
pub(super) const ERROR: &str = "an error without an id";
/// Either side may send a ping at any time; pings are not compared.
pub(super) const PING: &str = "ping";

/// A session to replay.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Lines of the client. The last turn has no line: it waits for the rest of the server's lines.
    pub(super) turns: Vec<Turn>,
    /// The client's requests, in order.
    pub(super) requests: Vec<Asked>,
    /// Indexes of the requests with each id.
    pub(super) by_id: HashMap<Id<'static>, Vec<usize>>,
    /// The server's answers to each id, in order.
    pub(super) answers: HashMap<Id<'static>, Vec<Answer>>,
    /// The server's requests, by method.
    pub(super) calls: HashMap<String, Vec<Call>>,
    /// The server's notifications, by method.
    pub(super) notifications: HashMap<String, Vec<String>>,
    pub(super) lost: Lost,
}

/// A line of the client, and the server's lines that must arrive before it.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) line: Option<Vec<u8>>,
    pub(super) needs: Vec<Need>,
    /// Notifications that came before: method and count.
    pub(super) notifications: Vec<(String, usize)>,
    /// Recorded duration of the slowest answer.
    pub(super) latency: Duration,
}

/// A condition on the server's lines.
#[derive(Clone, Debug)]
pub(super) enum Need {
    /// Number of answers to an id.
    Answer(Id<'static>, usize),
    /// Number of requests of a method.
    Call(String, usize),
}

/// A request of the client.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: Id<'static>,
    pub(super) method: String,
    /// Tool, prompt or resource of the request.
    pub(super) target: Option<String>,
    since: Option<Duration>,
    is_cancelled: bool,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    /// True if the answer may be missing, such as one that crossed the client's cancellation.
    pub(super) is_optional: bool,
}

/// A request of the server.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) text: String,
    pub(super) reply: Reply,
    id: Id<'static>,
}

/// Answer to a request of the server.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// The client's answer: the text before and after its id.
    Given(String, String),
    /// The guard answered it.
    Refused,
    /// No answer.
    Nothing,
}

/// Lines of a recording that are not replayed, or not unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lost {
    /// Lines of the client that the guard kept from the server.
    pub(super) kept_back: u64,
    /// Lines of the client that were cut.
    pub(super) cut: u64,
    /// Lines of the client with a redacted secret.
    pub(super) redacted: u64,
    /// Lines that are missing in the recording.
    pub(super) left_out: u64,
    /// Lines of the server that are not messages.
    pub(super) noise: u64,
}

/// Builds a script from recorded lines.
#[derive(Debug)]
pub(super) struct Writer {
    script: Script,
    /// Next turn.
    turn: Turn,
    decoder: Decoder,
    bytes: usize,
    /// True if progress and log messages are compared.
    is_strict: bool,
    pings: HashSet<Id<'static>>,
}

impl Writer {
    pub(super) fn new(limits: &Limits, is_strict: bool) -> Self {
        Self {
            script: Script::default(),
            turn: Turn::default(),
            decoder: Decoder::new(limits),
            bytes: 0,
            is_strict,
            pings: HashSet::new(),
        }
    }

    /// Adds the next line of the session.
    pub(super) fn take(&mut self, recorded: &Recorded<'_>) -> Result<()> {
        self.bytes += recorded.raw.len();
        if self.bytes > MAX_BYTES {
            bail!(
                "the session is larger than {} MiB, which is too large to replay",
                MAX_BYTES >> 20
            );
        }
        self.script.lost.left_out += recorded.left_out;
        match recorded.direction {
            Direction::ClientToServer => self.take_client(recorded),
            Direction::ServerToClient => self.take_server(recorded),
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Script {
        // The last turn waits for all requests of the server.
        for (method, calls) in self.script.calls.iter().filter(|(method, _)| *method != PING) {
            self.turn.needs.push(Need::Call(method.clone(), calls.len()));
        }
        self.script.turns.push(self.turn);
        self.script
    }

    fn take_client(&mut self, recorded: &Recorded<'_>) {
        let lost = &mut self.script.lost;
        // The server never saw these lines.
        if matches!(recorded.verdict, Some(Verdict::Blocked | Verdict::Answered)) {
            lost.kept_back += 1;
            return;
        }
        if recorded.is_cut {
            // A cut line cannot be sent: the rest is unknown.
            lost.cut += 1;
            return;
        }
        // What the recorder removed makes the replay differ, which the report should explain.
        lost.redacted += u64::from(memmem::find(&recorded.raw, REDACTED.as_bytes()).is_some());
        let mut said: Vec<&str> = Vec::new();
        let mut has_answers = false;
        let Self { decoder, script, turn, pings, .. } = self;
        each_message(decoder, &recorded.raw, |message, value| {
            match message {
                Message::Request(request) => script.ask(&request, recorded.time),
                // The answer may or may not have crossed the cancellation.
                Message::Notification(call) if call.method == "notifications/cancelled" => {
                    if let Some(id) = cancelled_id(call.params, usize::MAX) {
                        script.cancel(&id.into_owned());
                    }
                }
                Message::Notification(_) => {}
                Message::Response(_) | Message::Error(_) => {
                    has_answers = true;
                    if let Some(id) = message.id()
                        // Answers to pings are generated, not replayed.
                        && !pings.remove(&id.clone().into_owned())
                        && let Some(reply) = around_id(value)
                    {
                        turn.needs.extend(script.answer(id, reply));
                    }
                    return;
                }
            }
            said.push(value.text());
        });
        let line = match (has_answers, said.as_slice()) {
            // A batch without its answers, which are sent when their requests arrive.
            (false, _) => recorded.raw.to_vec(),
            (true, []) => return,
            (true, said) => format!("[{}]", said.join(",")).into_bytes(),
        };
        self.turn.line = Some(line);
        self.script.turns.push(mem::take(&mut self.turn));
    }

    fn take_server(&mut self, recorded: &Recorded<'_>) {
        // Redacted again, so that the recording and the live output have the same redactions.
        let raw = redact(&recorded.raw);
        let Self { decoder, script, turn, pings, is_strict, .. } = self;
        let is_message = !recorded.is_cut
            && each_message(decoder, &raw, |message, value| match &message {
                Message::Request(request) if request.method == PING => {
                    pings.insert(request.id.clone().into_owned());
                }
                Message::Request(request) => {
                    let reply = match recorded.verdict {
                        // The guard answered the server in place of the client.
                        Some(Verdict::Answered) => Reply::Refused,
                        _ => Reply::Nothing,
                    };
                    let id = request.id.clone().into_owned();
                    let call = Call { text: value.text().to_owned(), reply, id };
                    script.calls.entry(request.method.to_string()).or_default().push(call);
                }
                Message::Notification(call) => {
                    if counts(&call.method, *is_strict) {
                        turn.notifications.push(script.notice(&call.method, value));
                    }
                }
                Message::Response(_) | Message::Error(_) => match message.id() {
                    None => turn.notifications.push(script.notice(ERROR, value)),
                    Some(id) => script.expect(id, value, recorded.time, turn),
                },
            });
        script.lost.noise += u64::from(!is_message);
    }
}

impl Script {
    fn ask(&mut self, request: &Request<'_>, since: Option<Duration>) {
        let id = request.id.clone().into_owned();
        let target = request.params.and_then(|params| {
            // A resource is named by its URI; tools and prompts have a name.
            let key = if request.method == "resources/read" { "uri" } else { "name" };
            Some(params.get(key)?.as_str()?.into_owned())
        });
        self.by_id.entry(id.clone()).or_default().push(self.requests.len());
        let method = request.method.to_string();
        self.requests.push(Asked { id, method, target, since, is_cancelled: false });
    }

    /// Returns the request that answer number `nth` with an id belongs to.
    pub(super) fn request(&self, id: &Id<'static>, nth: usize) -> Option<usize> {
        let requests = self.by_id.get(id)?;
        // More answers than requests: the extra ones belong to the last request.
        requests.get(nth).or(requests.last()).copied()
    }

    fn cancel(&mut self, id: &Id<'static>) {
        let last = self.by_id.get(id).and_then(|requests| requests.last());
        if let Some(request) = last.and_then(|index| self.requests.get_mut(*index)) {
            request.is_cancelled = true;
        }
    }

    /// Stores the client's answer to a request of the server.
    fn answer(&mut self, id: &Id<'_>, (before, after): (String, String)) -> Option<Need> {
        for (method, calls) in &mut self.calls {
            // Ids may repeat; the first unanswered request gets the answer.
            let waits = |call: &Call| matches!(call.reply, Reply::Nothing) && call.id == *id;
            if let Some(index) = calls.iter().position(waits)
                && let Some(call) = calls.get_mut(index)
            {
                call.reply = Reply::Given(before, after);
                return Some(Need::Call(method.clone(), index + 1));
            }
        }
        None
    }

    /// Stores an answer of the server.
    fn expect(&mut self, id: &Id<'_>, value: Value<'_>, time: Option<Duration>, turn: &mut Turn) {
        let id = id.clone().into_owned();
        let nth = self.answers.get(&id).map_or(0, Vec::len);
        let request = self.request(&id, nth).and_then(|index| self.requests.get(index));
        // An answer to the relay's own request, which the client never sent.
        if request.is_none() && id.as_str().is_some_and(|id| id.starts_with(OWN_ID)) {
            return;
        }
        let asked = self.by_id.get(&id).map_or(0, Vec::len);
        let is_optional = request.is_some_and(|request| {
            // After a restart, the relay repeats `initialize` to the new server.
            request.is_cancelled || (request.method == "initialize" && asked <= nth)
        });
        if !is_optional {
            turn.needs.push(Need::Answer(id.clone(), nth + 1));
        }
        // The replay allows twice the recorded time.
        if let Some((time, since)) = time.zip(request.and_then(|request| request.since)) {
            turn.latency = turn.latency.max(time.saturating_sub(since));
        }
        self.answers
            .entry(id)
            .or_default()
            .push(Answer { text: value.text().to_owned(), is_optional });
    }

    fn notice(&mut self, method: &str, value: Value<'_>) -> (String, usize) {
        let notifications = self.notifications.entry(method.to_owned()).or_default();
        notifications.push(value.text().to_owned());
        (method.to_owned(), notifications.len())
    }
}

/// Returns true if notifications of a method are compared.
pub(super) fn counts(method: &str, is_strict: bool) -> bool {
    // Progress and log messages depend on the time, so they are compared on request only.
    is_strict || !matches!(method, "notifications/progress" | "notifications/message")
}

/// Calls `take` with each message of a line and its JSON value. Returns true if there was a
/// message.
pub(super) fn each_message<'a>(
    decoder: &mut Decoder,
    line: &'a [u8],
    mut take: impl FnMut(Message<'a>, Value<'a>),
) -> bool {
    let mut count = 0;
    match decoder.decode(line) {
        Ok(Frame::Message(message, value)) => {
            take(message, value);
            count += 1;
        }
        Ok(Frame::Batch(batch)) => {
            for element in batch.elements() {
                // An invalid element does not invalidate the other elements of its batch.
                if let Ok((message, value)) = decoder.decode_element(element) {
                    take(message, value);
                    count += 1;
                }
            }
        }
        Err(_) => {}
    }
    count > 0
}

/// Returns the text before and after the id of a message.
fn around_id(value: Value<'_>) -> Option<(String, String)> {
    let id = value.get("id")?;
    // The id of the replay may be another one, so the answer is stored around it.
    let (before, rest) = value.text().split_at_checked(id.offset() - value.offset())?;
    Some((before.to_owned(), rest.get(id.text().len()..)?.to_owned()))
}
