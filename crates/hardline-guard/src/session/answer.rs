//! Handles answers: those that a request waits for, and all others.

use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::ErrorResponse;

use super::embedded::{Embedded, Receiver, asks_for_input, look_inside, mixed_with_content};
use super::judge::{About, Judge};
use super::part::objection_to_error;
use super::table::{Ended, InFlight, Match, RequestKind};
use super::{Doubt, Reply, Session, SessionDecision, SessionVerdict};
use crate::finding::{Direction, Finding};
use crate::fold::has_twin;
use crate::rule::{Action, Rule};

/// The outcome that an answer carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum AnswerOutcome<'a, 'b> {
    Result(Value<'a>),
    Error(&'b ErrorResponse<'a>),
}

impl Session {
    pub(super) fn handle_answer(
        &mut self,
        id: Id<'static>,
        answer: AnswerOutcome<'_, '_>,
        now: Duration,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
    ) -> SessionDecision {
        let request = judge.direction.opposite();
        let mut findings = Vec::new();
        self.doubt_twin(request, &id, now);
        let (rule, reason) = match self.requests(request).answer(&id) {
            Match::Proper(ended) => return self.handle_proper(id, ended, answer, judge),
            Match::Ended(Ended::Cancelled) => {
                return SessionDecision::new(findings, SessionVerdict::Drop);
            }
            Match::Ended(Ended::Answered) => {
                // Content may have changed the id of another answer to this one.
                if request == Direction::ClientToServer {
                    self.doubt_all(now);
                }
                (Rule::SessionDuplicateResponse, "the request with this id has its answer")
            }
            Match::Mistyped(meant) => {
                if request == Direction::ClientToServer {
                    self.doubt_all(now);
                }
                if judge.blocks(Rule::SessionIdType) {
                    self.doubt_in(request, &meant, Doubt::Mistyped, now);
                } else {
                    // The answer passes, and its receiver may well accept it.
                    self.requests(request).end(&meant, Ended::Answered);
                }
                (Rule::SessionIdType, "the request's id has another type")
            }
            Match::Unknown => {
                if request == Direction::ClientToServer {
                    self.doubt_all(now);
                }
                (Rule::SessionUnsolicitedResponse, "no request with this id is in flight")
            }
        };
        judge.find(&mut findings, rule, rule.severity(), About::Id(&id), reason);
        let verdict = if judge.blocks(rule) { SessionVerdict::Drop } else { SessionVerdict::Pass };
        SessionDecision::new(findings, verdict)
    }

    /// Handles the answer that a request waits for.
    fn handle_proper(
        &mut self,
        id: Id<'static>,
        ended: InFlight,
        answer: AnswerOutcome<'_, '_>,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
    ) -> SessionDecision {
        let mut findings = Vec::new();
        let mut verdict = SessionVerdict::Pass;
        if judge.direction == Direction::ServerToClient {
            if let Some(reason) = objection_to_opening(ended.kind, answer) {
                let rule = Rule::FrameAmbiguousKey;
                judge.find(&mut findings, rule, rule.severity(), About::Id(&id), reason);
                if judge.blocks(rule) {
                    if ended.kind == RequestKind::Initialize {
                        self.era.disagree();
                    }
                    let before = self.flood.take_progress(ended.progress_token);
                    let verdict = SessionVerdict::Fail(Reply::new(id, rule, reason));
                    let decision = SessionDecision::new(findings, verdict);
                    return SessionDecision { asked: Some(ended.asked), before, ..decision };
                }
            }
            match (ended.kind, answer) {
                (RequestKind::Initialize, AnswerOutcome::Result(result)) => self.era.agree(result),
                (RequestKind::Initialize, AnswerOutcome::Error(_)) => self.era.disagree(),
                (RequestKind::Discover, AnswerOutcome::Result(result)) => {
                    self.era.learn_server(result);
                }
                _ => {}
            }
            if let Some(reply) = self.object_to_content(id, &ended, answer, judge, &mut findings) {
                verdict = SessionVerdict::Fail(reply);
            }
        }
        let before = self.flood.take_progress(ended.progress_token);
        SessionDecision {
            asked: Some(ended.asked),
            before,
            ..SessionDecision::new(findings, verdict)
        }
    }

    /// Reports what an answer asks of the client that it did not agree to. Returns the reply in its
    /// place if the policy blocks it.
    fn object_to_content(
        &self,
        id: Id<'static>,
        ended: &InFlight,
        answer: AnswerOutcome<'_, '_>,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
        findings: &mut Vec<Finding>,
    ) -> Option<Reply> {
        match answer {
            AnswerOutcome::Error(error) => {
                let client = ended.stateless.or(self.era.client())?;
                let reason = objection_to_error(error, client)?;
                let rule = Rule::SessionCapability;
                judge.find(findings, rule, rule.severity(), About::Id(&id), reason);
                judge.blocks(rule).then(|| Reply::new(id, rule, reason))
            }
            AnswerOutcome::Result(result) => {
                let stateless = ended.stateless.or(self.era.stateless_client());
                // Clients of several versions may look for requests in any session.
                let client = stateless.or(self.era.client().filter(|_| asks_for_input(result)))?;
                let receiver = Receiver { client, version: self.era.version };
                let embedded =
                    look_inside(result, receiver).or_else(|| mixed_with_content(result))?;
                let Embedded { rule, reason, .. } = embedded;
                judge.find(findings, rule, rule.severity(), About::Embedded(&embedded), reason);
                judge.blocks(rule).then(|| Reply::new(id, rule, reason))
            }
        }
    }
}

/// Members of the answers that open a session, by which everything after them is judged.
const OF_OPENING: [&str; 3] = ["protocolVersion", "supportedVersions", "capabilities"];

/// Returns the objection to an answer that opens a session with another version, or with other
/// capabilities, for some readers.
fn objection_to_opening(kind: RequestKind, answer: AnswerOutcome<'_, '_>) -> Option<&'static str> {
    let AnswerOutcome::Result(result) = answer else { return None };
    if !matches!(kind, RequestKind::Initialize | RequestKind::Discover) {
        return None;
    }
    let has_twin = OF_OPENING.into_iter().any(|name| has_twin(result, name));
    has_twin.then_some("readers disagree about the version or capabilities of this opening")
}
