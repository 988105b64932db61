//! Requests inside results: how a server of 2026-07-28 asks the client for something.

use hardline_wire::json::{Kind, Value};
use hardline_wire::method;
use hardline_wire::version::Version;

use super::capability::Capabilities;
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
                let needed = method.capability?;
                if client.has(needed.path) {
                    return None;
                }
                (Rule::SessionCapability, "an input request whose capability was not declared")
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
