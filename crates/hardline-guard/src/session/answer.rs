//! Handles answers: those that a request waits for, and all others.

use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::ErrorResponse;

use super::embedded::{Embedded, look_inside};
use super::judge::{About, Judge};
use super::part::objection_to_error;
use super::table::{Ended, InFlight, Match, RequestKind};
use super::{Doubt, Outcome, Reply, Session, SessionVerdict};
use crate::finding::Direction;
use crate::rule::{Action, Rule};

/// The outcome that an answer carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer<'a, 'b> {
    Result(Value<'a>),
    Error(&'b ErrorResponse<'a>),
}

impl Session {
    pub(super) fn handle_answer(
        &mut self,
        id: Id<'static>,
        answer: Answer<'_, '_>,
        now: Duration,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
    ) -> Outcome {
        let request = judge.direction.opposite();
        let mut findings = Vec::new();
        self.doubt_twin(request, &id, now);
        let (rule, reason) = match self.requests(request).answer(&id) {
            Match::Proper(ended) => return self.handle_proper(id, ended, answer, judge),
            Match::Ended(Ended::Cancelled) => return Outcome::new(findings, SessionVerdict::Drop),
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
        Outcome::new(findings, verdict)
    }

    /// Handles the answer that a request waits for.
    fn handle_proper(
        &mut self,
        id: Id<'static>,
        ended: InFlight,
        answer: Answer<'_, '_>,
        judge: &Judge<'_, impl Fn(Rule) -> Action>,
    ) -> Outcome {
        let mut findings = Vec::new();
        let mut verdict = SessionVerdict::Pass;
        if judge.direction == Direction::ServerToClient {
            match (ended.kind, answer) {
                (RequestKind::Initialize, Answer::Result(result)) => self.era.agree(result),
                (RequestKind::Initialize, Answer::Error(_)) => self.era.disagree(),
                (RequestKind::Discover, Answer::Result(result)) => self.era.learn_server(result),
                _ => {}
            }
            match answer {
                Answer::Error(error) => {
                    let client = ended.stateless.or(self.era.client());
                    let objection = client.and_then(|client| objection_to_error(error, client));
                    if let Some(reason) = objection {
                        let rule = Rule::SessionCapability;
                        judge.find(&mut findings, rule, rule.severity(), About::Id(&id), reason);
                        if judge.blocks(rule) {
                            verdict = SessionVerdict::Fail(Reply::new(id, rule, reason));
                        }
                    }
                }
                Answer::Result(result) => {
                    let client = ended.stateless.or(self.era.stateless_client());
                    let found = client.and_then(|client| look_inside(result, client));
                    if let Some(embedded) = found {
                        let Embedded { rule, reason, .. } = embedded;
                        let about = About::Embedded(&embedded);
                        judge.find(&mut findings, rule, rule.severity(), about, reason);
                        if judge.blocks(embedded.rule) {
                            verdict = SessionVerdict::Fail(Reply::new(
                                id,
                                embedded.rule,
                                embedded.reason,
                            ));
                        }
                    }
                }
            }
        }
        let before = self.flood.take_progress(ended.progress_token);
        Outcome { asked: Some(ended.asked), before, ..Outcome::new(findings, verdict) }
    }
}
