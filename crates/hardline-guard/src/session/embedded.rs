//! Checks requests inside results and task notifications, with which a server of 2026-07-28 asks the
//! client for input.

use hardline_wire::json::{Kind, Value};
use hardline_wire::method::{self, Method, MethodKind};
use hardline_wire::version::Version;
use memchr::{memchr, memchr2};

use super::call::has_unicode_escape;
use super::capability::Capabilities;
use super::check::meant_method;
use super::part::objection_to_parts;
use crate::fold::{has_twin, is_alike, members_alike};
use crate::rule::Rule;

/// A request inside a result that should not be there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Embedded {
    pub(super) rule: Rule,
    /// Offset in the frame.
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) reason: &'static str,
}

/// The member that holds the requests.
const KEY: &str = "inputRequests";

impl Embedded {
    fn new(rule: Rule, place: Value<'_>, reason: &'static str) -> Self {
        Self { rule, offset: place.offset(), length: place.text().len(), reason }
    }
}

/// Type of a result that has requests.
const INPUT_REQUIRED: &str = "input_required";

/// Returns true if a result says that it has requests.
pub(crate) fn asks_for_input(result: Value<'_>) -> bool {
    let text = result.text().as_bytes();
    // These searches cost less than a walk over the members. A spelling without `_` or `q` has an escape,
    // or letters that are not ASCII.
    let is_spelled = memchr(b'_', text).is_some() && memchr2(b'q', b'Q', text).is_some();
    if !is_spelled && text.is_ascii() && !has_unicode_escape(text) {
        return false;
    }
    members_alike(result, "resultType")
        .any(|it| it.as_str().is_some_and(|it| is_alike(&it, INPUT_REQUIRED)))
}

/// Members of a result that asks for input, with the type of each.
const OF_INPUT: [(&str, Kind); 6] = [
    ("resultType", Kind::String),
    (KEY, Kind::Object),
    ("requestState", Kind::String),
    ("_meta", Kind::Object),
    ("ttlMs", Kind::Number),
    ("cacheScope", Kind::String),
];

/// Returns a fault if a result asks for input and has members of another result, or members of other types:
/// content may have written its type and its requests, and moved the rest of the result into such a member.
pub(super) fn mixed_with_content(result: Value<'_>) -> Option<Embedded> {
    let is_own = |key: &str, value: Value<'_>| OF_INPUT.contains(&(key, value.kind()));
    let (_, other) = result.members().find(|(key, value)| !is_own(key, *value))?;
    let reason = "a result that asks for input and has the members of another one";
    asks_for_input(result).then(|| Embedded::new(Rule::FrameAmbiguousKey, other, reason))
}

/// Receiver of requests: its capabilities, and the version of the session, if it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiver {
    pub(super) client: Capabilities,
    pub(super) version: Option<Version>,
}

/// Checks the requests inside a result or the parameters of a notification. Returns the worst fault.
///
/// Lenient readers fold keys, and some take an array where the schema has an object. A key that only
/// they take for the one of the schema is a fault of its own.
pub(super) fn look_inside(value: Value<'_>, receiver: Receiver) -> Option<Embedded> {
    let lists = value.members().filter(|(key, _)| is_alike(key, KEY));
    let faults = lists.flat_map(|(key, list)| {
        let reason = "some readers take this member for `inputRequests`";
        let twin = (key != KEY).then(|| Embedded::new(Rule::FrameAmbiguousKey, list, reason));
        let requests = list.members().map(|(_, it)| it).chain(list.elements());
        twin.into_iter().chain(requests.filter_map(move |it| judge(it, receiver)))
    });
    faults.max_by_key(|it| it.rule.severity())
}

/// Checks one request. Returns the worst fault.
fn judge(request: Value<'_>, receiver: Receiver) -> Option<Embedded> {
    let is_twin = has_twin(request, "method") || has_twin(request, "params");
    let reason =
        "some readers take another member for the method or parameters of this input request";
    let twin = is_twin.then(|| Embedded::new(Rule::FrameAmbiguousKey, request, reason));
    let mut methods = members_alike(request, "method").peekable();
    let reason = "an input request without a method";
    let shapeless = methods.peek().is_none();
    let shapeless = shapeless.then(|| Embedded::new(Rule::SessionCapability, request, reason));
    let faults = methods.filter_map(|method| judge_as(request, method, receiver));
    let odd = twin.into_iter().chain(shapeless);
    odd.chain(faults).max_by_key(|it| it.rule.severity())
}

/// Checks a request for a reader that takes this value as its method.
fn judge_as(request: Value<'_>, method: Value<'_>, receiver: Receiver) -> Option<Embedded> {
    let name = Some(method).filter(|it| it.kind() == Kind::String).and_then(|it| it.as_str());
    let Some(name) = name else {
        let reason = "an input request whose method is no string";
        return Some(Embedded::new(Rule::SessionCapability, request, reason));
    };
    let name = meant_method(&name);
    let Receiver { client, version } = receiver;
    let (rule, reason) = match find(name, version) {
        Some(method) => {
            let is_declared = method.capability.is_none_or(|it| client.has(it.path));
            if is_declared {
                let version =
                    version.filter(|it| method.is_in(*it)).or(Some(method.first_version()));
                members_alike(request, "params")
                    .find_map(|params| objection_to_parts(name, Some(params), client, version))?
            } else {
                (Rule::SessionCapability, "an input request whose capability was not declared")
            }
        }
        None if method::is_known(name) => {
            (Rule::SessionWrongDirection, "an input request that a server may not make")
        }
        None => (Rule::SessionUnknownMethod, "an input request with an unknown method"),
    };
    Some(Embedded::new(rule, request, reason))
}

/// Finds an embedded request in the version of the session, or else in any version: a client of
/// several versions may look for requests in any session.
fn find(name: &str, version: Option<Version>) -> Option<&'static Method> {
    let in_session = version.and_then(|version| method::find_embedded(name, version));
    let is_embedded = |it: &&Method| it.kind == MethodKind::EmbeddedRequest;
    in_session.or_else(|| method::named(name).find(is_embedded))
}

#[cfg(test)]
mod tests {
    use hardline_wire::json::Checker;
    use hardline_wire::limits::Limits;

    use super::*;

    #[test]
    fn a_result_asks_for_input_in_any_spelling() {
        let asks = |json: &str| {
            let checked = Checker::new(&Limits::default()).check(json.as_bytes()).unwrap();
            asks_for_input(checked.value)
        };
        for json in [
            r#"{"resultType":"input_required"}"#,
            r#"{"RESULTTYPE":"INPUT_REQUIRED"}"#,
            r#"{"resultType":"input\u005frequired"}"#,
            r#"{"resultType":"input_re\u0071uired"}"#,
            "{\"resultType\":\"input\u{ff3f}required\"}",
            "{\"resultType\":\"input_re\u{ff51}uired\"}",
        ] {
            assert!(asks(json), "{json}");
        }
        for json in
            [r#"{"a_q":1}"#, r#"{"content":[]}"#, r#"{"a":{"resultType":"input_required"}}"#]
        {
            assert!(!asks(json), "{json}");
        }
    }
}
