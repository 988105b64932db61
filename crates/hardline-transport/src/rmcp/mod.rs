//! [`Endpoint`] as a transport of rmcp.
//!
//! Messages that fit rmcp's types reach the service; others are answered with an error. Some
//! behavior of rmcp is worked around here, because it would end a session:
//! - before a session is open, a notification or response makes `serve()` fail: both are dropped;
//! - so does the end of the input, which is not an error: see [`Opening`];
//! - a handler that never answers is told at the end that its request is cancelled.

mod decode;
mod opening;
mod panic;
#[cfg(feature = "rmcp-server")]
mod serve;

use hardline_wire::encode::code;
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::Message;
use rmcp::model::{
    CancelledNotificationParam, ErrorCode, ErrorData, JsonRpcError, JsonRpcMessage, NumberOrString,
    RequestId, ServerResult,
};
#[cfg(feature = "rmcp-client")]
use rmcp::model::{ClientNotification, ClientRequest};
#[cfg(feature = "rmcp-server")]
use rmcp::model::{ServerNotification, ServerRequest};
#[cfg(feature = "rmcp-client")]
use rmcp::service::RoleClient;
#[cfg(feature = "rmcp-server")]
use rmcp::service::RoleServer;
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;

use crate::endpoint::{CLOSED, Endpoint, SendError, Sending};
use crate::event::Dropped;
use crate::state::{Failure, Incoming, Role, Unfit, internal_error, rule};

pub(crate) use opening::Opening;
pub use panic::{CatchPanics, catch_panics};
#[cfg(feature = "rmcp-server")]
pub use serve::{ServeError, serve, serve_stdio, serve_stdio_with};

/// Differences between the two roles.
pub(crate) trait Side: ServiceRole {
    const ROLE: Role;

    /// Converts a message to rmcp's type.
    fn decode(message: &Message<'_>, value: Value<'_>) -> Result<RxJsonRpcMessage<Self>, Unfit>;

    /// Records how the session is opened. Returns true if the message may be handed to the service.
    fn opens(opening: &mut Opening, message: &RxJsonRpcMessage<Self>) -> bool;

    /// Returns the last message for a service whose session was never opened.
    fn last_word(opening: &mut Opening) -> Option<RxJsonRpcMessage<Self>>;

    /// Returns the version that this message negotiates.
    fn sent_version(message: &TxJsonRpcMessage<Self>) -> Option<&str>;
    fn received_version(message: &RxJsonRpcMessage<Self>) -> Option<&str>;

    /// Returns the request that this notification cancels.
    fn cancelled(notification: &Self::Not) -> Option<&RequestId>;

    /// Returns the method of one of our requests.
    fn method(request: &Self::Req) -> &str;
}

#[cfg(feature = "rmcp-server")]
impl Side for RoleServer {
    const ROLE: Role = Role::Server;

    fn decode(message: &Message<'_>, value: Value<'_>) -> Result<RxJsonRpcMessage<Self>, Unfit> {
        decode::for_server(message, value)
    }

    fn opens(opening: &mut Opening, message: &RxJsonRpcMessage<Self>) -> bool {
        opening.admit(message)
    }

    fn last_word(opening: &mut Opening) -> Option<RxJsonRpcMessage<Self>> {
        opening.last_word()
    }

    fn sent_version(message: &TxJsonRpcMessage<Self>) -> Option<&str> {
        agreed_version(message)
    }

    fn received_version(_message: &RxJsonRpcMessage<Self>) -> Option<&str> {
        None
    }

    fn cancelled(notification: &ServerNotification) -> Option<&RequestId> {
        match notification {
            ServerNotification::CancelledNotification(it) => it.params.request_id.as_ref(),
            _ => None,
        }
    }

    /// Returns an empty method: no request of a server needs special treatment.
    fn method(_request: &ServerRequest) -> &str {
        ""
    }
}

#[cfg(feature = "rmcp-client")]
impl Side for RoleClient {
    const ROLE: Role = Role::Client;

    fn decode(message: &Message<'_>, value: Value<'_>) -> Result<RxJsonRpcMessage<Self>, Unfit> {
        decode::for_client(message, value)
    }

    fn opens(_opening: &mut Opening, _message: &RxJsonRpcMessage<Self>) -> bool {
        true
    }

    fn last_word(_opening: &mut Opening) -> Option<RxJsonRpcMessage<Self>> {
        None
    }

    fn sent_version(_message: &TxJsonRpcMessage<Self>) -> Option<&str> {
        None
    }

    fn received_version(message: &RxJsonRpcMessage<Self>) -> Option<&str> {
        agreed_version(message)
    }

    fn cancelled(notification: &ClientNotification) -> Option<&RequestId> {
        match notification {
            ClientNotification::CancelledNotification(it) => it.params.request_id.as_ref(),
            _ => None,
        }
    }

    fn method(request: &ClientRequest) -> &str {
        request.method()
    }
}

/// Returns the version in the answer to `initialize`.
fn agreed_version<Req, Not>(message: &JsonRpcMessage<Req, ServerResult, Not>) -> Option<&str> {
    match message {
        JsonRpcMessage::Response(response) => match &response.result {
            ServerResult::InitializeResult(result) => Some(result.protocol_version.as_str()),
            _ => None,
        },
        _ => None,
    }
}

impl<R: Side> Transport<R> for Endpoint {
    type Error = SendError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<R>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        self.send_item::<R>(item).room()
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<R>> {
        // `stdio` cannot know the role before rmcp asks for a message.
        self.state.set_role(R::ROLE);
        loop {
            match self.receive_with(R::decode).await {
                Some(Incoming::Message(message)) => {
                    if let Some(version) = R::received_version(&message) {
                        self.note_version(version);
                    }
                    if R::opens(&mut self.opening, &message) {
                        return Some(message);
                    }
                    self.state.reporter().dropped(Dropped::EarlyNotification);
                }
                Some(Incoming::Failed(failure)) => return Some(failed(&failure)),
                Some(Incoming::Abandoned(id)) => {
                    // rmcp refuses a notification before the session is open.
                    if R::ROLE == Role::Client || self.opening.is_open() {
                        let params = CancelledNotificationParam::new(
                            Some(to_rmcp(&id)),
                            Some(CLOSED.to_owned()),
                        );
                        let cancelled = rmcp::model::CancelledNotification::new(params);
                        return Some(JsonRpcMessage::notification(cancelled.into()));
                    }
                }
                None => return R::last_word(&mut self.opening),
            }
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        Self::close(self).await
    }
}

#[cfg(all(unix, feature = "rmcp-client"))]
impl Transport<RoleClient> for crate::ChildEndpoint {
    type Error = SendError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        Transport::<RoleClient>::send(&mut self.connection, item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        Transport::<RoleClient>::receive(&mut self.connection).await
    }

    async fn close(&mut self) -> Result<(), SendError> {
        Self::close(self).await;
        Ok(())
    }
}

impl Endpoint {
    fn send_item<R: Side>(&mut self, item: TxJsonRpcMessage<R>) -> Sending {
        self.state.set_role(R::ROLE);
        if let Some(version) = R::sent_version(&item) {
            self.note_version(version);
        }
        match &item {
            JsonRpcMessage::Response(response) => {
                let id = response.id.clone();
                self.send_answer_to(&id, None, item)
            }
            JsonRpcMessage::Error(JsonRpcError { id: Some(id), error, .. }) => {
                let (id, code) = (id.clone(), error.code);
                self.send_answer_to(&id, Some(code), item)
            }
            // An error without an id answers no known request, so it bypasses the table.
            JsonRpcMessage::Error(_) => self.send_encoded(&item, Self::send_notification),
            JsonRpcMessage::Request(request) => {
                self.opening.note_sent();
                let (id, method) = (from_rmcp(&request.id), R::method(&request.request));
                self.send_encoded(&item, |connection, line| {
                    connection.send_request(id, method, line)
                })
            }
            JsonRpcMessage::Notification(notification) => {
                self.opening.note_sent();
                let sending = self.send_encoded(&item, Self::send_notification);
                if let Some(id) = R::cancelled(&notification.notification) {
                    // A peer does not answer a cancelled request, so do not wait for it.
                    self.cancel(&from_rmcp(id));
                }
                sending
            }
        }
    }

    fn send_encoded(
        &mut self,
        item: &impl Serialize,
        send: impl FnOnce(&mut Self, Vec<u8>) -> Sending,
    ) -> Sending {
        let mut line = self.take_buffer();
        match serde_json::to_writer(&mut line, item) {
            Ok(()) => send(self, line),
            Err(error) => Sending::done(Err(SendError::Encode(error.to_string()))),
        }
    }

    fn send_answer_to(
        &mut self,
        id: &RequestId,
        error: Option<ErrorCode>,
        item: impl Serialize + Send + 'static,
    ) -> Sending {
        // Asked before `settle`, which may mark the session as open.
        let is_unsure = self.opening.is_unsure();
        if self.opening.settle(id, error) {
            return Sending::done(Ok(()));
        }
        let id = from_rmcp(id);
        let whose = id.clone();
        let sending = self.answer_later(&id, move |line| {
            if let Err(error) = serde_json::to_writer(&mut *line, &item) {
                // The caller still needs an answer, so send an error instead.
                line.clear();
                let reason = format!("the answer cannot be written as JSON: {error}");
                let reply = internal_error(&whose, "transport.encode", &reason);
                line.extend_from_slice(reply.as_bytes().trim_ascii_end());
            }
            line.push(b'\n');
        });
        if is_unsure { sending.until_written(self) } else { sending }
    }

    fn note_version(&mut self, version: &str) {
        // With an unknown version, batches stay refused.
        if let Ok(version) = version.parse() {
            self.state.set_version(version);
        }
    }
}

/// Creates the error that a request without a usable answer gets.
fn failed<Req, Resp, Not>(failure: &Failure) -> JsonRpcMessage<Req, Resp, Not> {
    // rmcp shows the data beside the message, so the data must not repeat it.
    let reason = match failure.rule {
        rule::CLOSED => "the connection closed before an answer",
        _ => "the answer is unusable",
    };
    let data = serde_json::json!({ "hardline": { "rule": failure.rule, "reason": reason } });
    let code = ErrorCode(i32::try_from(code::INTERNAL_ERROR).unwrap_or(i32::MIN));
    let error = ErrorData::new(code, failure.reason.clone(), Some(data));
    JsonRpcMessage::error(error, Some(to_rmcp(&failure.id)))
}

fn to_rmcp(id: &Id<'_>) -> RequestId {
    match id.as_i64() {
        Some(number) => NumberOrString::Number(number),
        None => NumberOrString::String(id.as_str().unwrap_or_default().into()),
    }
}

fn from_rmcp(id: &RequestId) -> Id<'static> {
    match id {
        NumberOrString::Number(number) => Id::from_integer(*number),
        NumberOrString::String(text) => Id::from_string(text),
    }
}
