//! HTTP headers that 2026-07-28 requires to repeat parts of a request.
//!
//! A tool's schema says which of its parameters are repeated, so the connection reads every tool list on its
//! way to the caller. If a server rejects the headers of a call, the connection lists the tools and sends
//! the call once more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hardline_transport::client::{Answer, AnswerOutcome, TransportKind};
use hardline_wire::encode::code;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::header::{Header, ParamHeaders, standard_headers};
use hardline_wire::json::{Checker, Value};
use hardline_wire::limits::Limits;

use super::message::Params;
use super::session::NegotiatedSession;
use super::{Inner, RequestOptions};

/// Limit on remembered tools of a server.
const MAX_TOOLS: usize = 10_000;

/// The parameters to repeat as headers, by tool. Tools without any are absent.
#[derive(Debug, Default)]
pub(super) struct ToolHeaders(Mutex<HashMap<String, Arc<ParamHeaders>>>);

impl ToolHeaders {
    /// Remembers the headers of the tools in `answer`, if it is a tool list from a stateless HTTP server.
    pub(super) fn learn(
        &self,
        inner: &Inner,
        session: &NegotiatedSession,
        method: &str,
        answer: &Answer,
    ) {
        // Only sessions without a handshake have such headers over HTTP, and only lists have schemas.
        if method != "tools/list"
            || !session.is_stateless()
            || inner.transport.kind() != TransportKind::Http
        {
            return;
        }
        let AnswerOutcome::Result(result) = answer.outcome() else { return };
        each_tool(result, |name, schema| {
            let headers = schema.and_then(|it| ParamHeaders::from_schema(it).ok());
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match headers.filter(|it| it.iter().next().is_some()) {
                Some(headers) if known.len() < MAX_TOOLS || known.contains_key(name) => {
                    known.insert(name.to_owned(), Arc::new(headers));
                }
                _ => {
                    // A tool that lost its headers must not be called with the old ones.
                    known.remove(name);
                }
            }
        });
    }

    /// Returns the headers of a request.
    pub(super) fn headers(&self, text: &str) -> Vec<Header> {
        // Our own request is decoded again so that headers and body cannot disagree.
        let mut decoder = Decoder::new(&Limits::default());
        let Ok(Frame::Message(message, _)) = decoder.decode(text.as_bytes()) else {
            return Vec::new();
        };
        let mut headers = standard_headers(&message).unwrap_or_default();
        if message.method() == Some("tools/call")
            && let Some(params) = message.params()
            && let Some(name) = params.get("name").and_then(|name| name.as_str())
        {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.get(name.as_ref()) {
                headers.extend(known.headers(params.get("arguments")).unwrap_or_default());
            }
        }
        headers
    }
}

/// Returns the headers that every request has.
pub(super) fn standard(text: &str) -> Vec<Header> {
    let mut decoder = Decoder::new(&Limits::default());
    match decoder.decode(text.as_bytes()) {
        Ok(Frame::Message(message, _)) => standard_headers(&message).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Returns true if the server rejected a call because of missing or different headers.
pub(super) fn has_wrong_headers(
    method: &str,
    session: &NegotiatedSession,
    answer: &Answer,
) -> bool {
    let is_refused =
        matches!(answer.outcome(), AnswerOutcome::Error { code: code::HEADER_MISMATCH, .. });
    is_refused && method == "tools/call" && session.is_stateless()
}

/// Returns the names of tools with invalid header definitions, which must not be used over HTTP.
pub(super) fn invalid(result: &str) -> Vec<String> {
    let mut names = Vec::new();
    each_tool(result, |name, schema| {
        if schema.is_some_and(|schema| ParamHeaders::from_schema(schema).is_err()) {
            names.push(name.to_owned());
        }
    });
    names
}

/// Calls `see` with the name and the input schema of each tool.
fn each_tool(result: &str, mut see: impl FnMut(&str, Option<Value<'_>>)) {
    let mut checker = Checker::new(&Limits::default());
    let Ok(checked) = checker.check(result.as_bytes()) else { return };
    let tools = checked.value.get("tools");
    for tool in tools.iter().flat_map(Value::elements) {
        if let Some(name) = tool.get("name").and_then(|name| name.as_str()) {
            see(&name, tool.get("inputSchema"));
        }
    }
}

impl Inner {
    /// Lists all tools only to learn their headers.
    pub(super) async fn list_for_headers(self: &Arc<Self>) {
        let mut cursor: Option<String> = None;
        for _ in 0..self.settings.max_pages {
            let Ok(params) = Params::new(&serde_json::json!({ "cursor": cursor })) else { return };
            let params = if cursor.is_some() { params } else { Params::default() };
            // Boxed to break the recursion: this request goes through `perform` as well.
            let listed =
                Box::pin(self.perform("tools/list", &params, &RequestOptions::default())).await;
            let page = listed.and_then(|page| page.parse::<super::typed::Page>("tools/list"));
            match page.ok().and_then(|page| page.next_cursor) {
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return,
            }
        }
    }
}
