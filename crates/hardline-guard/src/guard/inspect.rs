//! Inspects one line of a session: frame, torn messages, session rules, content.

use std::borrow::Cow;
use std::time::Duration;

use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::line::Line;
use hardline_wire::message::{Message, cancelled_id};

use super::Guard;
use super::content::{ContentVerdict, Subject};
use super::ending::ends_closed;
use super::findings::locate;
use super::inspection::{Carries, Inspection};
use super::tools::List;
use super::work::Work;
use crate::finding::{Direction, Finding};
use crate::frame::FrameVerdict;
use crate::join::{Taken, begins_inside};
use crate::rule::{Action, Rule};
use crate::scan::is_plain;
use crate::session::{Reply, SessionDecision, SessionVerdict};

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

impl MessageVerdict {
    /// Returns the frame to send for a message with this text. `None` if it was stopped.
    pub(super) fn into_frame<'a>(self, text: impl Into<Cow<'a, [u8]>>) -> Option<Cow<'a, [u8]>> {
        match self {
            Self::Unchanged => Some(text.into()),
            Self::Edited(edited) => Some(Cow::Owned(edited)),
            Self::Stopped => None,
        }
    }
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
        if is_from_server {
            self.holdback.note_line(now);
        }
        let was_holding = is_from_server && self.joiner.is_holding();
        if was_holding && self.hand_to_joiner(line, &mut work) {
            return work.finish();
        }
        let is_torn = is_from_server && self.joiner.take_torn_line();
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
            FrameVerdict::Frame(decoded) => {
                if is_from_server {
                    self.joiner.handle_message();
                    self.take_joined(&mut work);
                }
                let action = self.note(direction, judged.findings, &mut work);
                let text = line.whole().unwrap_or_default();
                match decoded {
                    // A byte order mark, where the policy goes that far.
                    _ if action >= Action::Block => {
                        let frames = self.frames.of(direction);
                        let reason = "a byte order mark stands before the line";
                        let refused =
                            frames.refuse_for(text, line.ending(), Rule::FrameBom, reason);
                        self.give_up(direction, text, refused, &mut work);
                    }
                    // An answer as well: its line began right behind the head of a torn message.
                    _ if is_torn => self.drop_held(text, &mut work),
                    _ if is_from_server && self.try_hold_back(&decoded, text, &mut work) => {}
                    Frame::Message(message, value) => {
                        let subject = Subject { value, text, base: 0, names: 1 };
                        let verdict = self.pass(direction, &message, subject, &mut work);
                        if let Some(frame) = verdict.into_frame(text) {
                            work.deliver(direction, frame, Carries::Message(message));
                        }
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
        let text = line.whole().unwrap_or_default();
        // Inside of another hold, only a line that fits the torn message shows that it goes on.
        let goes_on =
            if was_holding { self.joiner.goes_on_outside(text) } else { begins_inside(text) };
        if taken == Taken::Held && goes_on && self.holdback.has_answer() {
            self.drop_all_held(work);
        } else if taken == Taken::Held && self.joiner.is_suspicious() {
            self.keep_held_answers(text, work);
        }
        let has_joined = (was_holding || taken == Taken::Held) && !self.joiner.is_holding();
        let is_completed = was_suspect && !self.joiner.is_suspicious();
        if is_completed {
            // These messages stood between the two halves of a message, so content wrote them.
            self.drop_all_held(work);
        }
        let is_value = has_joined && self.joiner.is_printed_line();
        if is_value {
            self.holdback.note_message(true, line.whole().unwrap_or_default(), work.now);
        } else if has_joined || is_completed {
            // Content may have ended the joined message.
            self.holdback.note_joined(b"", work.now);
        }
        let has_delivered = self.take_joined(work);
        if has_joined && !has_delivered && line.whole().is_some_and(ends_closed) {
            self.drop_held_requests("lines that may be the rest of an answer followed", work);
        }
        taken == Taken::Held
    }

    /// Reports findings about a line. Returns the most severe action.
    pub(super) fn note(
        &self,
        direction: Direction,
        findings: Vec<Finding>,
        work: &mut Work<'_>,
    ) -> Action {
        let actions = self.policy.actions(None);
        let mut most = Action::Allow;
        for finding in findings {
            let action = actions.action_at(finding.rule, finding.severity, direction);
            if action == Action::Close {
                work.close(finding.rule);
            }
            most = most.max(action);
            work.findings.add(finding.rule, action, || finding);
        }
        most
    }

    /// Judges one message: first against the session, then its content.
    pub(super) fn pass(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> MessageVerdict {
        if direction == Direction::ServerToClient
            && self.stop_server_message(message, &subject, work)
        {
            return MessageVerdict::Stopped;
        }
        let actions = self.policy.actions(None);
        let decide = |rule| actions.action(rule, direction);
        let mut decision = self.session.handle(direction, message, work.now, &decide);
        if direction == Direction::ServerToClient && decision.is_misplaced_answer() {
            // Content may have ended the proper answer and written this one.
            self.joiner.suspect(work.now);
        }
        self.note_session(direction, &mut decision, subject, work);
        self.release(decision.before.take(), work);
        if let Some(key) = &decision.forget {
            self.forget(key);
        }
        self.settle_joiner(direction, message, &decision);
        if direction == Direction::ServerToClient
            && decision.asked.is_some()
            && let Some(id) = message.id()
        {
            self.answers.note(id, subject.text, work.now);
        }
        let verdict = match decision.verdict {
            SessionVerdict::Pass => self.pass_content(direction, message, &decision, subject, work),
            SessionVerdict::Coalesce(ref key) => {
                let verdict = self.pass_content(direction, message, &decision, subject, work);
                if let Some(frame) = verdict.into_frame(subject.text) {
                    self.keep(key.clone(), frame.into_owned());
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
        work.inspection.asked = decision.asked;
        verdict
    }

    /// Stops a message of the server that the session need not judge. Returns true if it was dropped,
    /// or delivered in another form.
    fn stop_server_message(
        &mut self,
        message: &Message<'_>,
        subject: &Subject<'_>,
        work: &mut Work<'_>,
    ) -> bool {
        if self.is_suspect(message) {
            self.drop_suspect(message, subject.text, work);
            return true;
        }
        if self.drop_copy(message, subject.text, work)
            || self.fail_second_answer(message, work)
            || self.drop_misshapen(message, subject, work)
        {
            return true;
        }
        let Some(trimmed) = self.trim_answer(message, subject, work) else { return false };
        self.take_text(Direction::ServerToClient, trimmed, work);
        true
    }

    /// Judges the strings of a message that the session lets pass.
    fn pass_content(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        decision: &SessionDecision,
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
        let asked = decision.asked.as_ref();
        let rule = match List::of(message, asked) {
            // Some clients would read the other one.
            _ if self.judges_tools() && List::has_twin(message, asked) => Rule::FrameAmbiguousKey,
            None if let Some(rule) = self.refuse_unusable(message, asked, subject.base, work) => {
                rule
            }
            Some(list) if self.judges_tools() || !is_plain(subject.text, 1) => {
                match self.pass_list(&list, asked, subject, work) {
                    Ok(verdict) => return verdict,
                    Err(rule) => rule,
                }
            }
            _ if let Some(result) = self.opening_result(message, asked) => {
                match self.pass_opening(result, subject, work) {
                    Ok(verdict) => return verdict,
                    Err(rule) => rule,
                }
            }
            _ => {
                let tool = if self.policy.names_tools() { decision.tool(message) } else { None };
                let actions = self.policy.actions(tool.as_deref());
                match self.strings.judge(subject, direction, actions, &mut work.findings) {
                    ContentVerdict::Unchanged => return MessageVerdict::Unchanged,
                    ContentVerdict::Edited(edited) => return MessageVerdict::Edited(edited),
                    ContentVerdict::Blocked => work.findings.rule.unwrap_or(Rule::ContentFrame),
                }
            }
        };
        self.block_content(direction, message, decision, rule, work);
        MessageVerdict::Stopped
    }

    /// Replies for a message that is blocked because of its content.
    fn block_content(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        decision: &SessionDecision,
        rule: Rule,
        work: &mut Work<'_>,
    ) {
        if work.findings.action == Action::Close {
            work.close(rule);
        }
        let reply = |id: &Id<'_>, what: &str| {
            let reason = format!("{what} was blocked: {}", rule.title());
            Reply::new(id.clone().into_owned(), rule, reason)
        };
        match message {
            Message::Request(request) => {
                // Its receiver never sees the request and cannot answer it.
                self.session.settle(direction, &request.id);
                work.reply(direction.opposite(), reply(&request.id, "the request"));
            }
            Message::Response(_) | Message::Error(_) => {
                if let Some(id) = message.id().filter(|_| decision.asked.is_some()) {
                    work.reply(direction, reply(id, "the answer"));
                }
            }
            Message::Notification(_) => {}
        }
    }

    /// Reports the findings of the session, and counts blocked messages.
    pub(super) fn note_session(
        &mut self,
        direction: Direction,
        decision: &mut SessionDecision,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) {
        if decision.findings.is_empty() {
            return;
        }
        let actions = self.policy.actions(None);
        let passes = decision.verdict == SessionVerdict::Pass;
        let mut blocked = None;
        for mut finding in decision.findings.drain(..) {
            locate(&mut finding, subject.value, subject.base);
            let rule = finding.rule;
            let mut action = actions.action_at(rule, finding.severity, direction);
            if passes || decision.is_flood && rule != Rule::SessionBurst {
                action = action.min(Action::Log);
            } else if action == Action::Close {
                work.close(rule);
            }
            // A busy server exceeds a rate limit too, so that alone closes no session.
            if action >= Action::Block && rule != Rule::SessionBurst {
                blocked.get_or_insert(rule);
            }
            work.findings.add(rule, action, || finding);
        }
        if let Some(rule) = blocked.filter(|_| direction == Direction::ServerToClient) {
            self.blocked = self.blocked.saturating_add(1);
            let close_after = self.policy.settings().close_after();
            if close_after.is_some_and(|most| self.blocked >= most) {
                work.close(rule);
            }
        }
    }

    /// Tells the joiner that a request of the client is settled.
    fn settle_joiner(
        &mut self,
        direction: Direction,
        message: &Message<'_>,
        decision: &SessionDecision,
    ) {
        match (direction, message) {
            (Direction::ServerToClient, Message::Response(_) | Message::Error(_)) => {
                if decision.asked.is_some()
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

impl SessionDecision {
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
