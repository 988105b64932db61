//! Checks parts of a server's request that need a capability of their own.
//!
//! A client that declares `sampling` or `elicitation` has not agreed to everything that such a request
//! can carry. Tools, context of other servers, web pages to be opened and execution as a task are
//! negotiated one by one.

use hardline_wire::json::{Kind, Value};
use hardline_wire::message::ErrorResponse;
use hardline_wire::version::Version;

use super::capability::Capabilities;

/// Code of an error that asks the client to open web pages: `data.elicitations` lists them.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Checks the parts of a request that a server makes of a client with these capabilities. Returns the
/// reason why the client should not get it.
pub(super) fn objection_to_parts(
    method: &str,
    params: Option<Value<'_>>,
    client: Capabilities,
    version: Option<Version>,
) -> Option<&'static str> {
    let params = params?;
    let has = |key: &str| params.get(key).is_some_and(|it| it.kind() != Kind::Null);
    let is_task = has("task");
    match method {
        "sampling/createMessage" => {
            let wants_tools = has("tools") || has("toolChoice");
            if wants_tools && !client.has("sampling.tools") {
                return Some("sampling with tools, which the client did not declare");
            }
            if is_task && !client.has("tasks.requests.sampling.createMessage") {
                return Some("sampling as a task, which the client did not declare");
            }
            // Before that version there was no capability for it.
            let has_context = version.is_some_and(|it| it >= Version::V2025_11_25);
            if has_context && wants_context(params) && !client.has("sampling.context") {
                return Some("sampling with context of servers, which the client did not declare");
            }
            None
        }
        "elicitation/create" => {
            if is_task && !client.has("tasks.requests.elicitation.create") {
                return Some("elicitation as a task, which the client did not declare");
            }
            objection_to_elicitation(params, client)
        }
        _ => None,
    }
}

/// Checks the web pages that an error with the code [`URL_ELICITATION_REQUIRED`] asks the client to
/// open.
pub(super) fn objection_to_error(
    error: &ErrorResponse<'_>,
    client: Capabilities,
) -> Option<&'static str> {
    let data = error.data.filter(|_| error.code == URL_ELICITATION_REQUIRED)?;
    let elicitations = data.get("elicitations")?;
    elicitations.elements().find_map(|it| objection_to_elicitation(it, client))
}

fn objection_to_elicitation(params: Value<'_>, client: Capabilities) -> Option<&'static str> {
    let mode = params.get("mode").and_then(|mode| mode.as_str());
    let url = params.get("url");
    // A client may decide by either of the two.
    if mode.as_deref() != Some("url") && url.is_none() {
        let is_missing = !client.has("elicitation.form");
        return is_missing.then_some("elicitation of a form, which the client did not declare");
    }
    if !client.has("elicitation.url") {
        return Some("elicitation by a web page, which the client did not declare");
    }
    let is_web = url.and_then(|url| url.as_str()).is_some_and(|url| is_web_address(&url));
    (!is_web).then_some("elicitation by an address that is no web page")
}

fn wants_context(params: Value<'_>) -> bool {
    let context = params.get("includeContext").and_then(|it| it.as_str());
    context.is_some_and(|context| context != "none")
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
