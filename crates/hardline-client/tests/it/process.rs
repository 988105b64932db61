//! Servers that run as processes, and how they end.

use std::path::Path;
use std::time::Duration;

use hardline_client::{Connection, ConnectionSettings, Error, Version};
use hardline_transport::process::{Command, Environment, Stderr};
use serde_json::json;

/// Rejects the probe and performs the handshake; a test's script continues from there.
const GREETING: &str = r#"
    reply() { read -r line && printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
    reply 1 '"error":{"code":-32601,"message":"?"}'
    reply 2 '"result":{"protocolVersion":"2025-11-25","capabilities":{}}'
    read -r initialized
"#;

fn shell(script: &str) -> Command {
    Command::new("/bin/sh", Environment::Base).args(["-c", script]).stderr(Stderr::tail_only())
}

async fn greeted(script: &str) -> Connection {
    let command = shell(&format!("{GREETING}{script}"));
    Connection::spawn(&command, ConnectionSettings::default()).await.unwrap()
}

/// Returns the process id that a script wrote to a file, and removes the file.
async fn written_id(file: &Path) -> i32 {
    let id = in_time(async {
        loop {
            match std::fs::read_to_string(file).ok().and_then(|it| it.trim().parse::<i32>().ok()) {
                Some(id) => break id,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await;
    std::fs::remove_file(file).unwrap();
    id
}

async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(25), future).await.expect("this takes too long")
}

#[tokio::test]
async fn reports_the_exit_code_and_stderr_of_a_child_that_dies_during_a_call() {
    let script = "read -r call; echo 'disk on fire' >&2; printf '\\033[31mred\\n' >&2; exit 7";
    let server = greeted(script).await;
    let error = in_time(server.call_tool("x", json!({}))).await.unwrap_err();
    let text = error.to_string();
    assert!(error.is_closed(), "{error:?}");
    assert!(text.contains("exited with code 7"), "{text}");
    assert!(text.contains("disk on fire") && !text.contains('\u{1b}'), "{text}");
    let error = in_time(server.call_tool("x", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("exited with code 7"), "{error}");
}

#[tokio::test]
async fn a_child_that_is_killed_fails_all_its_requests_at_once() {
    let server = greeted("for i in 1 2 3 4 5 6 7 8 9 10; do read -r call; done; kill -9 $$").await;
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move { server.call_tool("x", json!({})).await })
        })
        .collect();
    for call in calls {
        let error = in_time(call).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("signal 9"), "{error}");
    }
}

#[tokio::test]
async fn a_child_that_closes_its_output_but_lives_fails_its_requests_too() {
    let server = greeted("read -r call; exec >&-; sleep 1000").await;
    let error = in_time(server.call_tool("x", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("closed its standard output"), "{error}");
    in_time(server.close()).await;
}

#[tokio::test]
async fn restarts_a_server_that_exits_on_the_probe() {
    let script = r#"
        read -r line
        case "$line" in
            *server/discover*) exit 1 ;;
            *) printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{}}}\n' ;;
        esac
        read -r initialized; read -r more
    "#;
    let server = Connection::spawn(&shell(script), ConnectionSettings::default()).await.unwrap();
    assert_eq!(server.version(), Version::V2025_03_26);
    in_time(server.close()).await;
}

#[tokio::test]
async fn reports_a_server_that_cannot_start_or_exits_at_once() {
    let missing = Command::new("/no/such/program", Environment::Base);
    let error = Connection::spawn(&missing, ConnectionSettings::default()).await.unwrap_err();
    assert!(matches!(error, Error::Start(_)), "{error:?}");
    assert!(error.to_string().contains("/no/such/program"), "{error}");
    let script = "echo 'cannot find module' >&2; exit 3";
    let error = in_time(Connection::spawn(&shell(script), ConnectionSettings::default()))
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("code 3") && text.contains("cannot find module"), "{text}");
}

#[tokio::test]
async fn a_flood_of_standard_error_delays_no_answer() {
    let flood = "read -r call; head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; \
                 printf '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}\\n'; read -r end";
    let server = greeted(flood).await;
    in_time(server.call_tool("x", json!({}))).await.unwrap();
    in_time(server.close()).await;
    assert!(!server.is_connected());
}

#[tokio::test]
async fn dropping_the_connection_ends_the_process() {
    let directory = std::env::temp_dir();
    let file = directory.join(format!("hardline-client-{}-gone", std::process::id()));
    let _ = std::fs::remove_file(&file);
    // The script writes its id, and ignores the end of its input.
    let script = format!("echo $$ > '{}'; while :; do sleep 1000; done", file.display());
    let server = greeted(&script).await;
    let pid = written_id(&file).await;
    drop(server);
    in_time(async {
        while Path::new(&format!("/proc/{pid}")).exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn every_call_of_close_waits_for_the_end_of_the_process() {
    let file = std::env::temp_dir().join(format!("hardline-client-{}-twice", std::process::id()));
    let _ = std::fs::remove_file(&file);
    // The script ignores SIGTERM.
    let script = format!("trap '' TERM; echo $$ > '{}'; while :; do sleep 1; done", file.display());
    let server = greeted(&script).await;
    let pid = written_id(&file).await;
    let first = tokio::spawn({
        let server = server.clone();
        async move { server.close().await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    in_time(server.close()).await;
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    in_time(first).await.unwrap();
}
