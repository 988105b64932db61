//! Replays a script: decides when to send the next line, and compares the answers.
//!
//! Without I/O: the caller passes the server's lines and the time.
//!
//! Invariants:
//! - A line is sent only after everything before it in the recording has arrived or its deadline
//!   has passed.
//! - Every request of the server gets an answer if it got one in the recording, or is not in it.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use hardline_guard::redact::redact;
use hardline_wire::encode::{ReplyTo, code, error};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::frame::Decoder;
use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Value};
use hardline_wire::limits::Limits;
use hardline_wire::line::Line;
use hardline_wire::message::{Message, Request};

use super::diff;
use super::notification::Notifications;
use super::path::Pattern;
use super::report::{About, Kind, Report};
use super::script::{ERROR, Need, PING, Reply, Script, counts, each_message};

/// Default time limit for an answer; longer if it took long in the recording.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time limit for a notification after all answers before it.
const NOTICE_PATIENCE: Duration = Duration::from_secs(2);
/// Limit on a shown line that is not a message, in bytes.
const MAX_SHOWN: usize = 100;

/// Settings of a replay.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// Paths that may differ.
    pub(super) ignore: Vec<Pattern>,
    /// True if progress and log messages are compared.
    pub(super) is_strict: bool,
    /// Time limit for an answer.
    pub(super) timeout: Option<Duration>,
}

/// State of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// The recording has no answer to it.
    Unanswered,
    Waiting,
    Same,
    Differs,
}

pub(super) struct Player<'a> {
    script: &'a Script,
    settings: &'a Settings,
    decoder: Decoder,
    checker: Checker,
    /// Index of the next turn, and the number of its needs and notifications that are met.
    turn: usize,
    met: usize,
    noticed: usize,
    /// Time of the last sent line, and of the last received one.
    since: Duration,
    heard: Duration,
    /// Replies to send before the next turn.
    replies: VecDeque<Vec<u8>>,
    /// Number of answers to each id.
    answers: HashMap<Id<'static>, usize>,
    /// Requests of the server by method; true for those that have arrived.
    calls: HashMap<&'a str, Vec<bool>>,
    notifications: Notifications<'a>,
    states: Vec<State>,
    /// Requests without an answer in the recording that have one now.
    answered_now: usize,
    noise: u64,
    last_noise: String,
    report: Report,
}

impl<'a> Player<'a> {
    pub(super) fn new(script: &'a Script, settings: &'a Settings, limits: &Limits) -> Self {
        // Requests with a recorded answer switch to waiting below.
        let mut states = vec![State::Unanswered; script.requests.len()];
        for (id, answers) in &script.answers {
            for nth in 0..answers.len() {
                let state = script.request(id, nth).and_then(|index| states.get_mut(index));
                state.into_iter().for_each(|state| *state = State::Waiting);
            }
        }
        let calls = script.calls.iter();
        Self {
            decoder: Decoder::new(limits),
            checker: Checker::new(limits),
            turn: 0,
            met: 0,
            noticed: 0,
            since: Duration::ZERO,
            heard: Duration::ZERO,
            replies: VecDeque::new(),
            answers: HashMap::new(),
            calls: calls.map(|(method, calls)| (&**method, vec![false; calls.len()])).collect(),
            notifications: Notifications::new(script, limits),
            states,
            answered_now: 0,
            noise: 0,
            last_noise: String::new(),
            report: Report::default(),
            script,
            settings,
        }
    }

    /// Returns the next line to send, if it is time for one.
    pub(super) fn poll_send(&mut self, now: Duration) -> Option<Cow<'a, [u8]>> {
        // The server may be blocked on these, so they go before the next turn.
        if let Some(reply) = self.replies.pop_front() {
            return Some(Cow::Owned(reply));
        }
        let script = self.script;
        let turn = script.turns.get(self.turn)?;
        self.look();
        if self.met < turn.needs.len() || self.noticed < turn.notifications.len() {
            return None;
        }
        (self.turn, self.met, self.noticed) = (self.turn + 1, 0, 0);
        // Deadlines count from the line that is sent now.
        (self.since, self.heard) = (now, now);
        turn.line.as_deref().map(Cow::Borrowed)
    }

    /// Returns true if everything was sent, and every expected line has arrived or timed out.
    pub(super) fn is_done(&self) -> bool {
        self.script.turns.len() <= self.turn && self.replies.is_empty()
    }

    /// Returns the time until which the player waits for the server.
    pub(super) fn poll_timeout(&self) -> Option<Duration> {
        let turn = self.script.turns.get(self.turn)?;
        // All answers are there; notifications get a shorter deadline.
        if turn.needs.len() <= self.met {
            let patience = self.settings.timeout.unwrap_or(NOTICE_PATIENCE).min(NOTICE_PATIENCE);
            return Some(self.heard + patience);
        }
        let patience = self.settings.timeout.unwrap_or_else(|| PATIENCE.max(turn.latency * 2));
        Some(self.since + patience)
    }

    /// Returns the time limit for a server that does not read.
    pub(super) fn patience(&self) -> Duration {
        self.settings.timeout.unwrap_or(PATIENCE)
    }

    /// Skips everything that has not arrived by its deadline.
    pub(super) fn handle_timeout(&mut self, now: Duration) {
        if self.poll_timeout().is_none_or(|then| now < then) {
            return;
        }
        if let Some(turn) = self.script.turns.get(self.turn) {
            // The missing lines are reported at the end.
            (self.met, self.noticed) = (turn.needs.len(), turn.notifications.len());
        }
    }

    /// Handles a line of the server.
    pub(super) fn handle_line(&mut self, line: &Line<'_>, now: Duration) {
        // A server that sends on is not silent, so the deadline for notifications moves.
        self.heard = now;
        if line.is_blank() {
            return;
        }
        // The recording is redacted, so the comparison needs the same redaction.
        let text = redact(line.whole().unwrap_or_default());
        // Collected first, because the decoder is borrowed while it decodes.
        let mut messages = Vec::new();
        each_message(&mut self.decoder, &text, |message, value| messages.push((message, value)));
        for (message, value) in &messages {
            self.take(message, *value);
        }
        if messages.is_empty() {
            self.noise += 1;
            self.last_noise = match line.whole() {
                Some(_) => Excerpt::new(&text, MAX_SHOWN).to_string(),
                None => "a line that is too long".to_owned(),
            };
        }
    }

    /// Ends the replay. `end` describes how the server ended, if it ended too early.
    pub(super) fn finish(mut self, end: Option<&str>) -> Report {
        if let Some(end) = end {
            self.report.push(About::server(), Kind::ServerEnded, format!("the server {end}"));
        }
        // Without an end of the server, only the deadline was missed.
        let why = match end {
            Some(_) => "no answer before the server ended",
            None => "no answer in time",
        };
        for (id, answers) in &self.script.answers {
            let came = self.answers.get(id).copied().unwrap_or(0);
            for (nth, answer) in answers.iter().enumerate().skip(came) {
                let request = self.script.request(id, nth);
                // It crossed a cancellation, so its absence is no difference.
                if answer.is_optional {
                    self.settle(request, true);
                    continue;
                }
                self.settle(request, false);
                self.report.push(self.about(request, id), Kind::NoAnswer, why);
            }
        }
        for (method, came) in &self.calls {
            for _ in came.iter().filter(|came| !**came) {
                self.report.push(About::method(method), Kind::NoRequest, "");
            }
        }
        self.notifications.finish(&self.settings.ignore, &mut self.report);
        self.conclude()
    }

    fn conclude(mut self) -> Report {
        let count = |wanted: State| self.states.iter().filter(|state| **state == wanted).count();
        let report = &mut self.report;
        report.requests = self.states.len();
        report.same = count(State::Same);
        report.differing = count(State::Differs);
        report.unanswered = count(State::Unanswered);
        if self.answered_now > 0 {
            let count = self.answered_now;
            report.notes.push(format!(
                "{count} of the requests without an answer in the recording got one now"
            ));
        }
        if self.script.lost.noise < self.noise {
            report.notes.push(format!(
                "the server wrote {} lines that are not messages ({} in the recording), the last: {}",
                self.noise, self.script.lost.noise, self.last_noise
            ));
        }
        report.sort();
        self.report
    }

    /// Counts the needs of the turn that are met by now.
    fn look(&mut self) {
        let Some(turn) = self.script.turns.get(self.turn) else { return };
        // Needs are met in order; the first missing one blocks the turn.
        let came = |need: &Need| match need {
            Need::Answer(id, count) => self.answers.get(id).is_some_and(|came| *count <= *came),
            Need::Call(method, count) => {
                let came = self.calls.get(&**method);
                came.is_some_and(|came| *count <= came.iter().filter(|came| **came).count())
            }
        };
        self.met += turn.needs.iter().skip(self.met).take_while(|need| came(need)).count();
        let notifications = turn.notifications.iter().skip(self.noticed);
        self.noticed += notifications
            .take_while(|(method, count)| *count <= self.notifications.came(method))
            .count();
    }

    fn take(&mut self, message: &Message<'_>, value: Value<'_>) {
        match message {
            Message::Response(_) | Message::Error(_) => match message.id() {
                Some(id) => self.take_answer(&id.clone().into_owned(), value),
                // An error without an id belongs to no request, so it is compared like a
                // notification.
                None => self.notifications.take(ERROR, value, &self.settings.ignore),
            },
            Message::Notification(call) => {
                if counts(&call.method, self.settings.is_strict) {
                    self.notifications.take(&call.method, value, &self.settings.ignore);
                }
            }
            Message::Request(request) => self.take_request(request, value),
        }
    }

    fn take_answer(&mut self, id: &Id<'static>, value: Value<'_>) {
        let came = self.answers.entry(id.clone()).or_default();
        let nth = *came;
        *came += 1;
        let request = self.script.request(id, nth);
        let recorded = self.script.answers.get(id).and_then(|answers| answers.get(nth));
        let Some(recorded) = recorded.and_then(|it| self.checker.check(it.text.as_bytes()).ok())
        else {
            let state = request.and_then(|index| self.states.get(index));
            if state == Some(&State::Unanswered) && !self.script.answers.contains_key(id) {
                // The recording has no answer either, so this is news and no difference.
                self.answered_now += usize::from(nth == 0);
                return;
            }
            self.settle(request, false);
            let detail =
                if request.is_some() { "a second answer" } else { "to an unknown request" };
            self.report.push(self.about(request, id), Kind::ExtraAnswer, detail);
            return;
        };
        let room = self.report.room() + 1;
        let changes = diff::changes(recorded.value, value, &self.settings.ignore, room);
        self.settle(request, changes.is_empty());
        self.report.push_changes(&self.about(request, id), changes);
    }

    fn take_request(&mut self, request: &Request<'_>, value: Value<'_>) {
        let id = &request.id;
        // Pings are answered at once and never compared.
        if request.method == PING {
            self.reply(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
            return;
        }
        let ignore = &self.settings.ignore;
        let known = self.script.calls.get_key_value(&*request.method);
        let came = known.and_then(|(method, _)| self.calls.get_mut(&**method));
        // Each recorded request matches at most one request of the replay.
        let free = came.as_deref().into_iter().flatten().enumerate();
        let free: Vec<usize> = free.filter(|(_, came)| !**came).map(|(index, _)| index).collect();
        let calls = known.map(|(_, calls)| calls.as_slice()).unwrap_or_default();
        let same = free.iter().copied().find(|index| {
            let call = calls.get(*index);
            let recorded = call.and_then(|call| self.checker.check(call.text.as_bytes()).ok());
            recorded.is_some_and(|recorded| diff::is_same(recorded.value, value, ignore))
        });
        let about = About::method(&request.method);
        // Without an equal request, the first free one of the method is taken as changed.
        let chosen = same.or(free.first().copied());
        let Some((index, call)) = chosen.and_then(|index| Some((index, calls.get(index)?))) else {
            // A server that waits for an answer would hang, so it gets an error.
            self.report.push(about, Kind::ExtraRequest, "");
            let to = ReplyTo::Id(id);
            self.reply(error(to, code::METHOD_NOT_FOUND, "not in the recording", None));
            return;
        };
        came.and_then(|came| came.get_mut(index)).into_iter().for_each(|came| *came = true);
        // An equal request has no changes to report.
        if same.is_none()
            && let Ok(recorded) = self.checker.check(call.text.as_bytes())
        {
            let room = self.report.room() + 1;
            self.report.push_changes(&about, diff::changes(recorded.value, value, ignore, room));
        }
        match &call.reply {
            Reply::Given(before, after) => self.reply(format!("{before}{id}{after}")),
            Reply::Refused => {
                let to = ReplyTo::Id(id);
                let reason = "refused by the guard when it was recorded";
                self.reply(error(to, code::INTERNAL_ERROR, reason, None));
            }
            Reply::Nothing => {}
        }
    }

    /// Queues a line; the driver adds the line end.
    fn reply(&mut self, line: String) {
        self.replies.push_back(line.trim_end().as_bytes().to_vec());
    }

    fn settle(&mut self, request: Option<usize>, is_same: bool) {
        let Some(state) = request.and_then(|index| self.states.get_mut(index)) else { return };
        // A request with two answers differs if one of them does.
        *state = match (*state, is_same) {
            (State::Differs, _) | (_, false) => State::Differs,
            (_, true) => State::Same,
        };
    }

    fn about(&self, request: Option<usize>, id: &Id<'static>) -> About {
        let Some((order, asked)) =
            request.and_then(|index| Some((index, self.script.requests.get(index)?)))
        else {
            return About::stray(id);
        };
        let (method, target) = (Some(asked.method.clone()), asked.target.clone());
        About { order, id: Some(asked.id.to_string()), method, target }
    }
}
