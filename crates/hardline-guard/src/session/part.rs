//! Checks parts of a server's request that need a capability of their own.
//!
//! A client that declares `sampling` or `elicitation` has not agreed to everything that such a request
//! can carry. Tools, context of other servers, web pages to be opened and execution as a task are
//! negotiated one by one.

use hardline_wire::json::{Kind, Value};
use hardline_wire::message::ErrorResponse;
use hardline_wire::version::Version;

use super::capability::Capabilities;
use crate::fold::{is_alike, members_alike};
use crate::rule::Rule;

/// Code of an error that asks the client to open web pages: `data.elicitations` lists them.
pub(crate) const URL_ELICITATION_REQUIRED: i64 = -32042;

/// A rule, and the reason why a message violates it.
pub(super) type Fault = (Rule, &'static str);

/// Parameters of `sampling/createMessage` that the check reads.
const OF_SAMPLING: [&str; 5] = ["includeContext", "messages", "task", "toolChoice", "tools"];
/// Parameters of `elicitation/create` that the check reads.
const OF_ELICITATION: [&str; 4] = ["mode", "requestedSchema", "task", "url"];

/// Checks the parts of a request that a server makes of a client with these capabilities. Returns the
/// reason why the client should not get it.
///
/// Lenient readers fold keys and values, so the check does as well. A key that only they take for the
/// one of the schema is a fault of its own: the request has several meanings.
pub(super) fn objection_to_parts(
    method: &str,
    params: Option<Value<'_>>,
    client: Capabilities,
    version: Option<Version>,
) -> Option<Fault> {
    let params = params?;
    let has_parts = matches!(method, "sampling/createMessage" | "elicitation/create");
    if has_parts && params.kind() != Kind::Object {
        return Some((Rule::SessionCapability, "parameters that are no object"));
    }
    let (parts, reason) = match method {
        "sampling/createMessage" => {
            let parts = Parts::read(params, &OF_SAMPLING);
            // Before that version there was no capability for it.
            let has_context = version.is_some_and(|it| it >= Version::V2025_11_25);
            let reason = if parts.has_tools && !client.has("sampling.tools") {
                Some("sampling with tools, which the client did not declare")
            } else if parts.is_task && !client.has("tasks.requests.sampling.createMessage") {
                Some("sampling as a task, which the client did not declare")
            } else if has_context && parts.has_context && !client.has("sampling.context") {
                Some("sampling with context of servers, which the client did not declare")
            } else {
                None
            };
            (parts, reason)
        }
        "elicitation/create" => {
            let parts = Parts::read(params, &OF_ELICITATION);
            let reason = if parts.is_task && !client.has("tasks.requests.elicitation.create") {
                Some("elicitation as a task, which the client did not declare")
            } else {
                parts.objection_to_elicitation(client)
            };
            (parts, reason)
        }
        _ => return None,
    };
    let twin = "a parameter that some readers take for a key of the schema";
    let twin = parts.has_twin.then_some((Rule::FrameAmbiguousKey, twin));
    reason.map(|reason| (Rule::SessionCapability, reason)).or(twin)
}

/// Checks the web pages that an error with the code [`URL_ELICITATION_REQUIRED`] asks the client to
/// open.
pub(super) fn objection_to_error(
    error: &ErrorResponse<'_>,
    client: Capabilities,
) -> Option<&'static str> {
    let data = error.data.filter(|_| error.code == URL_ELICITATION_REQUIRED)?;
    let lists = members_alike(data, "elicitations");
    let mut pages = lists.flat_map(|list| list.members().map(|(_, it)| it).chain(list.elements()));
    pages.find_map(|it| Parts::read(it, &OF_ELICITATION).objection_to_elicitation(client))
}

/// The parts of a request that need a capability, found in one pass.
#[derive(Default)]
struct Parts<'a> {
    is_task: bool,
    has_tools: bool,
    has_context: bool,
    is_url_mode: bool,
    is_unknown_mode: bool,
    has_form: bool,
    urls: Vec<Value<'a>>,
    /// Set if a key differs from the one of the schema, and some readers take it for that one.
    has_twin: bool,
}

impl<'a> Parts<'a> {
    fn read(params: Value<'a>, names: &[&'static str]) -> Self {
        let mut parts = Self::default();
        for (key, value) in params.members() {
            let Some(name) = names.iter().copied().find(|name| is_alike(&key, name)) else {
                continue;
            };
            parts.has_twin |= key != name;
            if value.kind() == Kind::Null {
                continue;
            }
            match name {
                "task" => parts.is_task = true,
                "tools" | "toolChoice" => parts.has_tools = true,
                "messages" => parts.has_tools |= has_tool_content(value),
                "includeContext" => {
                    // Lenient readers take a list with one value for that value.
                    parts.has_context |= value.as_str().is_none_or(|it| !is_alike(&it, "none"));
                }
                "requestedSchema" => parts.has_form = true,
                "url" => parts.urls.push(value),
                _ => {
                    let mode = value.as_str().unwrap_or_default();
                    parts.is_url_mode |= is_alike(&mode, "url");
                    parts.is_unknown_mode |= !is_alike(&mode, "url") && !is_alike(&mode, "form");
                }
            }
        }
        parts
    }

    fn objection_to_elicitation(&self, client: Capabilities) -> Option<&'static str> {
        // Nothing says what a client would make of it.
        if self.is_unknown_mode {
            return Some("elicitation in a mode that no version defines");
        }
        // A client may decide by either of the two.
        if !self.is_url_mode && self.urls.is_empty() {
            let is_missing = !client.has("elicitation.form");
            return is_missing.then_some("elicitation of a form, which the client did not declare");
        }
        if !client.has("elicitation.url") {
            return Some("elicitation by a web page, which the client did not declare");
        }
        // Content inside the question of a form can add an address, but not remove the form.
        if self.has_form {
            return Some("elicitation by a web page and by a form at once");
        }
        let is_web = |url: &Value<'_>| url.as_str().is_some_and(|url| is_web_address(&url));
        let is_web = !self.urls.is_empty() && self.urls.iter().all(is_web);
        (!is_web).then_some("elicitation by an address that is no web page")
    }
}

/// Returns true if a message of a sampling request calls a tool or has the result of one.
fn has_tool_content(messages: Value<'_>) -> bool {
    let is_tool = |it: Value<'_>| {
        let kind = it.as_str();
        kind.is_some_and(|it| is_alike(&it, "tool_use") || is_alike(&it, "tool_result"))
    };
    let is_of_tool = |block: Value<'_>| members_alike(block, "type").any(is_tool);
    messages.elements().any(|message| {
        members_alike(message, "content")
            .any(|content| is_of_tool(content) || content.elements().any(is_of_tool))
    })
}

/// Returns true if a browser opens an address as a web page and as nothing else.
fn is_web_address(url: &str) -> bool {
    let has_scheme = |scheme: &str| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let is_plain = !url.chars().any(|char| char.is_whitespace() || char.is_control());
    is_plain && (has_scheme("https://") || has_scheme("http://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_addresses_are_web_addresses() {
        for url in ["https://example.com/a", "HTTP://localhost:1/"] {
            assert!(is_web_address(url), "{url}");
        }
        for url in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "",
            "https:x",
            "https://a b",
            " https://a",
        ] {
            assert!(!is_web_address(url), "{url}");
        }
    }
}
