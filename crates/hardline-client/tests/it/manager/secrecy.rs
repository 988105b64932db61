//! Secret values of configured servers never appear in errors, no matter which side wrote them.

use std::sync::Arc;

use hardline_client::config::{self, Dialect, FixedVariables, ServerConfig};
use hardline_client::manager::{ConfiguredServer, Connect as _};
use hardline_client::{Connection, ConnectionSettings, Error};
use hardline_testkit::http::Server;
use hardline_transport::client::{BoxFuture, TransportError};
use hardline_transport::http::{HeaderSource, Headers, Target};
use serde_json::json;

const TOKEN: &str = "SEKRIT-0123456789";

fn server(entry: &str) -> ServerConfig {
    let text = format!(r#"{{"mcpServers": {{"a": {{{entry}}}}}}}"#);
    let path = std::path::Path::new("x.json");
    let mut file = config::parse_in(path, text.as_bytes(), Dialect::Generic, None).unwrap();
    file.servers.remove(0)
}

fn configured(entry: &str) -> ConfiguredServer {
    ConfiguredServer::new(server(entry))
        .with_variables(Arc::new(FixedVariables::new().with("TOK", TOKEN)))
}

async fn connect(entry: &str) -> Result<Connection, Error> {
    configured(entry).connect(ConnectionSettings::default()).await
}

#[track_caller]
fn check(error: &Error, expected: &str) {
    let shown = error.to_string();
    assert!(shown.contains(expected), "{shown}");
    let whole = format!("{shown} {error:?}").to_lowercase();
    assert!(!whole.contains("sekrit"), "{whole}");
}

#[cfg(unix)]
#[tokio::test]
async fn what_cannot_be_started_is_told_without_values() {
    for (entry, expected) in [
        (r#""command": "/nonexistent/${TOK}""#, "/nonexistent/[redacted]"),
        (r#""command": "/bin/sh", "cwd": "/nonexistent/${TOK}""#, "/nonexistent/[redacted]"),
    ] {
        check(&connect(entry).await.unwrap_err(), expected);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_last_words_of_a_process_are_told_without_values() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".env");
    std::fs::write(&file, format!("FROM_FILE={TOKEN}file\n")).unwrap();
    let script = r#"echo \"key $KEY $LITERAL $FROM_FILE.\" >&2; exit 3"#;
    let entry = format!(
        r#""command": "/bin/sh", "args": ["-c", "{script}"], "envFile": "{}",
        "env": {{"KEY": "${{TOK}}", "LITERAL": "{TOKEN}literal"}}"#,
        file.display()
    );
    let server = configured(&entry)
        .prepare(|command| command.stderr(hardline_transport::process::Stderr::tail_only()));
    let error = server.connect(ConnectionSettings::default()).await.unwrap_err();
    check(&error, "key [redacted] [redacted] [redacted].");
}

#[tokio::test]
async fn an_address_is_told_without_values() {
    let error = connect(r#""url": "http://${TOK}.localhost:9/mcp""#).await.unwrap_err();
    check(&error, "cannot reach http://[redacted].localhost:9");
}

/// Refuses with an error that names the URL, as a server that requires a login does.
#[derive(Debug)]
struct Wanting(String);

impl HeaderSource for Wanting {
    fn headers<'a>(&'a self, _: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>> {
        let error = TransportError::Login(format!("{} wants a login", self.0));
        Box::pin(std::future::ready(Err(error)))
    }
}

#[tokio::test]
async fn who_wants_a_login_is_told_without_values() {
    for way in ["", r#", "type": "sse""#, r#", "type": "http""#] {
        let server = configured(&format!(r#""url": "http://127.0.0.1:9/x/${{TOK}}"{way}"#))
            .with_credentials(|_, url| Some(Arc::new(Wanting(url.to_owned()))));
        let error = server.connect(ConnectionSettings::default()).await.unwrap_err();
        check(&error, "http://127.0.0.1:9/x/[redacted] wants a login");
    }
}

#[tokio::test]
async fn what_a_server_repeats_is_told_without_values() {
    for status in [200, 400, 401, 403, 500] {
        let server = Server::start(async move |it| {
            let authorization = it.request.header("authorization").unwrap_or_default().to_owned();
            let key = it.request.header("x-key").unwrap_or_default().to_owned();
            let kind = if status == 200 { "application/json" } else { "text/plain" };
            let body = format!("echo {authorization} {key} end");
            it.respond(status, &[&format!("Content-Type: {kind}")], body).await;
        });
        let entry = format!(
            r#""url": "{}", "headers": {{"Authorization": "Bearer ${{TOK}}", "X-Key": "{TOKEN}literal"}}"#,
            server.url("/mcp")
        );
        let error = connect(&entry).await.unwrap_err();
        check(&error, "echo [redacted] [redacted] end");
    }
}

#[tokio::test]
async fn errors_and_results_that_repeat_a_value_are_told_without_it() {
    let server = Server::start(async |it| {
        let method = it.rpc_method();
        match method.as_str() {
            "initialize" => {
                it.answer(r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#).await;
            }
            "tools/call" => {
                let error = format!(r#"{{"code":-32000,"message":"bad {TOKEN}!"}}"#);
                let id = it.id();
                it.json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)).await;
            }
            "tools/list" => it.answer(&format!(r#"{{"tools":"{TOKEN}"}}"#)).await,
            "prompts/get" => it.answer(&format!(r#"{{"messages":"{TOKEN}"}}"#)).await,
            _ if it.request.method == "POST" && method != "server/discover" => it.status(202).await,
            _ => it.status(405).await,
        }
    });
    let entry = format!(r#""url": "{}", "headers": {{"X-Key": "${{TOK}}"}}"#, server.url("/mcp"));
    let connection = connect(&entry).await.unwrap();
    check(&connection.call_tool("x", json!({})).await.unwrap_err(), "bad [redacted]!");
    check(&connection.list_tools().await.unwrap_err(), "[redacted]");
    let raw = connection.request("prompts/get", &json!({})).await.unwrap();
    assert!(raw.get().contains(TOKEN), "what is asked for is left as it is");
    let parsed = raw.parse::<hardline_client::model::GetPromptResult>("prompts/get");
    check(&parsed.unwrap_err(), "[redacted]");
    connection.close().await;
}

#[test]
fn what_is_kept_of_a_server_depends_on_its_variables() {
    let print = |entry: &str, value: Option<&str>| {
        let variables =
            value.iter().fold(FixedVariables::new(), |all, value| all.with("TOK", *value));
        ConfiguredServer::new(server(entry)).with_variables(Arc::new(variables)).fingerprint()
    };
    for entry in [
        r#""command": "${TOK}""#,
        r#""command": "x", "args": ["${TOK}"]"#,
        r#""command": "x", "cwd": "/${TOK}""#,
        r#""url": "https://h/${TOK}""#,
    ] {
        let one = print(entry, Some("one"));
        assert!(one.is_some(), "{entry}");
        assert_eq!(one, print(entry, Some("one")), "{entry}");
        assert_ne!(one, print(entry, Some("two")), "{entry}");
        assert_eq!(print(entry, None), None, "{entry}");
    }
    // Such a value is usually secret, and a file name is not.
    let entry = r#""url": "https://h/", "headers": {"X-Key": "${TOK}"}"#;
    assert_eq!(print(entry, Some("one")), print(entry, Some("two")));
}
