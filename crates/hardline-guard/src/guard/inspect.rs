//! One line of a session: frame, torn messages, session, content.

use std::borrow::Cow;
use std::time::Duration;

use hardline_wire::batch::Batch;
use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Kind};
use hardline_wire::limits::Limits;
use hardline_wire::line::Line;
use hardline_wire::message::Message;
use hardline_wire::recover::Ending;
use memchr::memmem;

use super::content::{self, Subject};
use super::sink::locate;
use super::tools::List;
use super::verdict::{Carries, Verdict};
use super::work::Work;
use super::{Guard, is_fit};
use crate::finding::{Direction, Finding};
use crate::frame::{FrameOutcome, Refused, cut_junk};
use crate::join::Taken;
use crate::rule::{Action, Rule};
use crate::scan::is_plain;
use crate::session::{Fate, Outcome, Reply};

/// Returns true if a line that is no message ends as one does, or names the protocol. Content may have
/// ended it, and written the next one.
fn ends_object(text: &[u8]) -> bool {
    let last = text.trim_ascii_end().last();
    matches!(last, Some(b'}' | b']')) || memmem::find(text, b"jsonrpc").is_some()
}

/// How a message goes on.
#[derive(Debug)]
pub(super) enum Passing {
    AsIs,
    Edited(Vec<u8>),
    /// It does not, or not now; whoever must know was told.
    Gone,
}

impl Guard {
    /// Judges one line of a session, blank ones too, and says what is to be sent to whom.
    ///
    /// Both directions are to be shown, in the order in which lines arrive. `now` is the time since
    /// the session's start. What time brings comes from [`handle_timeout`](Self::handle_timeout) alone,
    /// when nothing is left to read.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use hardline_guard::policy::Policy;
    /// use hardline_guard::{Direction, Guard, Rule};
    /// use hardline_wire::limits::Limits;
    /// use hardline_wire::line::LineFramer;
    ///
    /// let mut guard = Guard::for_server(Policy::default(), "files");
    /// let mut framer = LineFramer::new(&Limits::default());
    /// // An answer to a request that the client never made.
    /// let mut chunk: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n";
    /// let line = framer.next_line(&mut chunk).unwrap();
    /// let verdict = guard.inspect(Direction::ServerToClient, &line, Duration::ZERO);
    /// assert_eq!(verdict.found[0].finding.rule, Rule::SessionUnsolicitedResponse);
    /// assert!(verdict.deliveries.is_empty());
    /// ```
    pub fn inspect<'a>(
        &mut self,
        direction: Direction,
        line: &Line<'a>,
        now: Duration,
    ) -> Verdict<'a> {
        let mut work = self.work(now);
        let is_from_server = direction == Direction::ServerToClient;
        let was_holding = is_from_server && self.joiner.is_holding();
        if was_holding && self.is_held(line, &mut work) {
            return work.finish();
        }
        let judged = self.frames.of(direction).judge(line);
        let is_refused = matches!(judged.outcome, FrameOutcome::Refused(_));
        if is_refused && is_from_server && !was_holding && self.is_held(line, &mut work) {
            return work.finish();
        }
        match judged.outcome {
            FrameOutcome::Blank => {
                self.note(direction, judged.findings, &mut work);
            }
            FrameOutcome::Refused(refused) => {
                self.take_refused(direction, line, judged.findings, refused, &mut work);
            }
            FrameOutcome::Frame(frame) => {
                let action = self.note(direction, judged.findings, &mut work);
                let text = line.whole().unwrap_or_default();
                match frame {
                    // A byte order mark, where the policy goes that far.
                    _ if Action::Block <= action => {
                        let frames = self.frames.of(direction);
                        let reason = "a byte order mark stands before the line";
                        let refused =
                            frames.refuse_for(text, line.ending(), Rule::FrameBom, reason);
                        self.give_up(direction, text, refused, &mut work);
                    }
                    _ if is_from_server && self.holds_back(&frame, text, &mut work) => {}
                    Frame::Message(message, value) => {
                        let subject = Subject { value, text, base: 0, names: 1 };
                        let frame = match self.pass(direction, &message, subject, &mut work) {
                            Passing::AsIs => Cow::Borrowed(text),
                            Passing::Edited(edited) => Cow::Owned(edited),
                            Passing::Gone => return work.finish(),
                        };
                        work.deliver(direction, frame, Carries::Message(message));
                    }
                    Frame::Batch(batch) => {
                        self.take_batch(direction, line, text, batch, &mut work);
                    }
                }
            }
        }
        work.finish()
    }

    /// Shows the joiner a line. Says whether it keeps it.
    fn is_held(&mut self, line: &Line<'_>, work: &mut Work<'_>) -> bool {
        let (was_holding, was_suspect) = (self.joiner.is_holding(), self.joiner.is_suspicious());
        let taken = self.joiner.handle_line(line, work.now, &self.session);
        if taken == Taken::Held && self.joiner.is_suspicious() {
            self.keep_held_answers(line.whole().unwrap_or_default(), work);
        }
        let has_joined = was_holding && !self.joiner.is_holding();
        let is_completed = was_suspect && !self.joiner.is_suspicious();
        if is_completed {
            // They stood between the two halves of a message, so content has written them.
            self.drop_all_held(work);
        }
        if has_joined || is_completed {
            // Content may have ended the message that was put together.
            self.holdback.note_joined(work.now);
        }
        self.take_joined(work);
        taken == Taken::Held
    }

    /// Reports findings about a line. Returns the most that is done about one.
    fn note(&self, direction: Direction, findings: Vec<Finding>, work: &mut Work<'_>) -> Action {
        let actions = self.policy.actions(self.server.as_deref(), None);
        let mut most = Action::Allow;
        for finding in findings {
            let action = actions.action_at(finding.rule, finding.severity, direction);
            if action == Action::Close {
                work.close(finding.rule);
            }
            most = most.max(action);
            work.sink.add(finding.rule, action, || finding);
        }
        most
    }

    /// Takes a line that is no message.
    fn take_refused<'a>(
        &mut self,
        direction: Direction,
        line: &Line<'a>,
        findings: Vec<Finding>,
        mut refused: Refused,
        work: &mut Work<'a>,
    ) {
        let is_from_server = direction == Direction::ServerToClient;
        if is_from_server && self.take_prefixed(line, work) {
            return;
        }
        // A flood of such lines must not become a flood of findings.
        let is_news = !is_from_server || self.session.handle_invalid(work.now);
        let listed = work.sink.found.len();
        let action = self.note(direction, findings, work);
        if !is_news {
            work.sink.unlisted += work.sink.found.len() - listed;
            work.sink.found.truncate(listed);
        }
        let text = line.whole();
        match (action, text) {
            // Whoever denies a tool does not want it called by a line that we cannot read.
            (Action::Allow | Action::Log, Some(text)) if !self.has_tool_filter() => {
                work.deliver(direction, Cow::Borrowed(text), Carries::Unchecked);
                return;
            }
            (Action::Sanitize, Some(text)) => {
                if let Some(mended) = refused.mended.take()
                    && is_fit(&mended, text, &self.limits)
                {
                    self.take_text(direction, mended, work);
                    return;
                }
            }
            _ => {}
        }
        if is_from_server && refused.rule == Rule::FrameNoise {
            work.noise = text;
        }
        if refused.rule == Rule::FrameNotJsonrpc && refused.responses.is_empty() {
            let meant = text.and_then(|text| meant_id(text, &self.limits));
            refused.responses.extend(meant);
        }
        if is_from_server && refused.rule == Rule::FrameNoise {
            if self.holdback.has_pretty() {
                self.drop_all_held(work);
            }
            self.read_behind_junk(text.unwrap_or_default(), &mut refused);
        }
        if is_from_server {
            self.look_for_rest(text, work);
            refused.is_torn |= text.is_some_and(|text| self.is_torn_behind_decoration(text));
            let may_be_message = refused.rule != Rule::FrameNoise || text.is_some_and(ends_object);
            if may_be_message && !refused.is_torn {
                // Content may have ended a message that is refused as it may end any other.
                self.holdback.note_message(true, text.unwrap_or_default(), work.now);
            }
        }
        self.give_up(direction, text.unwrap_or_default(), refused, work);
    }

    /// Gives up on a broken line, or on a broken element of a batch. The requests that it answers fail
    /// now or in the end, and the server is suspect if content may have broken it.
    pub(super) fn give_up(
        &mut self,
        direction: Direction,
        text: &[u8],
        refused: Refused,
        work: &mut Work<'_>,
    ) {
        let is_from_server = direction == Direction::ServerToClient;
        let was_suspect = self.joiner.is_suspicious();
        if is_from_server && refused.is_torn {
            self.joiner.suspect(work.now);
            self.keep_held_answers(text, work);
            self.holdback.note_torn(work.now);
        }
        let is_noise = refused.rule == Rule::FrameNoise && refused.responses.is_empty();
        let may_answer = refused.may_answer && !is_noise;
        let has_more = refused.has_more_answers;
        let has_failed = self.refuse(direction, refused, work);
        if is_from_server {
            let may_answer = may_answer && (!has_failed || has_more);
            self.doubt_answers(text, may_answer, usize::from(has_failed), work.now);
            self.doubt_unclear(text, is_noise, was_suspect, work.now);
        }
    }

    /// Names the requests that a broken message behind padding or a progress bar answers.
    fn read_behind_junk(&mut self, text: &[u8], refused: &mut Refused) {
        let Some(message) = cut_junk(text).filter(|it| it.len() < text.len()) else { return };
        let judged = self.frames.from_server.judge_text(message, Ending::Whole);
        if let FrameOutcome::Refused(inner) = judged.outcome {
            refused.responses = inner.responses;
            refused.may_answer = inner.may_answer;
        }
    }

    /// Takes several messages on one line: each is judged on its own.
    pub(super) fn take_batch<'a>(
        &mut self,
        direction: Direction,
        line: &Line<'a>,
        text: &'a [u8],
        batch: Batch<'a>,
        work: &mut Work<'a>,
    ) {
        if !self.session.has_batches() {
            let (finding, refused) = self.frames.of(direction).refuse_batch(text, line.ending());
            self.take_refused(direction, line, vec![finding], refused, work);
            return;
        }
        let is_doubtful =
            direction == Direction::ServerToClient && self.has_misplaced_element(&batch);
        if is_doubtful {
            // Content may have ended one element and written others.
            self.joiner.suspect(work.now);
            self.doubt_batch(&batch, work);
        }
        let mut parts: Vec<Cow<'a, [u8]>> = Vec::with_capacity(batch.len());
        let mut messages = Vec::with_capacity(batch.len());
        for element in batch.elements() {
            let judged = self.frames.of(direction).judge_element(element);
            let action = self.note(direction, judged.findings, work);
            match judged.outcome {
                FrameOutcome::Frame(Frame::Message(message, value)) => {
                    let subject =
                        Subject { value, text: element.text, base: element.offset, names: 1 };
                    if is_doubtful && message.id().is_some() {
                        continue;
                    }
                    match self.pass(direction, &message, subject, work) {
                        Passing::AsIs => parts.push(Cow::Borrowed(element.text)),
                        Passing::Edited(edited) => parts.push(Cow::Owned(edited)),
                        Passing::Gone => continue,
                    }
                    messages.push(message);
                }
                FrameOutcome::Refused(_)
                    if action < Action::Sanitize && !self.has_tool_filter() =>
                {
                    parts.push(Cow::Borrowed(element.text));
                }
                FrameOutcome::Refused(refused) => {
                    self.give_up(direction, element.text, refused, work);
                }
                FrameOutcome::Blank | FrameOutcome::Frame(Frame::Batch(_)) => {}
            }
        }
        let is_whole =
            parts.len() == batch.len() && parts.iter().all(|part| matches!(part, Cow::Borrowed(_)));
        let frame = match parts.is_empty() {
            _ if is_whole => Cow::Borrowed(text),
            true => return,
            false => Cow::Owned([b"[".as_slice(), &parts.join(&b','), b"]"].concat()),
        };
        work.deliver(direction, frame, Carries::Batch(messages));
    }

    /// Judges one message: first by what the session allows, then by what is in it.
    pub(super) fn pass(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> Passing {
        if direction == Direction::ServerToClient && self.is_suspect(message) {
            self.drop_suspect(message, subject.text, work);
            return Passing::Gone;
        }
        if direction == Direction::ServerToClient
            && (self.fail_second_answer(message, work)
                || self.drop_misshapen(message, &subject, work))
        {
            return Passing::Gone;
        }
        let actions = self.policy.actions(self.server.as_deref(), None);
        let decide = |rule| actions.action(rule, direction);
        let mut outcome = self.session.handle(direction, message, work.now, &decide);
        if direction == Direction::ServerToClient && outcome.is_misplaced_answer() {
            // Content may have ended the proper answer and written this one.
            self.joiner.suspect(work.now);
        }
        self.note_session(direction, &mut outcome, subject, work);
        self.release(outcome.before.take(), work);
        if let Some(key) = &outcome.forget {
            self.forget(key);
        }
        self.settle_joiner(direction, message, &outcome);
        let passing = match outcome.fate {
            Fate::Pass => self.pass_content(direction, message, &outcome, subject, work),
            Fate::Coalesce(ref key) => {
                match self.pass_content(direction, message, &outcome, subject, work) {
                    Passing::AsIs => self.keep(key.clone(), subject.text.to_vec()),
                    Passing::Edited(edited) => self.keep(key.clone(), edited),
                    Passing::Gone => {}
                }
                Passing::Gone
            }
            Fate::Drop => Passing::Gone,
            Fate::Answer(reply) => {
                work.reply(direction.opposite(), reply);
                Passing::Gone
            }
            Fate::Fail(reply) => {
                work.reply(direction, reply);
                Passing::Gone
            }
        };
        work.answered = outcome.asked;
        passing
    }

    /// Judges the strings of a message that the session lets pass.
    fn pass_content(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        outcome: &Outcome,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> Passing {
        if direction == Direction::ClientToServer {
            if self.is_refused_call(message, work) {
                return Passing::Gone;
            }
            if let Message::Request(request) = message {
                self.meet_client(request);
            }
        }
        let asked = outcome.asked.as_ref();
        let rule = match List::of(message, asked) {
            // Some clients would read the other one.
            _ if self.judges_tools() && List::has_twin(message, asked) => Rule::FrameAmbiguousKey,
            Some(list) if self.judges_tools() || !is_plain(subject.text, 1) => {
                match self.pass_list(&list, asked, subject, work) {
                    Ok(passing) => return passing,
                    Err(rule) => rule,
                }
            }
            _ if let Some(result) = self.opening_result(message, asked) => {
                match self.pass_opening(result, subject, work) {
                    Ok(passing) => return passing,
                    Err(rule) => rule,
                }
            }
            _ => {
                let tool = outcome.tool(message);
                let actions = self.policy.actions(self.server.as_deref(), tool.as_deref());
                match self.strings.judge(subject, direction, actions, &mut work.sink) {
                    content::Verdict::Clean => return Passing::AsIs,
                    content::Verdict::Edited(edited) => return Passing::Edited(edited),
                    content::Verdict::Blocked => work.sink.rule.unwrap_or(Rule::ContentFrame),
                }
            }
        };
        if work.sink.action == Action::Close {
            work.close(rule);
        }
        let reply = |id: &Id<'_>, what: &str| {
            let reason = format!("{what} was blocked: {}", rule.title());
            Reply::new(id.clone().into_owned(), rule, reason)
        };
        match message {
            Message::Request(request) => {
                self.session.settle(direction, &request.id);
                work.reply(direction.opposite(), reply(&request.id, "the request"));
            }
            Message::Response(_) | Message::Error(_) => {
                if let Some(id) = message.id().filter(|_| outcome.asked.is_some()) {
                    work.reply(direction, reply(id, "the answer"));
                }
            }
            Message::Notification(_) => {}
        }
        Passing::Gone
    }

    /// Reports what the session found, and counts what it kept back.
    fn note_session(
        &mut self,
        direction: Direction,
        outcome: &mut Outcome,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) {
        if outcome.findings.is_empty() {
            return;
        }
        let actions = self.policy.actions(self.server.as_deref(), None);
        let passes = outcome.fate == Fate::Pass;
        let mut blocked = None;
        for mut finding in outcome.findings.drain(..) {
            locate(&mut finding, subject.value, subject.base);
            let rule = finding.rule;
            let mut action = actions.action_at(rule, finding.severity, direction);
            if passes {
                action = action.min(Action::Log);
            } else if action == Action::Close {
                work.close(rule);
            }
            if Action::Block <= action && rule != Rule::SessionBurst {
                blocked.get_or_insert(rule);
            }
            work.sink.add(rule, action, || finding);
        }
        if let Some(rule) = blocked.filter(|_| direction == Direction::ServerToClient) {
            self.blocked = self.blocked.saturating_add(1);
            let close_after = self.policy.settings(self.server.as_deref()).close_after();
            if close_after.is_some_and(|most| most <= self.blocked) {
                work.close(rule);
            }
        }
    }

    /// Tells the joiner that a request of the client waits no longer.
    fn settle_joiner(&mut self, direction: Direction, message: &Message<'_>, outcome: &Outcome) {
        match (direction, message) {
            (Direction::ServerToClient, Message::Response(_) | Message::Error(_)) => {
                if outcome.asked.is_some()
                    && let Some(id) = message.id()
                {
                    self.joiner.settle(id);
                }
            }
            (Direction::ClientToServer, Message::Notification(call))
                if call.method == "notifications/cancelled" =>
            {
                let id = call.params.and_then(|params| params.get("requestId"));
                if let Some(Ok(id)) = id.map(|id| Id::read(id, self.limits.max_id_bytes())) {
                    self.joiner.settle(&id);
                }
            }
            _ => {}
        }
    }
}

/// The id that an answer means whose id is the right number, written as no id may be: `7.0` for `7`.
fn meant_id(text: &[u8], limits: &Limits) -> Option<Id<'static>> {
    let checked = Checker::new(limits).check(text).ok()?;
    let has = |key| checked.value.get(key).is_some();
    let is_answer = !has("method") && (has("result") || has("error"));
    let id = checked.value.get("id").filter(|id| is_answer && id.kind() == Kind::Number)?;
    let number: f64 = id.text().parse().ok()?;
    // Beyond this, different numbers read the same.
    let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole, and not large")]
    is_whole.then(|| Id::from_integer(number as i64))
}

impl Outcome {
    /// Returns true if the session found an answer that belongs to no pending request.
    fn is_misplaced_answer(&self) -> bool {
        self.findings.iter().any(|finding| {
            matches!(
                finding.rule,
                Rule::SessionUnsolicitedResponse
                    | Rule::SessionDuplicateResponse
                    | Rule::SessionIdType
            )
        })
    }

    /// The tool that a message is about: the one called, or the one that answers.
    fn tool<'a>(&'a self, message: &Message<'a>) -> Option<Cow<'a, str>> {
        if let Some(asked) = &self.asked {
            return asked.tool.as_deref().map(Cow::Borrowed);
        }
        match message {
            Message::Request(request) if request.method == "tools/call" => {
                request.params?.get("name")?.as_str()
            }
            _ => None,
        }
    }
}
