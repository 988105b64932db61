//! Conversion of wire messages to rmcp's types.
//!
//! rmcp itself parses a message into a tree of values and then tries each of its types in turn.
//! Here the method selects the type, so the text is parsed once. If the type refuses a message, it
//! is not turned into a custom one, as rmcp would do: the sender gets an error that states the
//! problem.
//!
//! A method that rmcp does not know becomes a custom request or notification with all of its
//! parameters.

#![cfg_attr(
    not(all(feature = "rmcp-client", feature = "rmcp-server")),
    allow(dead_code, reason = "some of it is for the other role")
)]
#![expect(deprecated, reason = "older protocol versions have methods that newer ones removed")]

use hardline_wire::json::{Kind, Value};
use hardline_wire::message::{ErrorResponse, Message, Request};
use rmcp::model::*;
use serde::de::DeserializeOwned;

use super::to_rmcp;
use crate::state::Unfit;

/// Converts a message that a server received.
pub(super) fn for_server(
    message: &Message<'_>,
    value: Value<'_>,
) -> Result<ClientJsonRpcMessage, Unfit> {
    let text = value.text();
    Ok(match message {
        Message::Request(request) => {
            JsonRpcMessage::request(client_request(request, text)?, to_rmcp(&request.id))
        }
        Message::Notification(notification) => {
            JsonRpcMessage::notification(client_notification(&notification.method, text)?)
        }
        Message::Response(response) => {
            JsonRpcMessage::response(read(response.result.text())?, to_rmcp(&response.id))
        }
        Message::Error(error) => error_response(error)?,
    })
}

/// Converts a message that a client received.
pub(super) fn for_client(
    message: &Message<'_>,
    value: Value<'_>,
) -> Result<ServerJsonRpcMessage, Unfit> {
    let text = value.text();
    Ok(match message {
        Message::Request(request) => {
            no_array(request.params)?;
            JsonRpcMessage::request(server_request(&request.method, text)?, to_rmcp(&request.id))
        }
        Message::Notification(notification) => {
            JsonRpcMessage::notification(server_notification(&notification.method, text)?)
        }
        Message::Response(response) => {
            JsonRpcMessage::response(read(response.result.text())?, to_rmcp(&response.id))
        }
        Message::Error(error) => error_response(error)?,
    })
}

fn client_request(request: &Request<'_>, text: &str) -> Result<ClientRequest, Unfit> {
    no_array(request.params)?;
    Ok(match &*request.method {
        "tools/call" => call_tool(request.params)?.into(),
        "ping" => read::<PingRequest>(text)?.into(),
        "initialize" => read::<InitializeRequest>(text)?.into(),
        "server/discover" => read::<DiscoverRequest>(text)?.into(),
        "completion/complete" => read::<CompleteRequest>(text)?.into(),
        "logging/setLevel" => read::<SetLevelRequest>(text)?.into(),
        "prompts/get" => read::<GetPromptRequest>(text)?.into(),
        "prompts/list" => read::<ListPromptsRequest>(text)?.into(),
        "resources/list" => read::<ListResourcesRequest>(text)?.into(),
        "resources/templates/list" => read::<ListResourceTemplatesRequest>(text)?.into(),
        "resources/read" => read::<ReadResourceRequest>(text)?.into(),
        "subscriptions/listen" => read::<SubscriptionsListenRequest>(text)?.into(),
        "resources/subscribe" => read::<SubscribeRequest>(text)?.into(),
        "resources/unsubscribe" => read::<UnsubscribeRequest>(text)?.into(),
        "tools/list" => read::<ListToolsRequest>(text)?.into(),
        "tasks/get" => read::<GetTaskRequest>(text)?.into(),
        "tasks/update" => read::<UpdateTaskRequest>(text)?.into(),
        "tasks/cancel" => read::<CancelTaskRequest>(text)?.into(),
        // Not an error: a server may define its own methods.
        _ => read::<CustomRequest>(text)?.into(),
    })
}

/// Converts a tool call, the most frequent request. Its parameters can be long, so this avoids the
/// copy that rmcp makes to take `_meta` out of them.
fn call_tool(params: Option<Value<'_>>) -> Result<CallToolRequest, Unfit> {
    let params = params.ok_or_else(|| Unfit::params("Invalid params: missing field `params`"))?;
    let mut params: CallToolRequestParams = read(params.text())?;
    // rmcp expects `_meta` among the extensions of a request.
    let meta = params.meta.take();
    let mut request = CallToolRequest::new(params);
    if let Some(meta) = meta {
        request.extensions.insert(meta);
    }
    Ok(request)
}

fn client_notification(method: &str, text: &str) -> Result<ClientNotification, Unfit> {
    Ok(match method {
        "notifications/cancelled" => read::<CancelledNotification>(text)?.into(),
        "notifications/progress" => read::<ProgressNotification>(text)?.into(),
        "notifications/initialized" => read::<InitializedNotification>(text)?.into(),
        "notifications/roots/list_changed" => read::<RootsListChangedNotification>(text)?.into(),
        _ => read::<CustomNotification>(text)?.into(),
    })
}

fn server_request(method: &str, text: &str) -> Result<ServerRequest, Unfit> {
    Ok(match method {
        "ping" => read::<PingRequest>(text)?.into(),
        "sampling/createMessage" => read::<CreateMessageRequest>(text)?.into(),
        "roots/list" => read::<ListRootsRequest>(text)?.into(),
        "elicitation/create" => read::<ElicitRequest>(text)?.into(),
        _ => read::<CustomRequest>(text)?.into(),
    })
}

fn server_notification(method: &str, text: &str) -> Result<ServerNotification, Unfit> {
    Ok(match method {
        "notifications/cancelled" => read::<CancelledNotification>(text)?.into(),
        "notifications/progress" => read::<ProgressNotification>(text)?.into(),
        "notifications/message" => read::<LoggingMessageNotification>(text)?.into(),
        "notifications/resources/updated" => read::<ResourceUpdatedNotification>(text)?.into(),
        "notifications/resources/list_changed" => {
            read::<ResourceListChangedNotification>(text)?.into()
        }
        "notifications/tools/list_changed" => read::<ToolListChangedNotification>(text)?.into(),
        "notifications/prompts/list_changed" => read::<PromptListChangedNotification>(text)?.into(),
        "notifications/subscriptions/acknowledged" => {
            read::<SubscriptionsAcknowledgedNotification>(text)?.into()
        }
        "notifications/tasks" => read::<TaskStatusNotification>(text)?.into(),
        _ => read::<CustomNotification>(text)?.into(),
    })
}

fn error_response<Req, Resp, Not>(
    error: &ErrorResponse<'_>,
) -> Result<JsonRpcMessage<Req, Resp, Not>, Unfit> {
    // rmcp stores error codes as `i32`.
    let code = i32::try_from(error.code)
        .map_err(|_| Unfit::params(format!("the error code {} is out of range", error.code)))?;
    // `"data": null` means the same as no data.
    let data = error.data.filter(|data| data.kind() != Kind::Null);
    let data = data.map(|data| read(data.text())).transpose()?;
    let message = error.message.clone().into_owned();
    let id = error.id.as_ref().map(to_rmcp);
    Ok(JsonRpcMessage::error(ErrorData::new(ErrorCode(code), message, data), id))
}

/// Refuses parameters by position, which MCP does not have.
fn no_array(params: Option<Value<'_>>) -> Result<(), Unfit> {
    match params {
        Some(params) if params.kind() == Kind::Array => {
            Err(Unfit::params("Invalid params: an array, where all methods of MCP take an object"))
        }
        _ => Ok(()),
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, Unfit> {
    serde_json::from_str(text).map_err(|error| Unfit::params(format!("Invalid params: {error}")))
}
