//! A server on rmcp's own transports, to test a client with: `peer_server stdio|http`.
//!
//! It offers the same tools as the servers in `tests/peers`; the example `check_server` uses all of
//! them.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{Write, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequest,
    InputRequests, InputRequiredResult, ListPromptsResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument, PromptMessage,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, Role, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// Tools and their parameters.
const TOOLS: &[(&str, &[(&str, &str)])] = &[
    ("echo", &[("text", "string")]),
    ("big", &[("bytes", "integer")]),
    ("fail", &[("message", "string")]),
    ("progress", &[("steps", "integer")]),
    ("sleep", &[("ms", "integer")]),
    ("ask", &[]),
    ("change", &[]),
    ("mark", &[("file", "string"), ("line", "string")]),
    ("about", &[]),
];

#[derive(Clone, Default)]
struct Peer {
    cancelled: Arc<AtomicU64>,
    changed: Arc<Notify>,
    sessions: Arc<LocalSessionManager>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let peer = Peer::default();
    if std::env::args().nth(1).as_deref() != Some("http") {
        peer.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let port = std::env::var("PORT").unwrap_or_else(|_| "0".into());
    let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    writeln!(stdout(), "listening on http://{}/mcp", listener.local_addr()?)?;
    let sessions = Arc::clone(&peer.sessions);
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(move || Ok(peer.clone()), sessions, config);
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            // A client that disconnects is no failure.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Peer {
    async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64).unwrap_or_default();
        let words = |name: &str| string(&arguments, name);
        let said = match &*request.name {
            "echo" => words("text"),
            "big" => "x".repeat(usize::try_from(number("bytes")).unwrap_or_default()),
            "fail" => {
                return Ok(CallToolResult::error(vec![ContentBlock::text(words("message"))]).into());
            }
            "progress" => {
                report(&context, u32::try_from(number("steps")).unwrap_or_default()).await;
                "done".to_owned()
            }
            "sleep" => {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(number("ms"))) => {}
                    // Counted, so that a client can check that its cancellation arrived.
                    () = context.ct.cancelled() => drop(self.cancelled.fetch_add(1, Ordering::Relaxed)),
                }
                "awake".to_owned()
            }
            "ask" => return ask(&request, &context).await,
            "change" => {
                if is_stateless(&context) {
                    // `notify_one` is remembered, so a listener that waits only later is notified
                    // too.
                    self.changed.notify_one();
                } else {
                    let told = context.peer.notify_tool_list_changed().await;
                    told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                }
                "changed".to_owned()
            }
            "mark" => {
                let file = OpenOptions::new().create(true).append(true).open(words("file"));
                let line = format!("{}\n", words("line"));
                let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
                written.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                "marked".to_owned()
            }
            "about" => json!({
                "pid": std::process::id(),
                "cancelled": self.cancelled.load(Ordering::Relaxed),
                "sessions": self.sessions.sessions.read().await.len(),
            })
            .to_string(),
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(text(said))
    }
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        ServerConfig::new(capabilities.enable_resources().enable_prompts().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.iter().map(|(name, parameters)| {
            let types =
                parameters.iter().map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })));
            let schema =
                json!({ "type": "object", "properties": types.collect::<serde_json::Map<_, _>>() });
            let schema = schema.as_object().cloned().unwrap_or_default();
            Tool::new(*name, "", Arc::new(schema))
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("peer://greeting", "greeting")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = ResourceContents::text("Hello from the resource", request.uri);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let arguments = Some(vec![PromptArgument::new("name")]);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new(
            "greet",
            Some("Greets."),
            arguments,
        )]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let words = format!("Greet {}", string(&arguments, "name"));
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, words)]).into())
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(asked.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.changed.notified() => {
                    // The listener has gone.
                    if context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

async fn report(context: &RequestContext<RoleServer>, steps: u32) {
    // Without a token the client does not want progress.
    let Some(token) = context.meta.get_progress_token() else { return };
    for step in 1..=steps {
        let report = ProgressNotificationParam::new(token.clone(), f64::from(step));
        let _ = context.peer.notify_progress(report.with_total(f64::from(steps))).await;
    }
}

/// Asks for a name: with a request to the client, or since 2026-07-28 with a result that requires
/// input.
async fn ask(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let schema = json!({
        "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"],
    });
    let internal = |error: String| ErrorData::internal_error(error, None);
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Who are you?".into(),
        requested_schema: serde_json::from_value(schema)
            .map_err(|error| internal(error.to_string()))?,
    };
    let answer = if !is_stateless(context) {
        let answer = context.peer.create_elicitation(question).await;
        answer.map_err(|error| internal(error.to_string()))?.content.unwrap_or_default()
    } else if let Some(answer) = request.input_responses.as_ref().and_then(|it| it.get("name")) {
        answer.get("content").cloned().unwrap_or_default()
    } else {
        let question = InputRequest::Elicitation(ElicitRequest::new(question));
        let wanted = InputRequests::from_iter([("name".to_owned(), question)]);
        return Ok(InputRequiredResult::new(Some(wanted), None).into());
    };
    Ok(text(format!("Hello, {}!", string(&answer, "name"))))
}

fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn string(object: &Value, name: &str) -> String {
    object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn text(words: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(words)]).into()
}
