//! The client that the official conformance suite drives. It uses everything that a server offers.
//!
//! The suite starts it with a server's URL and sets the scenario in the environment:
//!
//! ```sh
//! cargo build -p hardline --example conformance_client
//! npx @modelcontextprotocol/conformance client --scenario tools_call \
//!     --command target/debug/examples/conformance_client
//! ```
//!
//! `cargo xtask test conformance` runs all client scenarios.

mod login;

use std::env;
use std::error::Error;
use std::io::{Write, stdout};

use hardline::client::model::{ElicitRequestParams, ElicitResult, ElicitationAction, Tool};
use hardline::client::{self, Connection, ConnectionSettings, RpcError, Version};
use hardline::transport::http::HttpSettings;
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::args().skip(1).last().ok_or("usage: conformance_client URL")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();

    // The connection detects the protocol version of the server.
    let settings = ConnectionSettings::default()
        .with_info("hardline-conformance-client", env!("CARGO_PKG_VERSION"))
        .on_elicitation(|question, _| async move { accept(&question) });
    let mut config = HttpSettings::new(&url)?;
    if scenario.starts_with("auth/") {
        config = config.with_header_source(login::auth(&url, &scenario, &context()?)?);
    }
    let server = Connection::connect_with(config, settings).await?;
    say(&format!("{scenario}: the server speaks {}", server.version().as_str()))?;
    if let Ok(wanted) = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") {
        // A server may negotiate an older version, but not one of the other era.
        if server.version().has_handshake() != wanted.parse::<Version>()?.has_handshake() {
            return Err(format!("the scenario is about {wanted}").into());
        }
    }
    match scenario.as_str() {
        "json-schema-2020-12-preservation" => send_schema_back(&server).await?,
        _ => use_everything(&server).await?,
    }
    // Over HTTP this deletes the session.
    server.close().await;
    Ok(())
}

/// Calls every tool, reads every resource and gets every prompt.
async fn use_everything(server: &Connection) -> Result<(), Box<dyn Error>> {
    let tools = server.list_tools().await?;
    for (name, arguments) in calls(&tools)? {
        // The connection answers questions of the server during a call, in the form that the
        // protocol version has for them.
        match server.call_tool(&name, arguments).await {
            Ok(result) => say(&format!("{name}: {:?}", result.content))?,
            // The server does not have this tool. Any other error means that the call was not
            // delivered or not answered.
            Err(client::Error::Rpc(error)) => say(&format!("{name}: {error}"))?,
            Err(error) => return Err(error.into()),
        }
    }
    let capabilities = server.server().capabilities;
    if capabilities.resources.is_some() {
        for resource in server.list_resources().await? {
            server.read_resource(&resource.uri).await?;
        }
    }
    if capabilities.prompts.is_some() {
        for prompt in server.list_prompts().await? {
            server.get_prompt(&prompt.name, Value::Null).await?;
        }
    }
    Ok(())
}

/// Returns the calls to make: those of the scenario, or one of each listed tool.
fn calls(tools: &[Tool]) -> Result<Vec<(String, Value)>, Box<dyn Error>> {
    let context = context()?;
    if let Some(wanted) = context.get("toolCalls").and_then(Value::as_array) {
        let call = |it: &Value| Some((it["name"].as_str()?.to_owned(), it["arguments"].clone()));
        return Ok(wanted.iter().filter_map(call).collect());
    }
    let call =
        |tool: &Tool| (tool.name.to_string(), fill(&Value::from((*tool.input_schema).clone())));
    Ok(tools.iter().map(call).collect())
}

/// Returns the context that the suite passes for the scenario.
fn context() -> Result<Value, Box<dyn Error>> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".into());
    Ok(serde_json::from_str(&context)?)
}

/// Sends the schema of a tool back unchanged: a client must not drop keywords that it does not
/// know.
async fn send_schema_back(server: &Connection) -> Result<(), Box<dyn Error>> {
    let tools = server.list_tools().await?;
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let schema = &tool.ok_or("the tool is not there")?.input_schema;
    server.call_tool("json_schema_echo", json!({ "schema": schema })).await?;
    Ok(())
}

/// Answers a question with the defaults of its form.
fn accept(question: &ElicitRequestParams) -> Result<ElicitResult, RpcError> {
    let form =
        serde_json::to_value(question).map_err(|error| RpcError::internal(&error.to_string()))?;
    let mut result = ElicitResult::new(ElicitationAction::Accept);
    result.content = Some(fill(form.get("requestedSchema").unwrap_or(&Value::Null)));
    Ok(result)
}

/// Returns an object for a simple schema: properties with a default have it, required ones have a
/// sample.
fn fill(schema: &Value) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut object = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(default) = property.get("default") {
            object.insert(name.clone(), default.clone());
        } else if required.contains(&name.as_str()) {
            object.insert(name.clone(), sample(property));
        }
    }
    object.into()
}

fn sample(property: &Value) -> Value {
    match property["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("something"),
    }
}

fn say(line: &str) -> std::io::Result<()> {
    writeln!(stdout(), "{line}")
}
