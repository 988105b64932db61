//! Servers that are started as processes, with a guard on their lines.
#![cfg(unix)]

use hardline_client::{Connection, ConnectionSettings, Versions};
use hardline_guard::policy::Policy;
use hardline_transport::process::{Command, Environment};
use serde_json::json;

use super::{Notes, call};

/// Answers `initialize`; a test's script handles the calls.
const GREETING: &str = r#"
id() { expr "$1" : '.*"id":\([0-9]*\)'; }
read -r line
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}'
read -r line
"#;

async fn spawn(script: &str, notes: &Notes) -> Connection {
    let script = format!("{GREETING}{script}");
    let command = Command::new("sh", Environment::Base).arg("-c").arg(script);
    let settings = ConnectionSettings::default()
        .with_versions(Versions::WithHandshake)
        .with_guard(notes.observed(Policy::default()));
    Connection::spawn(&command, settings).await.unwrap()
}

#[tokio::test]
async fn a_server_is_guarded_from_its_first_line() {
    let notes = Notes::default();
    let server = spawn(
        r#"
        echo 'a log line'
        while read -r line; do
            id=$(id "$line")
            printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"one\n' "$id"
            printf '{"jsonrpc":"2.0","id":7,"method":"roots/list"}\n'
            printf 'two"}]}}\n'
        done
        "#,
        &notes,
    )
    .await;
    let text = call(server.clone()).await.unwrap();
    assert!(text.starts_with("one\n") && text.contains("roots/list") && text.ends_with("\ntwo"));
    server.close().await;
    let told = notes.take();
    assert!(told.contains(&"noise a log line".to_owned()), "{told:?}");
    assert!(told.iter().any(|it| it.starts_with("frame.split")), "{told:?}");
}

#[tokio::test]
async fn reports_the_status_and_stderr_of_a_server_that_dies() {
    let notes = Notes::default();
    let server =
        spawn("read -r line; echo 'out of luck' >&2; printf '{\"json'; exit 3", &notes).await;
    let error = server.call_tool("echo", json!({})).await.unwrap_err();
    let text = error.to_string();
    assert!(error.is_closed() && text.contains('3') && text.contains("out of luck"), "{text}");
    assert!(!server.is_connected());
    assert_eq!(notes.take(), ["noise {\"json"]);
}

/// The server waits only for the end of its input, so it exits once that is closed.
#[tokio::test]
async fn closing_the_connection_closes_the_servers_input() {
    let notes = Notes::default();
    let path = std::env::temp_dir().join(format!("hardline-guard-{}", std::process::id()));
    let script = format!("while read -r line; do :; done; echo gone > '{}'", path.display());
    let server = spawn(&script, &notes).await;
    server.close().await;
    let written = std::fs::read(&path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(written.unwrap(), b"gone\n");
}
