//! Inspects one line of a session: frame, torn messages, session rules, content.

use std::borrow::Cow;
use std::time::Duration;

use hardline_wire::batch::Batch;
use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::line::Line;
use hardline_wire::message::{Message, cancelled_id};
use hardline_wire::mistyped::integer_meant;
use hardline_wire::recover::Ending;
use memchr::memmem;

use super::content::{ContentVerdict, Subject};
use super::inspection::{Carries, Inspection};
use super::sink::locate;
use super::tools::List;
use super::work::Work;
use super::{Guard, is_fit};
use crate::finding::{Direction, Finding};
use crate::frame::{FrameVerdict, Refused, cut_junk};
use crate::join::Taken;
use crate::rule::{Action, Rule};
use crate::scan::is_plain;
use crate::session::{Outcome, Reply, SessionVerdict};

/// Decision about a message after all checks.
#[derive(Debug)]
pub(super) enum MessageVerdict {
    /// It passes unchanged.
    Unchanged,
    /// This text passes in its place.
    Edited(Vec<u8>),
    /// Dropped or held back; replies for the affected requests were already queued.
    Stopped,
}

impl Guard {
    /// Inspects one line of a session, and returns the frames to send in each direction.
    ///
    /// Pass the lines of both directions, blank ones too, in the order of their arrival. `now` is the
    /// time since the session's start. Timeouts are handled by
    /// [`handle_timeout`](Self::handle_timeout) alone, when nothing is left to read.
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
    /// let inspection = guard.inspect(Direction::ServerToClient, &line, Duration::ZERO);
    /// assert_eq!(inspection.found[0].finding.rule, Rule::SessionUnsolicitedResponse);
    /// assert!(inspection.deliveries.is_empty());
    /// ```
    pub fn inspect<'a>(
        &mut self,
        direction: Direction,
        line: &Line<'a>,
        now: Duration,
    ) -> Inspection<'a> {
        let mut work = self.work(now);
        let is_from_server = direction == Direction::ServerToClient;
        let was_holding = is_from_server && self.joiner.is_holding();
        if was_holding && self.hand_to_joiner(line, &mut work) {
            return work.finish();
        }
        let judged = self.frames.of(direction).judge(line);
        let is_refused = matches!(judged.verdict, FrameVerdict::Refused(_));
        if is_refused && is_from_server && !was_holding && self.hand_to_joiner(line, &mut work) {
            return work.finish();
        }
        match judged.verdict {
            FrameVerdict::Blank => {
                self.note(direction, judged.findings, &mut work);
            }
            FrameVerdict::Refused(refused) => {
                self.take_refused(direction, line, judged.findings, refused, &mut work);
            }
            FrameVerdict::Frame(frame) => {
                let action = self.note(direction, judged.findings, &mut work);
                let text = line.whole().unwrap_or_default();
                match frame {
                    // A byte order mark, where the policy goes that far.
                    _ if action >= Action::Block => {
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
                            MessageVerdict::Unchanged => Cow::Borrowed(text),
                            MessageVerdict::Edited(edited) => Cow::Owned(edited),
                            MessageVerdict::Stopped => return work.finish(),
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

    /// Passes a line to the joiner. Returns true if the joiner holds it.
    fn hand_to_joiner(&mut self, line: &Line<'_>, work: &mut Work<'_>) -> bool {
        let (was_holding, was_suspect) = (self.joiner.is_holding(), self.joiner.is_suspicious());
        let taken = self.joiner.handle_line(line, work.now, &self.session);
        if taken == Taken::Held && self.joiner.is_suspicious() {
            self.keep_held_answers(line.whole().unwrap_or_default(), work);
        }
        let has_joined = was_holding && !self.joiner.is_holding();
        let is_completed = was_suspect && !self.joiner.is_suspicious();
        if is_completed {
            // These messages stood between the two halves of a message, so content wrote them.
            self.drop_all_held(work);
        }
        if has_joined || is_completed {
            // Content may have ended the joined message.
            self.holdback.note_joined(work.now);
        }
        self.take_joined(work);
        taken == Taken::Held
    }

    /// Reports findings about a line. Returns the most severe action.
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

    /// Handles a line that is no valid message.
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
            // A line that the guard cannot read might call a denied tool.
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
            let meant = text.and_then(|text| Some(integer_meant(text, &self.limits)?.0));
            refused.responses.extend(meant);
        }
        if is_from_server && refused.rule == Rule::FrameNoise {
            if self.holdback.has_pretty() {
                self.drop_all_held(work);
            }
            self.read_behind_junk(text.unwrap_or_default(), &mut refused);
        }
        if is_from_server {
            self.note_broken_line(text, &mut refused, work);
        }
        self.give_up(direction, text.unwrap_or_default(), refused, work);
    }

    /// Records that a broken line of the server may have ended, begun or continued a message.
    fn note_broken_line(
        &mut self,
        text: Option<&[u8]>,
        refused: &mut Refused,
        work: &mut Work<'_>,
    ) {
        self.look_for_rest(text, work);
        refused.is_torn |= text.is_some_and(|text| self.is_torn_behind_decoration(text));
        let may_be_message = refused.rule != Rule::FrameNoise
            || text.is_some_and(|text| memmem::find(text, b"jsonrpc").is_some());
        if may_be_message && !refused.is_torn {
            // Content may have ended a refused message too.
            self.holdback.note_message(true, text.unwrap_or_default(), work.now);
        }
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
        if let FrameVerdict::Refused(inner) = judged.verdict {
            refused.responses = inner.responses;
            refused.may_answer = inner.may_answer;
        }
    }

    /// Handles a batch: each element is judged alone.
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
            direction == Direction::ServerToClient && self.find_misplaced_element(&batch);
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
            match judged.verdict {
                FrameVerdict::Frame(Frame::Message(message, value)) => {
                    let subject =
                        Subject { value, text: element.text, base: element.offset, names: 1 };
                    if is_doubtful && message.id().is_some() {
                        continue;
                    }
                    match self.pass(direction, &message, subject, work) {
                        MessageVerdict::Unchanged => parts.push(Cow::Borrowed(element.text)),
                        MessageVerdict::Edited(edited) => parts.push(Cow::Owned(edited)),
                        MessageVerdict::Stopped => continue,
                    }
                    messages.push(message);
                }
                FrameVerdict::Refused(_)
                    if action < Action::Sanitize && !self.has_tool_filter() =>
                {
                    parts.push(Cow::Borrowed(element.text));
                }
                FrameVerdict::Refused(refused) => {
                    self.give_up(direction, element.text, refused, work);
                }
                FrameVerdict::Blank | FrameVerdict::Frame(Frame::Batch(_)) => {}
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

    /// Judges one message: first against the session, then its content.
    pub(super) fn pass(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> MessageVerdict {
        if direction == Direction::ServerToClient && self.is_suspect(message) {
            self.drop_suspect(message, subject.text, work);
            return MessageVerdict::Stopped;
        }
        if direction == Direction::ServerToClient && self.fail_second_answer(message, work) {
            return MessageVerdict::Stopped;
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
        let passing = match outcome.verdict {
            SessionVerdict::Pass => self.pass_content(direction, message, &outcome, subject, work),
            SessionVerdict::Coalesce(ref key) => {
                match self.pass_content(direction, message, &outcome, subject, work) {
                    MessageVerdict::Unchanged => self.keep(key.clone(), subject.text.to_vec()),
                    MessageVerdict::Edited(edited) => self.keep(key.clone(), edited),
                    MessageVerdict::Stopped => {}
                }
                MessageVerdict::Stopped
            }
            SessionVerdict::Drop => MessageVerdict::Stopped,
            SessionVerdict::Answer(reply) => {
                work.reply(direction.opposite(), reply);
                MessageVerdict::Stopped
            }
            SessionVerdict::Fail(reply) => {
                work.reply(direction, reply);
                MessageVerdict::Stopped
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
    ) -> MessageVerdict {
        if direction == Direction::ClientToServer {
            if self.refuse_call(message, work) {
                return MessageVerdict::Stopped;
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
                    ContentVerdict::Clean => return MessageVerdict::Unchanged,
                    ContentVerdict::Edited(edited) => return MessageVerdict::Edited(edited),
                    ContentVerdict::Blocked => work.sink.rule.unwrap_or(Rule::ContentFrame),
                }
            }
        };
        self.block_content(direction, message, outcome, rule, work);
        MessageVerdict::Stopped
    }

    /// Replies for a message that is blocked because of its content.
    fn block_content(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        outcome: &Outcome,
        rule: Rule,
        work: &mut Work<'_>,
    ) {
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
    }

    /// Reports the findings of the session, and counts blocked messages.
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
        let passes = outcome.verdict == SessionVerdict::Pass;
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
            if action >= Action::Block && rule != Rule::SessionBurst {
                blocked.get_or_insert(rule);
            }
            work.sink.add(rule, action, || finding);
        }
        if let Some(rule) = blocked.filter(|_| direction == Direction::ServerToClient) {
            self.blocked = self.blocked.saturating_add(1);
            let close_after = self.policy.settings(self.server.as_deref()).close_after();
            if close_after.is_some_and(|most| self.blocked >= most) {
                work.close(rule);
            }
        }
    }

    /// Tells the joiner that a request of the client is settled.
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
                if let Some(id) = cancelled_id(call.params, self.limits.max_id_bytes()) {
                    self.joiner.settle(&id);
                }
            }
            _ => {}
        }
    }
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

    /// Returns the tool that the message calls, or that it answers.
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
