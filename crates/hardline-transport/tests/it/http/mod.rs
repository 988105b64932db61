//! HTTP client transports, tested against scripted servers.

mod answer;
mod close;
mod event;
mod listener;
mod refusal;
mod resume;
mod session;
mod source;
mod sse;

use std::time::Duration;

use hardline_testkit::http::Server;
use hardline_transport::client::{
    Answer, HttpError, OneWayMessage, OutgoingRequest, Transport, TransportError, TransportEvent,
    TransportEvents,
};
use hardline_transport::http::{HttpSettings, Streamable};
use hardline_wire::version::Version;

/// Longer than any step here takes.
const LONG: Duration = Duration::from_secs(20);

pub(crate) fn settings(server: &Server) -> HttpSettings {
    HttpSettings::new(&server.url("/mcp")).unwrap()
}

/// Creates a transport to the server, and takes its events.
pub(crate) fn connect(server: &Server) -> (Streamable, TransportEvents) {
    connect_with(settings(server))
}

pub(crate) fn connect_with(settings: HttpSettings) -> (Streamable, TransportEvents) {
    let transport = Streamable::new(settings).unwrap();
    let events = transport.take_events().unwrap();
    assert!(transport.take_events().is_none());
    (transport, events)
}

pub(crate) fn request(id: i64, method: &str) -> OutgoingRequest {
    OutgoingRequest::new(
        id,
        method,
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#),
    )
}

pub(crate) fn notification(method: &str) -> OneWayMessage {
    OneWayMessage::notification(format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#))
}

/// A response as raw bytes.
pub(crate) fn result(id: i64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Sends a request, and panics if there is no outcome in time.
pub(crate) async fn call(
    transport: &impl Transport,
    id: i64,
    method: &str,
) -> Result<Answer, TransportError> {
    in_time(transport.request(request(id, method))).await
}

/// Sends a request that must be answered.
pub(crate) async fn text(transport: &impl Transport, id: i64, method: &str) -> String {
    call(transport, id, method).await.unwrap().text().to_owned()
}

/// Sends a request that must fail with an HTTP error.
pub(crate) async fn http_error(transport: &impl Transport, id: i64) -> HttpError {
    match call(transport, id, "ping").await {
        Err(TransportError::Http(error)) => *error,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("it takes too long")
}

/// Opens a session of this version.
pub(crate) async fn open(transport: &Streamable, version: Version) {
    text(transport, 0, "initialize").await;
    in_time(transport.agree(version)).await;
}

/// Returns the next event as text.
pub(crate) async fn next(events: &mut TransportEvents) -> String {
    match in_time(events.recv()).await {
        Some(TransportEvent::Notification { method, .. }) => format!("notification {method}"),
        Some(TransportEvent::Request { id, method, .. }) => format!("request {id} {method}"),
        Some(TransportEvent::Error { reason, .. }) => format!("error {reason}"),
        Some(TransportEvent::Closed(reason)) => format!("closed {reason}"),
        None => "none".to_owned(),
        other => panic!("{other:?}"),
    }
}
