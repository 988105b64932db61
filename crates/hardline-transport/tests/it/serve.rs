//! A service served to the end of its session by one call.

use std::time::Duration;

use hardline_transport::{over, serve};
use rmcp::ServerHandler;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData};
use rmcp::service::{QuitReason, RequestContext, RoleServer};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

struct Panics;

impl ServerHandler for Panics {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        panic!("as asked")
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

#[tokio::test(start_paused = true)]
async fn a_panic_is_answered_and_does_not_outlive_the_input() {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let serving = tokio::spawn(serve(Panics, over(theirs)));
    let (input, mut output) = tokio::io::split(ours);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any"}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    output.write_all(format!("{INITIALIZE}\n{ready}\n{call}\n").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(input).lines();
    assert!(lines.next_line().await.unwrap().unwrap().contains("serverInfo"));
    let answer = lines.next_line().await.unwrap().unwrap();
    assert!(answer.contains(r#""id":1"#) && answer.contains("panicked"), "{answer}");
    output.shutdown().await.unwrap();
    let end = tokio::time::timeout(Duration::from_secs(5), serving).await;
    assert!(matches!(end.unwrap().unwrap(), Ok(QuitReason::Closed)));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_before_any_request_is_no_error() {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    drop(ours);
    assert!(matches!(serve(Panics, over(theirs)).await, Ok(QuitReason::Closed)));
}
