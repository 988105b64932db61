//! Refuses messages of a server that clients cannot read, so that no caller waits for one that its client
//! drops, and removes from answers what keeps clients from reading them.
//!
//! The official clients check messages against schemas. They drop an answer with a member that JSON-RPC
//! does not define, and one whose `_meta` is not an object, and their callers wait.

use hardline_wire::id::Id;
use hardline_wire::json::{Kind, Value};
use hardline_wire::message::Message;
use memchr::memchr_iter;

use super::Guard;
use super::content::Subject;
use super::unasked::is_answer;
use super::work::Work;
use crate::finding::{Direction, Finding};
use crate::frame::finding_at;
use crate::join::starts_with_member;
use crate::rule::{Action, Rule};
use crate::session::{
    PROTOTYPE_KEY, Reply, URL_ELICITATION_REQUIRED, asks_for_input, may_have_special_key,
};

/// Members that JSON-RPC defines for messages.
const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
/// Quotes of the members of an answer beside its result: their keys and the version, and those of an id
/// that is a string.
const QUOTES: usize = 8;
const ID_QUOTES: usize = 2;
/// Reason against a message with the member `__proto__`.
const PROTOTYPE: &str =
    "a member `__proto__`, whose members some clients take for those of the object";
/// Member of `_meta` that names a task.
const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

impl Guard {
    /// Drops a message that no client takes, or that the server did not mean as a message. Returns
    /// false for any other message.
    ///
    /// A log line in JSON gets the members of a message where its template does not escape content.
    pub(super) fn drop_misshapen(
        &mut self,
        message: &Message<'_>,
        subject: &Subject<'_>,
        work: &mut Work<'_>,
    ) -> bool {
        let unusable =
            unusable_result(message, subject.text).or_else(|| mixed_request(message, subject));
        let detail = match (message, &unusable) {
            (_, Some((_, detail))) => detail,
            _ if is_answer(message) => {
                if starts_with_member(subject.text) {
                    return false;
                }
                "an answer that begins with a member which JSON-RPC does not define"
            }
            _ if may_have_special_key(subject.text) && has_prototype(message) => PROTOTYPE,
            _ => {
                if subject.value.members().all(|(key, _)| is_known(&key)) {
                    return false;
                }
                "a message of the server with a member that JSON-RPC does not define"
            }
        };
        let (rule, direction) = (Rule::FrameNotJsonrpc, Direction::ServerToClient);
        let finding = finding_at(rule, direction, subject.text, 0, subject.text.len(), detail);
        let action = self.policy.decide(&finding, None);
        if action == Action::Close {
            work.close(rule);
        }
        work.findings.add(rule, action, || finding);
        if action < Action::Sanitize {
            return false;
        }
        match (message, unusable) {
            (_, Some((id, detail))) => {
                let reply = Reply::new(id, rule, format!("no usable answer: {detail}"));
                if !self.fail_towards(direction, reply, work) {
                    self.session.doubt_all(work.now);
                }
            }
            // A proper answer may follow.
            _ if is_answer(message) => self.doubt_answers(subject.text, true, 0, work.now),
            // An error without an id may have been meant for any request.
            (Message::Error(_), _) => self.session.doubt_all(work.now),
            _ => self.refuse_planted(message, work),
        }
        true
    }

    /// Returns an answer to a pending request without the members that JSON-RPC does not define. `None`
    /// if it has none of these, or the policy lets them pass.
    pub(super) fn trim_answer(
        &mut self,
        message: &Message<'_>,
        subject: &Subject<'_>,
        work: &mut Work<'_>,
    ) -> Option<Vec<u8>> {
        if !may_have_more(message, subject.text) || !self.is_awaited(message) {
            return None;
        }
        let more = subject.value.members().find(|(key, _)| !is_of_answer(key));
        let (_, value) = more?;
        let (rule, direction) = (Rule::FrameNoise, Direction::ServerToClient);
        let detail = "a member of an answer that JSON-RPC does not define: removed, because clients drop \
             such answers";
        let finding = Finding {
            offset: subject.base + value.offset(),
            length: value.text().len(),
            ..finding_at(rule, direction, subject.text, 0, subject.text.len(), detail)
        };
        let action = self.policy.decide(&finding, None);
        work.findings.add(rule, action, || finding);
        (action >= Action::Sanitize).then(|| trim(subject.value))
    }
}

fn is_known(key: &str) -> bool {
    ENVELOPE.contains(&key)
}

/// Returns true for a member that JSON-RPC defines for answers.
fn is_of_answer(key: &str) -> bool {
    is_known(key) && !matches!(key, "method" | "params")
}

/// Returns true if an answer may have further members. The result, which may be long, is not read.
fn may_have_more(message: &Message<'_>, text: &[u8]) -> bool {
    let Message::Response(answer) = message else { return true };
    let (start, length) = (answer.result.offset(), answer.result.text().len());
    let (Some(before), Some(behind)) = (text.get(..start), text.get(start + length..)) else {
        return true;
    };
    let expected = if answer.id.as_str().is_some() { QUOTES + ID_QUOTES } else { QUOTES };
    memchr_iter(b'"', before).count() + memchr_iter(b'"', behind).count() > expected
}

/// Writes the members of an answer that JSON-RPC defines.
fn trim(answer: Value<'_>) -> Vec<u8> {
    let mut written = vec![b'{'];
    for (key, value) in answer.members().filter(|(key, _)| is_of_answer(key)) {
        if written.len() > 1 {
            written.push(b',');
        }
        written.extend_from_slice(format!("\"{key}\":").as_bytes());
        written.extend_from_slice(value.text().as_bytes());
    }
    written.push(b'}');
    written
}

/// Returns the id of an answer whose result clients refuse, and the reason.
fn unusable_result(message: &Message<'_>, text: &[u8]) -> Option<(Id<'static>, &'static str)> {
    let Message::Response(answer) = message else { return None };
    let id = || answer.id.clone().into_owned();
    if answer.result.kind() != Kind::Object {
        return Some((id(), "the result is not an object"));
    }
    if !may_have_special_key(text) {
        return None;
    }
    if has_prototype(message) {
        return Some((id(), PROTOTYPE));
    }
    let meta = answer.result.get("_meta")?;
    if meta.kind() != Kind::Object {
        return Some((id(), "the `_meta` of the result is not an object"));
    }
    let is_task =
        |value: Value<'_>| value.get("taskId").is_some_and(|it| it.kind() == Kind::String);
    let is_usable = meta.get("progressToken").is_none_or(is_progress_token)
        && meta.get(RELATED_TASK).is_none_or(is_task);
    (!is_usable).then(|| (id(), "the `_meta` of the result does not follow the schema of MCP"))
}

/// Returns true if the members that clients read first include `__proto__`. The official TypeScript client
/// copies members one by one, and then finds those of that value in the object.
fn has_prototype(message: &Message<'_>) -> bool {
    let object = match message {
        Message::Response(answer) => Some(answer.result),
        Message::Request(request) => request.params,
        Message::Notification(call) => call.params,
        Message::Error(error) => error.data,
    };
    let has_key = |it: Value<'_>| it.get(PROTOTYPE_KEY).is_some();
    object.is_some_and(|it| has_key(it) || it.get("_meta").is_some_and(has_key))
}

/// Returns true for a string, and for an integer that every client reads without rounding.
fn is_progress_token(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::String => true,
        Kind::Number => {
            value.text().parse().is_ok_and(|it: i64| it.unsigned_abs() < 1 << f64::MANTISSA_DIGITS)
        }
        _ => false,
    }
}

/// Returns the id of an answer that asks the client for something and has a member that JSON-RPC does not
/// define. Content may have written the request, and moved the rest of the answer into that member.
/// Without the member the answer would look honest.
fn mixed_request(
    message: &Message<'_>,
    subject: &Subject<'_>,
) -> Option<(Id<'static>, &'static str)> {
    let id = message.id().filter(|_| may_have_more(message, subject.text))?;
    let asks = match message {
        Message::Response(answer) => asks_for_input(answer.result),
        Message::Error(error) => error.code == URL_ELICITATION_REQUIRED,
        Message::Request(_) | Message::Notification(_) => false,
    };
    let is_mixed = asks && subject.value.members().any(|(key, _)| !is_of_answer(&key));
    let reason = "it asks for input and has a member that JSON-RPC does not define";
    is_mixed.then(|| (id.clone().into_owned(), reason))
}

#[cfg(test)]
mod tests {
    use hardline_wire::frame::{Decoder, Frame};
    use hardline_wire::limits::Limits;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let mut decoder = Decoder::new(&Limits::default());
        let Ok(Frame::Message(message, value)) = decoder.decode(text.as_bytes()) else {
            panic!("{text}")
        };
        let has_more = value.members().any(|(key, _)| !is_of_answer(&key));
        assert!(!has_more || may_have_more(&message, text.as_bytes()), "{text}");
        let trimmed = has_more.then(|| String::from_utf8(trim(value)).unwrap());
        assert_eq!(trimmed.as_deref(), expected, "{text}");
    }

    #[test]
    fn removes_what_json_rpc_does_not_define() {
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"note":"\""}}"#, None);
        check(r#"{"jsonrpc":"2.0","id":"\"","result":{}}"#, None);
        check(
            r#"{"jsonrpc":"2.0","note":{"a":1}, "id":1,"result": {"a" :1}}"#,
            Some(r#"{"jsonrpc":"2.0","id":1,"result":{"a" :1}}"#),
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{},"params":{"a":[{"b":""}]}}"#,
            Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        );
        check(
            r#"{"id":"a","res\u0075lt":{},"jsonrpc":"2.0","__proto__":1}"#,
            Some(r#"{"id":"a","result":{},"jsonrpc":"2.0"}"#),
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""},"":[]}"#,
            Some(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#),
        );
    }
}
