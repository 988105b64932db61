//! Requests inside results: how a server of 2026-07-28 asks the client for something.

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
    /// Where it stands in the frame.
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) reason: &'static str,
}

/// Looks at the requests inside `result`, whose asker can do what `client` says. Returns the worst.
pub(super) fn look_inside(result: Value<'_>, client: Capabilities) -> Option<Embedded> {
    let requests = result.get("inputRequests")?;
    let judge = |request: Value<'_>| {
        let (offset, length) = (request.offset(), request.text().len());
        let name = request.get("method").filter(|it| it.kind() == Kind::String)?.as_str()?;
        let (rule, reason) = match method::find_embedded(&name, Version::V2026_07_28) {
            Some(method) => {
                let is_declared = method.capability.is_none_or(|it| client.has(it.path));
                let version = Some(Version::V2026_07_28);
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
    };
    let judged = requests.members().filter_map(|(_, request)| judge(request));
    judged.max_by_key(|it| it.rule.severity())
}
