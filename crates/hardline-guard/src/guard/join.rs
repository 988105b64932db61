//! Handles timeouts, torn messages, and the end of a session.

use std::time::Duration;

use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::line::Line;
use hardline_wire::recover::Ending;
use hardline_wire::version::Version;

use super::content::Subject;
use super::inspect::MessageVerdict;
use super::inspection::{Carries, Inspection};
use super::work::Work;
use super::{FrameVerdict, Guard};
use crate::finding::{Direction, Severity};
use crate::join::{JoinEvent, Joined, Pending};
use crate::rule::{Action, Rule};
use crate::session::{CoalesceKey, Orphan, Reply, SessionEvent};

impl Guard {
    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout), if no line arrives
    /// before.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let joiner = self.joiner.poll_timeout();
        // Nothing is released while lines are held, so this deadline would wake the caller in vain.
        let release = self.holdback.release_at().filter(|_| !self.joiner.is_holding());
        [self.session.poll_timeout(), joiner, release].into_iter().flatten().min()
    }

    /// Advances the time. Call it when [`poll_timeout`](Self::poll_timeout) is due, but only if there
    /// is nothing to read from the server: unread bytes may be the rest of a torn message, or the
    /// answer to a request.
    pub fn handle_timeout(&mut self, now: Duration) -> Inspection<'static> {
        let mut work = self.work(now);
        self.advance(&mut work);
        work.finish()
    }

    /// Reports that bytes of the server arrived. `unfinished` is the incomplete line at the end of
    /// them, from its start and without the white space around it, as
    /// [`LineFramer::unfinished`](hardline_wire::line::LineFramer::unfinished) returns it.
    pub fn handle_bytes(&mut self, unfinished: &[u8], now: Duration) {
        self.joiner.handle_bytes(unfinished, now);
        self.holdback.hear_bytes(unfinished, now);
    }

    /// Ends the server's stream, and returns the frames that were still held.
    pub fn finish_server(&mut self, now: Duration) -> Inspection<'static> {
        let mut work = self.work(now);
        self.advance(&mut work);
        let is_torn = self.joiner.is_holding() || self.joiner.is_suspicious();
        self.joiner.finish(&self.session);
        self.take_joined(&mut work);
        if self.holdback.is_mid_rest() {
            // The server died inside the rest of the message that these stand in.
            self.drop_all_held(&mut work);
        } else if is_torn {
            self.drop_own_held(&mut work);
        } else {
            if self.holdback.is_mid_line() {
                // The line may be the rest of an answer, in which content wrote the request.
                self.drop_held_requests("an unfinished line followed", &mut work);
            }
            self.release_held(&mut work);
        }
        work.finish()
    }

    /// Ends all requests that were sent in `direction`, because their receiver is gone. Returns them,
    /// in no order. The caller owes each of them an error.
    pub fn settle_all(&mut self, direction: Direction) -> Vec<Orphan> {
        self.session.settle_all(direction)
    }

    /// Ends a request of the client on behalf of its sender. A late answer is dropped without a
    /// finding. Returns true if the request was in flight.
    pub fn abandon(&mut self, id: &Id<'_>) -> bool {
        let Some(kept) = self.session.abandon(Direction::ClientToServer, id) else { return false };
        self.joiner.settle(id);
        if let Some(key) = kept {
            self.forget(&key);
        }
        true
    }

    /// Returns the number of requests in flight that were sent in `direction`, without
    /// subscriptions, which stay open.
    pub fn in_flight(&self, direction: Direction) -> usize {
        self.session.in_flight(direction)
    }

    /// Returns the number of notifications and requests that exceeded the rate limit of the server
    /// and were dropped.
    pub fn dropped(&self) -> u64 {
        self.session.dropped()
    }

    /// Returns true if a request of the client has no answer yet.
    pub fn is_pending(&self, id: &Id<'_>) -> bool {
        self.session.is_pending(id)
    }

    /// Returns the version that was negotiated, or that requests declare.
    pub fn version(&self) -> Option<Version> {
        self.session.version()
    }

    /// Resets the session for a restarted server, after [`settle_all`](Self::settle_all) in both
    /// directions: nothing is in flight. The guard keeps its memory of edits, because the client may
    /// write text of the old server to the new one.
    pub fn restart(&mut self) {
        let mut fresh = Self::build(self.policy.clone(), self.server.clone());
        fresh.strings.keep_edits_of(&mut self.strings);
        let mut tools = std::mem::take(&mut self.tools);
        tools.restart();
        let is_stateless = self.session.is_stateless();
        *self = Self { blocked: self.blocked, anonymous: self.anonymous, tools, ..fresh };
        if is_stateless {
            // The client sends no handshake, so the new session must know that there is none.
            self.session.begin_stateless();
        }
    }

    /// Handles everything that is due.
    pub(super) fn advance(&mut self, work: &mut Work<'_>) {
        if self.poll_timeout().is_none_or(|due| work.now < due) {
            return;
        }
        // Lines that are held may show that content has written these messages.
        let is_due = self.holdback.release_at().is_some_and(|at| at <= work.now);
        if is_due && !self.joiner.is_holding() {
            if self.holdback.is_mid_rest() {
                // No honest line begins like that, however long it pauses.
                self.drop_all_held(work);
            } else if self.holdback.keeps_requests(work.now) {
                self.release_but_requests(work);
            } else {
                self.release_held(work);
            }
        }
        for event in self.session.handle_timeout(work.now) {
            match event {
                SessionEvent::Release(key) => self.release(Some(key), work),
                SessionEvent::Failed { request, reply, before } => {
                    self.release(before, work);
                    self.joiner.settle(&reply.id);
                    work.reply(request.opposite(), reply);
                }
            }
        }
        let was_holding = self.joiner.is_holding();
        self.joiner.handle_timeout(work.now, &self.session);
        if was_holding && self.joiner.is_suspicious() {
            self.drop_own_held(work);
        }
        self.take_joined(work);
    }

    /// Handles the events of the joiner. Returns true if a message was joined.
    pub(super) fn take_joined(&mut self, work: &mut Work<'_>) -> bool {
        let mut has_joined = false;
        while let Some(event) = self.joiner.poll_event() {
            match event {
                JoinEvent::Found { finding, .. } => {
                    let action = self.policy.decide(&finding, None);
                    if action == Action::Close {
                        work.close(finding.rule);
                    }
                    work.findings.add(finding.rule, action, || finding);
                }
                JoinEvent::Joined(joined) => {
                    has_joined = true;
                    self.take_whole(joined, work);
                }
                JoinEvent::Failed(reply) => self.fail(reply, work),
                JoinEvent::Refused(reply) => work.reply(Direction::ClientToServer, reply),
                JoinEvent::Lost => self.session.doubt_all(work.now),
                JoinEvent::Unawaited { id, text } => {
                    if let Some(at) = self.answers.time_of_copied(&id, &text) {
                        self.session.doubt_sent_after(at, work.now);
                    } else {
                        self.session.doubt_all(work.now);
                    }
                }
                JoinEvent::Printed { text, is_whole } => {
                    self.doubt_printed(&text, is_whole, work.now);
                }
            }
        }
        has_joined
    }

    /// Judges a joined message like any other.
    fn take_whole(&mut self, joined: Joined, work: &mut Work<'_>) {
        let direction = Direction::ServerToClient;
        self.note_answer(&joined.text, work);
        self.holdback.note_joined(&joined.text, work.now);
        let severity = if joined.has_planted { Severity::Critical } else { Severity::High };
        let actions = self.policy.actions(None);
        if actions.action_at(Rule::FrameSplit, severity, direction) >= Action::Block {
            let reason = "no usable answer: a raw newline tore it apart";
            self.fail(Reply::new(joined.id, Rule::FrameSplit, reason), work);
            return;
        }
        if joined.is_pretty && self.holdback.push_pretty(&joined.text, work.now) {
            return;
        }
        self.take_text(direction, joined.text, work);
    }

    /// Judges a line that was joined, mended or held back.
    pub(super) fn take_text(&mut self, direction: Direction, text: Vec<u8>, work: &mut Work<'_>) {
        let judged = self.frames.of(direction).judge_text(&text, Ending::Whole);
        let verdict = match judged.verdict {
            FrameVerdict::Frame(Frame::Message(message, value)) => {
                let subject = Subject { value, text: &text, base: 0, names: 1 };
                self.pass(direction, &message, subject, work)
            }
            FrameVerdict::Refused(refused) => {
                self.give_up(direction, &text, refused, work);
                MessageVerdict::Stopped
            }
            FrameVerdict::Frame(Frame::Batch(batch)) => {
                let mut inner = work.for_owned();
                self.take_batch(direction, &Line::of_text(&text), &text, batch, &mut inner);
                work.absorb(inner);
                MessageVerdict::Stopped
            }
            FrameVerdict::Blank => MessageVerdict::Stopped,
        };
        if let Some(frame) = verdict.into_frame(text) {
            work.deliver(direction, frame, Carries::Unread);
        }
    }

    /// Replies to a request of the client with an error, if it has no answer yet.
    pub(super) fn fail(&mut self, reply: Reply, work: &mut Work<'_>) {
        self.fail_towards(Direction::ServerToClient, reply, work);
    }

    /// Replies with an error to the request whose answer would travel in `direction`. Returns false if
    /// it is not in flight.
    pub(super) fn fail_towards(
        &mut self,
        direction: Direction,
        reply: Reply,
        work: &mut Work<'_>,
    ) -> bool {
        let Some(before) = self.session.settle(direction.opposite(), &reply.id) else {
            return false;
        };
        if direction == Direction::ServerToClient {
            self.session.doubt_twin(direction.opposite(), &reply.id, work.now);
            self.joiner.settle(&reply.id);
        }
        self.release(before, work);
        work.reply(direction, reply);
        true
    }

    /// Keeps a frame of the server for later, in place of an older one.
    pub(super) fn keep(&mut self, key: CoalesceKey, frame: Vec<u8>) {
        self.forget(&key);
        // Without room the frame is lost. It only says that something else has changed.
        if self.kept_bytes + frame.len() <= self.limits.max_queue_bytes() {
            self.kept_bytes += frame.len();
            self.kept.insert(key, frame);
        }
    }

    pub(super) fn forget(&mut self, key: &CoalesceKey) -> Option<Vec<u8>> {
        let frame = self.kept.remove(key)?;
        self.kept_bytes -= frame.len();
        Some(frame)
    }

    /// Sends the frame that is kept under `key`.
    pub(super) fn release(&mut self, key: Option<CoalesceKey>, work: &mut Work<'_>) {
        if let Some(frame) = key.and_then(|key| self.forget(&key)) {
            work.deliver(Direction::ServerToClient, frame.into(), Carries::Unread);
        }
    }
}
