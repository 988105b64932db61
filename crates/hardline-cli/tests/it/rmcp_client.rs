//! rmcp's own client against `hardline demo-server`, alone and with malformed lines sent in between.
//!
//! `cargo xtask test clients` does the same with the official SDKs in other languages.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may panic, and say what it left out"
)]

use std::path::Path;
use std::process::{Command as StdCommand, Stdio};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock, GetPromptRequestParams,
    ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams, Request,
    ResourceContents,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions, RunningService,
};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time;

const DEADLINE: Duration = Duration::from_secs(60);
/// Time after which rmcp kills a server that has not exited.
const KILLED_AFTER: Duration = Duration::from_secs(3);
const STEPS: u32 = 5;

const HARDLINE: &str = env!("CARGO_BIN_EXE_hardline");
const SHIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/clients/shim.py");

struct Client {
    progress: mpsc::Sender<ProgressNotificationParam>,
}

impl ClientHandler for Client {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.send(params).await.unwrap();
    }
}

type Session = RunningService<RoleClient, Client>;

#[tokio::test]
async fn initializes() {
    run(ClientLifecycleMode::Initialize, "2025-11-25", server(HARDLINE)).await;
}

#[tokio::test]
async fn discovers() {
    run(discover(), "2026-07-28", server(HARDLINE)).await;
}

#[tokio::test]
async fn initializes_and_is_not_troubled_by_malformed_lines() {
    run_shimmed(ClientLifecycleMode::Initialize, "2025-11-25").await;
}

#[tokio::test]
async fn discovers_and_is_not_troubled_by_malformed_lines() {
    run_shimmed(discover(), "2026-07-28").await;
}

pub(crate) fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

fn server(program: &str) -> Command {
    let mut command = Command::new(program);
    command.arg("demo-server").kill_on_drop(true);
    command
}

/// Like [`run`], with a shim in between that checks the answers to the malformed lines.
async fn run_shimmed(lifecycle: ClientLifecycleMode, version: &str) {
    let has_python = StdCommand::new("python3").arg("--version").stdout(Stdio::null()).status();
    if has_python.is_err() {
        eprintln!("not tested: python3 is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let mut shim = Command::new("python3");
    shim.args([SHIM, "run", HARDLINE, "demo-server"]).kill_on_drop(true);
    shim.env("HARDLINE_SHIM_REPORT", &report);
    run(lifecycle, version, shim).await;
    check(&report);
}

#[track_caller]
fn check(report: &Path) {
    let output = StdCommand::new("python3").args([SHIM, "check"]).arg(report).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

pub(crate) async fn run(lifecycle: ClientLifecycleMode, version: &str, server: Command) {
    let (progress, seen) = mpsc::channel(STEPS as usize);
    let server = TokioChildProcess::new(server).unwrap();
    let session = async {
        let client = Client { progress };
        let mut session = client.serve_with_lifecycle(server, lifecycle).await.unwrap();
        assert_eq!(session.peer_info().unwrap().protocol_version.as_str(), version);
        use_all(&session, seen).await;
        let closing = Instant::now();
        session.close().await.unwrap();
        assert!(closing.elapsed() < KILLED_AFTER, "the server did not go by itself");
    };
    time::timeout(DEADLINE, session).await.expect("the session should end in time");
}

async fn use_all(session: &Session, mut seen: mpsc::Receiver<ProgressNotificationParam>) {
    let tools = session.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["big", "echo", "env", "fail", "progress", "sleep"]);

    echoes(session, "Grüße, \"wörld\"\n\u{2028}\u{0} \u{1f600}").await;
    let big = call(session, "big", json!({"bytes": 1_000_000})).await;
    assert_eq!(text(&big).len(), 1_000_000);
    let failed = call(session, "fail", json!({"message": "as asked"})).await;
    assert_eq!((text(&failed), failed.is_error), ("as asked", Some(true)));

    call(session, "progress", json!({"steps": STEPS, "ms": 1})).await;
    for step in 1..=STEPS {
        let progress = seen.recv().await.unwrap();
        assert_eq!((progress.progress, progress.total), (step.into(), Some(STEPS.into())));
    }

    let read = ReadResourceRequestParams::new("demo://greeting");
    let contents = session.read_resource(read).await.unwrap().contents;
    let [ResourceContents::TextResourceContents { text, .. }] = &*contents else {
        panic!("{contents:?}");
    };
    assert!(text.starts_with("Hello"), "{text}");

    let get = GetPromptRequestParams::new("greet").with_arguments(object(json!({"name": "Ada"})));
    let prompt = session.get_prompt(get).await.unwrap();
    let message = prompt.messages[0].content.as_text().unwrap();
    assert!(message.text.contains("Ada"), "{message:?}");

    let sleep =
        ClientRequest::CallToolRequest(Request::new(params("sleep", json!({"ms": 60_000}))));
    let options = PeerRequestOptions::no_options();
    let sleep = session.send_cancellable_request(sleep, options).await.unwrap();
    echoes(session, "the server has read the call by now").await;
    sleep.cancel(Some("changed my mind".into())).await.unwrap();
    echoes(session, "after the cancelled call").await;
}

async fn echoes(session: &Session, words: &str) {
    let result = call(session, "echo", json!({"text": words})).await;
    assert_eq!(text(&result), words);
}

async fn call(session: &Session, tool: &'static str, arguments: Value) -> CallToolResult {
    session.call_tool(params(tool, arguments)).await.unwrap()
}

fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(object(arguments))
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn text(result: &CallToolResult) -> &str {
    let [ContentBlock::Text(content)] = &*result.content else {
        panic!("{:?}", result.content);
    };
    &content.text
}
