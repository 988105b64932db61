//! A client that answers what a server asks: a question to the user (elicitation) and a request to a language
//! model (sampling).
//!
//! ```sh
//! cargo run -q -p hardline --example answer_requests   # starts itself as the server
//! ```
#![expect(
    deprecated,
    reason = "rmcp deprecates requests from servers, which 2026-07-28 replaces by results that ask"
)]

use std::env;
use std::error::Error;
use std::io::{Write, stdout};

use hardline::client::model::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, SamplingMessage,
};
use hardline::client::{Connection, ConnectionSettings, RequestContext, RpcError, Versions};
use hardline::process::{Command, Environment};
use rmcp::service::RequestContext as ToolContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("serve") {
        Curious.serve(hardline::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let settings = ConnectionSettings::default()
        .with_server_name("curious")
        .on_elicitation(ask_user)
        .on_sampling(ask_model)
        // This server sends requests, which 2026-07-28 does not allow. With the default, its questions
        // would fail with "capability not declared".
        .with_versions(Versions::WithHandshake);
    let command = Command::new(env::current_exe()?, Environment::Base).arg("serve");
    let server = Connection::spawn(&command, settings).await?;
    for tool in ["greet", "rhyme"] {
        writeln!(stdout(), "{tool}: {:?}", server.call_tool(tool, ()).await?.content)?;
    }
    server.close().await;
    Ok(())
}

/// Answers a question of the server. A real client shows it to the user, together with the server's name.
async fn ask_user(
    question: ElicitRequestParams,
    context: RequestContext,
) -> Result<ElicitResult, RpcError> {
    let ElicitRequestParams::FormElicitationParams { message, .. } = question else {
        return Ok(ElicitResult::new(ElicitationAction::Decline));
    };
    tell(&format!("{} asks: {message}", context.server().unwrap_or("a server")))?;
    Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ann" })))
}

/// Answers a request to a language model. A real client asks the user first, and then a model.
async fn ask_model(
    request: CreateMessageRequestParams,
    context: RequestContext,
) -> Result<CreateMessageResult, RpcError> {
    let server = context.server().unwrap_or("a server");
    tell(&format!("{server} asks the model for up to {} tokens", request.max_tokens))?;
    // The future is dropped when the server cancels its request. Work in another thread has to look itself.
    let answer = tokio::task::spawn_blocking(move || {
        if context.is_cancelled() { String::new() } else { "Roses are red".to_owned() }
    });
    let answer = answer.await.map_err(|_| RpcError::internal("the model failed"))?;
    Ok(CreateMessageResult::new(SamplingMessage::assistant_text(answer), "a-model".to_owned()))
}

fn tell(line: &str) -> Result<(), RpcError> {
    writeln!(stdout(), "{line}").map_err(|error| RpcError::internal(&error.to_string()))
}

/// A server whose tools ask the client.
struct Curious;

#[tool_router]
impl Curious {
    /// Greets the user by name.
    #[tool]
    async fn greet(&self, context: ToolContext<RoleServer>) -> Result<String, ErrorData> {
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        let question = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: "What is your name?".into(),
            requested_schema: serde_json::from_value(schema).map_err(internal)?,
        };
        let answer = context.peer.create_elicitation(question).await.map_err(internal)?;
        let name = answer.content.as_ref().and_then(|it| it.get("name")?.as_str());
        Ok(format!("Hello, {}!", name.unwrap_or("stranger")))
    }

    /// Lets the client's model write a rhyme.
    #[tool]
    async fn rhyme(&self, context: ToolContext<RoleServer>) -> Result<String, ErrorData> {
        let request = CreateMessageRequestParams::new(
            vec![SamplingMessage::user_text("A rhyme, please.")],
            50,
        );
        let answer = context.peer.create_message(request).await.map_err(internal)?;
        Ok(format!("{:?}", answer.message.content))
    }
}

#[tool_handler]
impl ServerHandler for Curious {}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
