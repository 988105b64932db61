//! rmcp's client on Hardline's sessions with child processes, with servers that behave and servers
//! that do not.

use std::time::{Duration, Instant};

use hardline::ChildEndpoint;
use hardline::EndpointSettings;
use hardline::process::{Command, Environment, Keeper, Stderr, Times};
use rmcp::model::{CallToolRequestParams, ClientRequest, PingRequest, Request};
use rmcp::service::{PeerRequestOptions, RunningService, ServiceError};
use rmcp::{RoleClient, ServiceExt};
use serde_json::{Value, json};

const HARDLINE: &str = env!("CARGO_BIN_EXE_hardline");
/// Far longer than any step takes, far shorter than a hanging test.
const DEADLINE: Duration = Duration::from_secs(30);

/// Script that answers `initialize` and then runs `$0`.
const GREETING: &str = r#"
read line
printf '%s\n' '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}'
read line
"#;

fn sh(script: &str) -> Command {
    Command::new("/bin/sh", Environment::Base)
        .args(["-c", &format!("{GREETING}{script}")])
        .stderr(Stderr::tail_only())
        .times(Times::default().with_exit(Duration::from_millis(300)))
}

async fn connect(command: &Command) -> RunningService<RoleClient, ()> {
    let server = ChildEndpoint::spawn(command, EndpointSettings::default()).unwrap();
    tokio::time::timeout(DEADLINE, ().serve(server)).await.unwrap().unwrap()
}

async fn ping(client: &RunningService<RoleClient, ()>) -> Result<(), ServiceError> {
    let request = ClientRequest::PingRequest(PingRequest::default());
    let sent = client.send_request(request);
    tokio::time::timeout(DEADLINE, sent).await.expect("an answer or an error").map(drop)
}

fn call(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

#[tokio::test]
async fn a_whole_session_with_the_demo_server() {
    for keeper in [false, true] {
        let mut command = Command::new(HARDLINE, Environment::Base).arg("demo-server");
        if keeper {
            command = command.keeper(Keeper::new(HARDLINE, ["keeper"]));
        }
        let server = hardline::spawn(&command).unwrap();
        let mut exit = server.watch().unwrap();
        let client = ().serve(server).await.unwrap();
        assert_eq!(client.list_all_tools().await.unwrap().len(), 6);
        let big = client.call_tool(call("big", &json!({"bytes": 1_000_000}))).await.unwrap();
        assert!(1_000_000 < serde_json::to_string(&big).unwrap().len());
        let sleep = call("sleep", &json!({"ms": 3_600_000}));
        let sleep = ClientRequest::CallToolRequest(Request::new(sleep));
        let options = PeerRequestOptions::no_options();
        let handle = client.send_request_with_option(sleep, options).await.unwrap();
        handle.cancel(None).await.unwrap();
        let echo = client.call_tool(call("echo", &json!({"text": "still here"}))).await.unwrap();
        assert!(format!("{echo:?}").contains("still here"));
        client.cancel().await.unwrap();
        let exit = tokio::time::timeout(DEADLINE, exit.wait()).await.unwrap();
        assert_eq!(exit.code(), Some(0), "{exit}");
    }
}

#[tokio::test]
async fn noise_and_broken_lines_of_a_server_cost_nothing_but_themselves() {
    let client = connect(&sh(r#"
        echo 'starting up...'
        printf '\377\376 not UTF-8\n\n{"level":"info","message":"a log line"}\n'
        echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":'
        while read line; do
            id=${line#*\"id\":}; id=${id%%,*}; id=${id%\}}
            echo "DEBUG answering $id"
            echo '{"jsonrpc":"2.0","id":'$id',"result":{}}'
        done
    "#))
    .await;
    for _ in 0..3 {
        ping(&client).await.unwrap();
    }
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_request_fails_at_once_when_its_server_dies() {
    let client =
        connect(&sh("read line; echo 'cannot open \u{1b}[31mthe database' >&2; exit 3")).await;
    let start = Instant::now();
    let error = ping(&client).await.unwrap_err().to_string();
    assert!(error.contains("exited with code 3"), "{error}");
    assert!(error.contains("the database") && !error.contains('\u{1b}'), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
    // Later requests fail too.
    assert!(ping(&client).await.is_err());
}

#[tokio::test]
async fn an_answer_is_not_lost_because_the_server_died_after_it() {
    let client =
        connect(&sh(r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; exit 0"#)).await;
    ping(&client).await.unwrap();
    assert!(ping(&client).await.is_err());
}

#[tokio::test]
async fn a_server_that_closes_its_output_and_lives_is_ended() {
    let command = sh("read line; exec >&-; while :; do read line || sleep 3600; done");
    let server = ChildEndpoint::spawn(&command, EndpointSettings::default()).unwrap();
    let mut exit = server.watch().unwrap();
    let client = ().serve(server).await.unwrap();
    let error = ping(&client).await.unwrap_err().to_string();
    assert!(error.contains("closed its standard output"), "{error}");
    tokio::time::timeout(DEADLINE, client.cancel()).await.unwrap().unwrap();
    let exit = tokio::time::timeout(DEADLINE, exit.wait()).await.unwrap();
    assert_eq!(exit.signal(), Some(15), "{exit}");
}

#[tokio::test]
async fn a_server_that_never_reads_does_not_hold_up_the_end() {
    let command = sh("trap '' TERM; while :; do sleep 3600; done");
    let server = ChildEndpoint::spawn(&command, EndpointSettings::default()).unwrap();
    let mut exit = server.watch().unwrap();
    let client = ().serve(server).await.unwrap();
    let text = "x".repeat(10_000_000);
    let sending = client.call_tool(call("echo", &json!({"text": text})));
    assert!(tokio::time::timeout(Duration::from_millis(300), sending).await.is_err());
    let start = Instant::now();
    tokio::time::timeout(DEADLINE, client.cancel()).await.unwrap().unwrap();
    let exit = tokio::time::timeout(DEADLINE, exit.wait()).await.unwrap();
    assert_eq!(exit.signal(), Some(9), "{exit}");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_that_dies_before_it_speaks_is_explained() {
    let command = Command::new("/bin/sh", Environment::Base)
        .args(["-c", "echo 'no such option: --frob' >&2; exit 64"])
        .stderr(Stderr::tail_only());
    let server = hardline::spawn(&command).unwrap();
    let error = tokio::time::timeout(DEADLINE, ().serve(server)).await.unwrap().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("code 64") && error.contains("--frob"), "{error}");
}
