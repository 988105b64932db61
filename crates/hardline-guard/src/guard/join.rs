//! What time and torn messages bring.

use std::borrow::Cow;
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
    /// When the guard wants to be told the time, if no line comes before that.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let joiner = self.joiner.poll_timeout();
        let release = self.holdback.release_at().filter(|_| !self.joiner.is_holding());
        [self.session.poll_timeout(), joiner, release].into_iter().flatten().min()
    }

    /// Takes note of the time: after what [`poll_timeout`](Self::poll_timeout) says, and only when there
    /// is nothing to read from the server. What was already there might be the rest of a torn message,
    /// or the answer that somebody waits for.
    pub fn handle_timeout(&mut self, now: Duration) -> Inspection<'static> {
        let mut work = self.work(now);
        self.advance(&mut work);
        work.finish()
    }

    /// Takes note that bytes of the server came. `unfinished` is the line that they begin or go on
    /// with, as far as it has come.
    pub fn handle_bytes(&mut self, unfinished: &[u8], now: Duration) {
        self.joiner.handle_bytes(now);
        self.holdback.hear_bytes(unfinished, now);
    }

    /// Ends the server's stream: lines that are held are not waited for any longer.
    pub fn finish_server(&mut self, now: Duration) -> Inspection<'static> {
        let mut work = self.work(now);
        self.advance(&mut work);
        let is_torn =
            self.joiner.is_holding() || self.joiner.is_suspicious() || self.holdback.is_mid_rest();
        self.joiner.finish(&self.session);
        self.take_joined(&mut work);
        if is_torn {
            self.drop_own_held(&mut work);
        } else {
            self.release_held(&mut work);
        }
        work.finish()
    }

    /// Takes note that nobody will answer the requests that went in `direction` any more. Returns
    /// them, in no order: each is owed an error by the caller.
    pub fn settle_all(&mut self, direction: Direction) -> Vec<Orphan> {
        self.session.settle_all(direction)
    }

    /// Takes note that the caller gives a request of the client up, and tells whoever must know. A
    /// late answer is dropped without a finding. Returns whether it was in flight.
    pub fn abandon(&mut self, id: &Id<'_>) -> bool {
        let Some(kept) = self.session.abandon(Direction::ClientToServer, id) else { return false };
        self.joiner.settle(id);
        if let Some(key) = kept {
            self.forget(&key);
        }
        true
    }

    /// How many requests that went in `direction` are in flight, subscriptions left out: those stay
    /// open.
    pub fn in_flight(&self, direction: Direction) -> usize {
        self.session.in_flight(direction)
    }

    /// How many notifications and requests were over the server's budget, and did not go on.
    pub fn dropped(&self) -> u64 {
        self.session.dropped()
    }

    /// Whether a request of the client has no answer yet.
    pub fn is_pending(&self, id: &Id<'_>) -> bool {
        self.session.is_pending(id)
    }

    /// The version that was agreed on, or that requests say of themselves.
    pub fn version(&self) -> Option<Version> {
        self.session.version()
    }

    /// Begins anew with another server, after [`settle_all`](Self::settle_all) in both directions:
    /// nothing is known of it, and nothing is in flight. It is the same program, so that what the client read from
    /// the one before can be written back to it.
    pub fn restart(&mut self) {
        let mut fresh = Self::build(self.policy.clone(), self.server.clone());
        fresh.strings.keep_edits_of(&mut self.strings);
        let mut tools = std::mem::take(&mut self.tools);
        tools.restart();
        let is_stateless = self.session.is_stateless();
        *self = Self { blocked: self.blocked, anonymous: self.anonymous, tools, ..fresh };
        if is_stateless {
            // The client does not begin anew: it never began.
            self.session.begin_stateless();
        }
    }

    /// Does what is due.
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

    /// Takes what the joiner has to say.
    pub(super) fn take_joined(&mut self, work: &mut Work<'_>) {
        while let Some(event) = self.joiner.poll_event() {
            match event {
                JoinEvent::Found { finding, .. } => {
                    let action = self.policy.decide(&finding, self.server.as_deref(), None);
                    if action == Action::Close {
                        work.close(finding.rule);
                    }
                    work.sink.add(finding.rule, action, || finding);
                }
                JoinEvent::Joined(joined) => self.take_whole(joined, work),
                JoinEvent::Failed(reply) => self.fail(reply, work),
                JoinEvent::Refused(reply) => work.reply(Direction::ClientToServer, reply),
                JoinEvent::Lost => self.session.doubt_all(work.now),
            }
        }
    }

    /// Judges a message that was put together like any other.
    fn take_whole(&mut self, joined: Joined, work: &mut Work<'_>) {
        let direction = Direction::ServerToClient;
        let severity = if joined.has_planted { Severity::Critical } else { Severity::High };
        let actions = self.policy.actions(self.server.as_deref(), None);
        if Action::Block <= actions.action_at(Rule::FrameSplit, severity, direction) {
            let reason = "no usable answer: a raw newline tore it apart";
            self.fail(Reply::new(joined.id, Rule::FrameSplit, reason), work);
            return;
        }
        if joined.is_pretty && self.holdback.push_pretty(&joined.text, work.now) {
            return;
        }
        self.take_text(direction, joined.text, work);
    }

    /// Judges a line that is no longer the one that came.
    pub(super) fn take_text(&mut self, direction: Direction, text: Vec<u8>, work: &mut Work<'_>) {
        let judged = self.frames.of(direction).judge_text(&text, Ending::Whole);
        let passing = match judged.verdict {
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
        let frame = match passing {
            MessageVerdict::Unchanged => text,
            MessageVerdict::Edited(edited) => edited,
            MessageVerdict::Stopped => return,
        };
        work.deliver(direction, Cow::Owned(frame), Carries::Unread);
    }

    /// Gives a request of the client an error, if it has no answer yet.
    pub(super) fn fail(&mut self, reply: Reply, work: &mut Work<'_>) {
        self.fail_towards(Direction::ServerToClient, reply, work);
    }

    /// Gives whoever waits at the end of `direction` an error, if somebody does. Says whether.
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
            self.joiner.settle(&reply.id);
        }
        self.release(before, work);
        work.reply(direction, reply);
        true
    }

    /// Keeps a frame of the server for later, in the place of an older one.
    pub(super) fn keep(&mut self, key: CoalesceKey, frame: Vec<u8>) {
        self.forget(&key);
        // Without room it is lost: such a notification says only that something else is new.
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

    /// Sends on what was kept.
    pub(super) fn release(&mut self, key: Option<CoalesceKey>, work: &mut Work<'_>) {
        if let Some(frame) = key.and_then(|key| self.forget(&key)) {
            work.deliver(Direction::ServerToClient, frame.into(), Carries::Unread);
        }
    }
}
