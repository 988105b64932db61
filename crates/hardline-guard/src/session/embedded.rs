//! Checks requests inside results and task notifications, with which a server of 2026-07-28 asks the
//! client for input.

use hardline_wire::json::{Kind, Value};
use hardline_wire::method;
use hardline_wire::version::Version;

use super::capability::Capabilities;
use super::part::objection_to_parts;
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

/// Checks the requests inside a result or the parameters of a notification, whose receiver has the
/// capabilities `client`. Returns the worst fault.
///
/// Some readers ignore the case of keys, and some take an array where the schema has an object.
pub(super) fn look_inside(value: Value<'_>, client: Capabilities) -> Option<Embedded> {
    let is_list = |key: &str| key.eq_ignore_ascii_case("inputRequests");
    let lists = value.members().filter(|(key, _)| is_list(key)).map(|(_, list)| list);
    let requests = lists.flat_map(|list| list.members().map(|(_, it)| it).chain(list.elements()));
    requests.filter_map(|it| judge(it, client)).max_by_key(|it| it.rule.severity())
}

/// Checks one request. Returns the worst fault.
fn judge(request: Value<'_>, client: Capabilities) -> Option<Embedded> {
    let is_method = |key: &str| key.eq_ignore_ascii_case("method");
    let methods = request.members().filter(|(key, _)| is_method(key)).map(|(_, method)| method);
    let faults = methods.filter_map(|method| judge_as(request, method, client));
    faults.max_by_key(|it| it.rule.severity())
}

/// Checks a request for a reader that takes this value as its method.
fn judge_as(request: Value<'_>, method: Value<'_>, client: Capabilities) -> Option<Embedded> {
    let (offset, length) = (request.offset(), request.text().len());
    let name = Some(method).filter(|it| it.kind() == Kind::String)?.as_str()?;
    let (rule, reason) = match method::find_embedded(&name, Version::LATEST) {
        Some(method) => {
            let is_declared = method.capability.is_none_or(|it| client.has(it.path));
            let version = Some(Version::LATEST);
            let params = request.get("params");
            let reason = match objection_to_parts(&name, params, client, version) {
                _ if !is_declared => "an input request whose capability was not declared",
                Some(reason) => reason,
                None => return None,
            };
            (Rule::SessionCapability, reason)
        }
        None if method::is_known(&name) => {
            (Rule::SessionWrongDirection, "an input request that a server may not make")
        }
        None => (Rule::SessionUnknownMethod, "an input request that no table knows"),
    };
    Some(Embedded { rule, offset, length, reason })
}
