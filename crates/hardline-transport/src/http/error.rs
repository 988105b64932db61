//! Error texts for people: what happened, and what to do about it.

use std::error::Error as _;
use std::fmt::Write as _;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::limits::Limits;
use reqwest::Response;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

use super::body::{self, Kind};
use super::classify::SHOWN_BYTES;
use super::link::Sent;
use super::retry_after::retry_after;
use super::settings::Address;
use crate::Secrets;
use crate::client::{Answer, AuthHints, HttpError, TransportError};

/// Limit on the bytes of a login hint.
const MAX_HINT_BYTES: usize = 4096;
/// Limit on the bytes of a library's error text.
const MAX_CAUSE_BYTES: usize = 400;
const NO_ANSWER: &str = "it accepted the request but sent no answer to it";
const AUTH_SERVER: &str = "mcp-auth-server";
const DPOP_NONCE: &str = "dpop-nonce";

/// Reads a response with an error status. It is an answer if its body is an error with the
/// request's id.
pub(super) async fn answer_or_refusal(
    response: Response,
    id: i64,
    limits: &Limits,
) -> Result<Answer, TransportError> {
    let (refusal, body) = read(response, limits).await;
    let answer = Answer::read(body, id, &mut Decoder::new(limits));
    answer.ok().flatten().ok_or_else(|| TransportError::Http(Box::new(refusal)))
}

/// Reads a response with an error status.
pub(super) async fn refusal(response: Response, limits: &Limits) -> TransportError {
    TransportError::Http(Box::new(read(response, limits).await.0))
}

async fn read(response: Response, limits: &Limits) -> (HttpError, Vec<u8>) {
    let mut error = HttpError::new(response.status().as_u16(), String::new());
    error.auth = auth_hints(response.headers());
    error.retry_after = retry_after(response.headers());
    let is_html = Kind::of(&response) == Kind::Html;
    let secrets = sent(&response);
    // Some servers repeat the request's headers in their error page.
    let body = secrets.hide_in_bytes(body::read_start(response).await);
    error.reason = if is_html || looks_like_html(&body) {
        web_page(error.status)
    } else {
        advice(error.status).to_owned()
    };
    error.excerpt = Excerpt::new(body.trim_ascii(), SHOWN_BYTES).to_string();
    if let Ok(Frame::Message(_, value)) = Decoder::new(limits).decode(&body) {
        error.message = Some(value.text().into());
    }
    (error, body)
}

/// Creates the error for a success response that cannot be the answer to a request.
pub(super) async fn no_answer(response: Response) -> TransportError {
    let mut error = HttpError::new(response.status().as_u16(), String::new());
    let kind = Kind::of(&response);
    let secrets = sent(&response);
    let body = secrets.hide_in_bytes(body::read_start(response).await);
    error.reason = if kind == Kind::Html || looks_like_html(&body) {
        web_page(error.status)
    } else if body.is_empty() || matches!(error.status, 202 | 204) {
        NO_ANSWER.to_owned()
    } else {
        "the answer is neither application/json nor text/event-stream; is the URL right?".to_owned()
    };
    error.excerpt = Excerpt::new(body.trim_ascii(), SHOWN_BYTES).to_string();
    TransportError::Http(Box::new(error))
}

/// Returns the secret header values of the request, which the body may repeat.
fn sent(response: &Response) -> Secrets {
    response.extensions().get::<Sent>().map(Sent::secrets).unwrap_or_default()
}

/// Creates the error for a success response with an empty body.
pub(super) fn empty(status: u16) -> TransportError {
    TransportError::Http(Box::new(HttpError::new(status, NO_ANSWER)))
}

/// Creates the error for a request without a response. Only a failure before anything was sent
/// proves that the server did not process the request.
pub(super) fn unsent(address: &Address, error: reqwest::Error) -> TransportError {
    let origin = address.origin();
    // Both happen before the first byte of the request leaves.
    let is_unsent = error.is_connect() || error.is_builder();
    let cause = cause(error);
    if is_unsent {
        let hint = match &cause {
            it if it.contains("refused") => "; is the server running?",
            it if it.contains("dns") || it.contains("lookup") => "; is the name right?",
            it if it.contains("InvalidContentType") => "; does it speak TLS at all? Try http://",
            it if it.contains("ertificate") => {
                "; add your own certificate authority to the system's certificate store"
            }
            _ => "",
        };
        return TransportError::Unreachable(format!("cannot reach {origin}: {cause}{hint}"));
    }
    TransportError::Interrupted(format!("{origin} did not answer: {cause}"))
}

/// Creates the error for an answer that broke off.
pub(super) fn broken(error: reqwest::Error) -> TransportError {
    TransportError::Interrupted(format!("the answer broke off: {}", cause(error)))
}

/// Returns the underlying causes of an error, without addresses.
pub(super) fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = String::new();
    let mut source = error.source();
    while let Some(error) = source {
        let part = error.to_string();
        // Many errors repeat the text of their cause, and the client's own text only says that it
        // failed.
        if !text.contains(&part) && !part.starts_with("client error (") {
            let separator = if text.is_empty() { "" } else { ": " };
            let _ = write!(text, "{separator}{part}");
        }
        source = error.source();
    }
    if text.is_empty() {
        text = error.to_string();
    }
    Excerpt::new(text.as_bytes(), MAX_CAUSE_BYTES).to_string()
}

fn advice(status: u16) -> &'static str {
    match status {
        400 => "it does not accept the request",
        401 => "it requires authentication: send an Authorization header",
        403 => "it does not allow this: check the credentials and what they permit",
        404 => "there is nothing at this URL; MCP endpoints often end in /mcp or /sse",
        405 => "it does not take messages at this URL; MCP endpoints often end in /mcp or /sse",
        406 => "it offers neither JSON nor an event stream as an answer",
        415 => "it does not take JSON at this URL; is it an MCP server?",
        429 => "it received too many requests: try again later",
        300..400 => "it redirects without naming a target",
        500..600 => "it failed internally: try again later, or check its log",
        _ => "it gave no reason",
    }
}

fn web_page(status: u16) -> String {
    // Most wrong URLs lead to a website, so say that instead of a JSON error.
    let page = "this looks like a web page, is the URL right? MCP endpoints often end in /mcp";
    match status {
        401 | 403 | 429 | 500..600 => format!("{}; {page}", advice(status)),
        _ => page.to_owned(),
    }
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    let has =
        |prefix: &[u8]| start.get(..prefix.len()).is_some_and(|it| it.eq_ignore_ascii_case(prefix));
    has(b"<!doctype html") || has(b"<html")
}

/// Reads the login hints from the headers of a response.
pub(super) fn auth_hints(headers: &HeaderMap) -> AuthHints {
    // There may be several challenges, in one header or in several.
    let hint = |name| {
        let mut text = String::new();
        for value in headers.get_all(name) {
            let room = MAX_HINT_BYTES.saturating_sub(text.len());
            let value = value.as_bytes();
            let separator = if text.is_empty() { "" } else { ", " };
            text.push_str(separator);
            text.push_str(&String::from_utf8_lossy(value.get(..room).unwrap_or(value)));
        }
        headers.contains_key(name).then_some(text)
    };
    AuthHints {
        www_authenticate: hint(WWW_AUTHENTICATE.as_str()),
        auth_server: hint(AUTH_SERVER),
        dpop_nonce: hint(DPOP_NONCE),
    }
}
