//! Inspects the opening of a session: learns the name of the client, and compares the server's
//! instructions with their pin.

use std::ops::Range;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::{Checker, Step, Value};
use hardline_wire::message::{Message, Request};

use super::Guard;
use super::content::Subject;
use super::findings::Findings;
use super::inspect::MessageVerdict;
use super::inspection::MAX_FOUND;
use super::tools::EXCERPT_BYTES;
use super::work::Work;
use crate::finding::{Direction, Finding, Severity};
use crate::fold::has_twin;
use crate::pin::Instructions;
use crate::rule::{Action, Rule};
use crate::scan::is_plain;
use crate::session::Asked;
use crate::tools::INSTRUCTIONS;

/// The member that holds the instructions.
const KEY: &str = "instructions";
/// The place of the instructions in an answer.
const PATH: &str = "$.result.instructions";

impl Guard {
    /// Records the name with which a client identifies itself, if the request contains it.
    pub(super) fn meet_client(&mut self, request: &Request<'_>) {
        const INFO: &str = "io.modelcontextprotocol/clientInfo";
        let Some(params) = request.params.filter(|_| self.tools.wants_client()) else { return };
        let info = match &*request.method {
            "initialize" => params.get("clientInfo"),
            "server/discover" | "tools/list" => params.get("_meta").and_then(|it| it.get(INFO)),
            _ => return,
        };
        let name = info.and_then(|info| info.get("name")).and_then(|name| name.as_str());
        if let Some(name) = name {
            self.tools.meet_client(self.server.as_deref().unwrap_or_default(), &name);
        }
    }

    /// Returns the result of an answer that may have instructions, if instructions are pinned.
    pub(super) fn opening_result<'a>(
        &self,
        message: &Message<'a>,
        asked: Option<&Asked>,
    ) -> Option<Value<'a>> {
        let Message::Response(response) = message else { return None };
        let method = asked.and_then(|asked| asked.method);
        let is_opening = matches!(method, Some("initialize" | "server/discover"));
        (is_opening && self.tools.pins_instructions()).then_some(response.result)
    }

    /// Judges an answer with instructions, and removes instructions that must not reach the client.
    pub(super) fn pass_opening(
        &mut self,
        result: Value<'_>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> Result<MessageVerdict, Rule> {
        let value = result.get(KEY);
        if has_twin(result, KEY) {
            // Some clients would read the other one.
            let detail = "some readers take a second member for `instructions`";
            self.note_opening(
                Rule::FrameAmbiguousKey,
                Action::Block,
                detail,
                result,
                subject,
                work,
            );
            return Err(Rule::FrameAmbiguousKey);
        }
        let is_poisoned = value.is_some_and(|value| self.find_planted(value));
        let instructions = Instructions::of_result(result);
        let Self { policy, server, tools, .. } = self;
        let actions = policy.actions(Some(INSTRUCTIONS));
        let decide = |rule| actions.action(rule, Direction::ServerToClient);
        let server = server.as_deref().unwrap_or_default();
        let objection = tools.review_instructions(server, &instructions, is_poisoned, decide);
        work.inspection.trouble = tools.take_trouble();
        let Some(objection) = objection else { return self.pass_rest(None, subject, work) };
        if objection.action == Action::Close {
            work.close(objection.rule);
        }
        if objection.is_news {
            let (rule, action) = (objection.rule, objection.action);
            let place = value.unwrap_or(result);
            self.note_opening(rule, action, &objection.detail, place, subject, work);
        }
        let member = member(result, KEY).filter(|_| objection.hides());
        self.pass_rest(member, subject, work)
    }

    /// Judges the strings of an answer without the bytes of `removed`.
    fn pass_rest(
        &mut self,
        removed: Option<Range<usize>>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) -> Result<MessageVerdict, Rule> {
        let Some(removed) = removed else {
            let judged = self.judge_rest(subject.text, subject.base, work)?;
            return Ok(judged.map_or(MessageVerdict::Unchanged, MessageVerdict::Edited));
        };
        let start = subject.text.get(..removed.start).unwrap_or_default();
        let end = subject.text.get(removed.end..).unwrap_or_default();
        let rest = [start, end].concat();
        let judged = self.judge_rest(&rest, subject.base, work)?;
        Ok(MessageVerdict::Edited(judged.unwrap_or(rest)))
    }

    fn note_opening(
        &self,
        rule: Rule,
        action: Action,
        detail: &str,
        place: Value<'_>,
        subject: Subject<'_>,
        work: &mut Work<'_>,
    ) {
        let text = place.as_str();
        let excerpt = text.as_deref().unwrap_or_else(|| place.text());
        work.findings.add(rule, action, || Finding {
            rule,
            severity: rule.severity(),
            direction: Direction::ServerToClient,
            path: Some(PATH.to_owned()),
            offset: subject.base + place.offset(),
            length: place.text().len(),
            excerpt: Excerpt::new(excerpt.as_bytes(), EXCERPT_BYTES).to_string(),
            detail: detail.to_owned(),
        });
    }

    /// Returns true if a value contains a message or hidden characters.
    fn find_planted(&mut self, value: Value<'_>) -> bool {
        let text = value.text().as_bytes();
        if is_plain(text, 0) {
            return false;
        }
        let alone = [br#"{"result":{"instructions":"#.as_slice(), text, b"}}"].concat();
        // A part of a checked message passes the check too; if not, fail closed.
        let Ok(checked) = Checker::new(&self.limits).check(&alone) else { return true };
        let subject = Subject { value: checked.value, text: &alone, base: 0, names: 0 };
        let actions = self.policy.actions(None);
        let mut findings = Findings::of_worst(MAX_FOUND);
        self.strings.judge(subject, Direction::ServerToClient, actions, &mut findings);
        findings.unlisted > 0
            || findings.found.iter().any(|it| it.finding.severity >= Severity::Medium)
    }
}

/// Returns the range of a member with its key and one comma, if the object has it.
fn member(object: Value<'_>, key: &str) -> Option<Range<usize>> {
    // End of the previous member, if there is one.
    let mut before = None;
    let mut found: Option<Range<usize>> = None;
    let mut members = object.members();
    let mut depth = 0_usize;
    for step in object.steps() {
        match step {
            Step::Enter(..) => depth += 1,
            Step::Leave(_) => depth -= 1,
            Step::Key(name) if depth == 1 => {
                let (_, value) = members.next()?;
                if let Some(found) = &mut found {
                    // The first member goes up to the next key, with the comma between.
                    if before.is_none() {
                        found.end = name.offset();
                    }
                    return Some(found.clone());
                }
                let end = value.offset() + value.text().len();
                if name.as_str().is_some_and(|it| it == key) {
                    found = Some(before.unwrap_or(name.offset())..end);
                } else {
                    before = Some(end);
                }
            }
            Step::Key(_) | Step::Scalar(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use hardline_wire::limits::Limits;

    use super::*;

    #[track_caller]
    fn check(before: &str, expected: &str) {
        let mut checker = Checker::new(&Limits::default());
        let value = checker.check(before.as_bytes()).unwrap().value;
        let range = member(value, KEY).unwrap();
        let mut after = before.to_owned();
        after.replace_range(range, "");
        assert_eq!(after, expected);
        Checker::new(&Limits::default()).check(after.as_bytes()).unwrap();
    }

    #[test]
    fn a_member_is_cut_out_with_one_comma() {
        check(r#"{"instructions":"x"}"#, "{}");
        check(r#"{ "instructions" : "x" }"#, "{  }");
        check(
            r#"{"instructions":"x" , "b":[1,{"instructions":2}]}"#,
            r#"{"b":[1,{"instructions":2}]}"#,
        );
        check(
            r#"{"a":{"instructions":1} , "instructions":[{}], "b":2}"#,
            r#"{"a":{"instructions":1}, "b":2}"#,
        );
        check(r#"{"a":1, "instructions":"x" }"#, r#"{"a":1 }"#);
        check(r#"{"a":1,"\u0069nstructions":"x,\"}"}"#, r#"{"a":1}"#);
    }
}
