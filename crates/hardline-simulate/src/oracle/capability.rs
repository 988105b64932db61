//! The capabilities that a client offered, and what a server may ask it for.

use hardline_wire::version::Version;

use super::messages_of;
use crate::reader::Json;

/// Capabilities that the client offered last, and the kind of the session.
#[derive(Debug, Default)]
pub(super) struct Offer {
    capabilities: Option<Json<'static>>,
    is_stateless: bool,
    /// True if the version is older than the capability for context in sampling.
    is_old: bool,
}

impl Offer {
    /// Takes a line of the client.
    pub(super) fn handle_client(&mut self, line: &[u8]) {
        const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
        const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
        for message in messages_of(line).into_iter().flatten() {
            let Some(params) = message.get("params") else { continue };
            if message.get("method").and_then(Json::as_str) == Some("initialize") {
                let version = params.get("protocolVersion").and_then(Json::as_str);
                self.is_stateless = false;
                self.is_old = version.is_some_and(|it| it < "2025-11-25");
                self.capabilities = Some(owned(params.get("capabilities")));
            }
            let Some(meta) = params.get("_meta") else { continue };
            let version = meta.get(VERSION).and_then(Json::as_str).and_then(|it| it.parse().ok());
            if version.is_some_and(|version: Version| !version.has_handshake()) {
                self.is_stateless |= self.capabilities.is_none();
                self.capabilities = Some(owned(meta.get(CAPABILITIES)));
            }
        }
    }

    /// Returns why the client should never have seen this request or notification.
    pub(super) fn objection(&self, message: &Json<'_>) -> Option<&'static str> {
        let method = message.get("method")?.as_str()?;
        let is_request = message.get("id").is_some();
        if is_request && self.is_stateless {
            return Some("a request of a server in a session without a handshake");
        }
        if !is_request && matches!(method, "sampling/createMessage" | "elicitation/create") {
            return Some("a request as a notification");
        }
        self.missing(method, message.get("params"))
    }

    /// Returns why the client should never have seen the requests inside this answer.
    pub(super) fn objection_inside(&self, message: &Json<'_>) -> Option<&'static str> {
        if let Some(error) = message.get("error") {
            return self.objection_to_error(error);
        }
        if !self.is_stateless {
            return None;
        }
        let requests = message.get("result")?.get("inputRequests")?;
        requests.members().iter().find_map(|(_, request)| {
            self.missing(request.get("method")?.as_str()?, request.get("params"))
        })
    }

    /// Returns why the client should never have seen the web pages that an error asks it to open.
    fn objection_to_error(&self, error: &Json<'_>) -> Option<&'static str> {
        let is_request = matches!(error.get("code")?, Json::Number(code) if code == "-32042");
        let Json::Array(pages) = error.get("data")?.get("elicitations")? else { return None };
        let missing = |page| self.missing("elicitation/create", Some(page));
        is_request.then(|| pages.iter().find_map(missing)).flatten()
    }

    /// Returns the capability that a request needs and that was not offered.
    fn missing(&self, method: &str, params: Option<&Json<'_>>) -> Option<&'static str> {
        let has = |key: &str| params.is_some_and(|it| it.get(key).is_some());
        let text = |key: &str| params.and_then(|it| it.get(key)).and_then(Json::as_str);
        let needed: &[(bool, &[&str], &'static str)] = match method {
            "roots/list" => &[(true, &["roots"], "roots were not offered")],
            "sampling/createMessage" => &[
                (true, &["sampling"], "sampling was not offered"),
                (
                    has("tools") || has("toolChoice"),
                    &["sampling", "tools"],
                    "sampling with tools was not offered",
                ),
                (
                    !self.is_old && text("includeContext").is_some_and(|it| it != "none"),
                    &["sampling", "context"],
                    "sampling with context was not offered",
                ),
                (
                    has("task"),
                    &["tasks", "requests", "sampling", "createMessage"],
                    "sampling as a task was not offered",
                ),
            ],
            "elicitation/create" => &[
                (true, &["elicitation"], "elicitation was not offered"),
                (
                    text("mode") == Some("url"),
                    &["elicitation", "url"],
                    "elicitation by URL was not offered",
                ),
                (
                    text("url").is_some_and(|it| !it.starts_with("http")),
                    &["no client offers this"],
                    "an address that is no web page",
                ),
                (
                    has("task"),
                    &["tasks", "requests", "elicitation", "create"],
                    "elicitation as a task was not offered",
                ),
            ],
            _ => &[],
        };
        let missing = needed.iter().find(|(is_needed, path, _)| *is_needed && !self.offers(path));
        missing.map(|(_, _, reason)| *reason)
    }

    fn offers(&self, path: &[&str]) -> bool {
        let mut place = self.capabilities.as_ref();
        for key in path {
            place = place.and_then(|it| it.get(key));
        }
        place.is_some_and(|it| !matches!(it, Json::Null | Json::Bool(false)))
    }
}

/// Copies a value, so that it outlives its line.
fn owned(value: Option<&Json<'_>>) -> Json<'static> {
    match value {
        None | Some(Json::Null) => Json::Null,
        Some(Json::Bool(it)) => Json::Bool(*it),
        Some(Json::Number(it)) => Json::Number(it.clone().into_owned().into()),
        Some(Json::String(it)) => Json::String(it.clone().into_owned().into()),
        Some(Json::Array(it)) => Json::Array(it.iter().map(|it| owned(Some(it))).collect()),
        Some(Json::Object(members)) => {
            let member = |(key, value): &(std::borrow::Cow<'_, str>, Json<'_>)| {
                (key.clone().into_owned().into(), owned(Some(value)))
            };
            Json::Object(members.iter().map(member).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(offered: &str, request: &str, is_fine: bool) {
        let mut offer = Offer::default();
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"capabilities":{offered}}}}}"#
        );
        offer.handle_client(line.as_bytes());
        let message = messages_of(request.as_bytes()).unwrap().remove(0);
        assert_eq!(offer.objection(&message).is_none(), is_fine, "{offered} {request}");
    }

    #[test]
    fn a_request_needs_its_capability_and_each_part_that_it_uses() {
        let sampling = r#"{"id":1,"method":"sampling/createMessage","params":{}}"#;
        check("{}", sampling, false);
        check(r#"{"sampling":{}}"#, sampling, true);
        check(r#"{"sampling":{}}"#, &sampling.replace("\"id\":1,", ""), false);
        let tools = sampling.replace("{}", r#"{"tools":[]}"#);
        check(r#"{"sampling":{}}"#, &tools, false);
        check(r#"{"sampling":{"tools":{}}}"#, &tools, true);
        let url = r#"{"id":1,"method":"elicitation/create","params":{"mode":"url"}}"#;
        check(r#"{"elicitation":{}}"#, url, false);
        check(r#"{"elicitation":{"url":{}}}"#, url, true);
        check(r#"{"elicitation":{}}"#, &url.replace("url", "form"), true);
        check("{}", r#"{"id":1,"method":"ping"}"#, true);
        check("{}", r#"{"id":1,"method":"roots/list"}"#, false);
    }
}
