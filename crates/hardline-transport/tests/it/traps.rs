//! Behavior of rmcp that would end a session, seen from the other end.

use std::sync::Arc;
use std::time::Duration;

use hardline_transport::{EndpointSettings, Role};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    InitializeRequestParams, InitializeResult, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::peer::{Peer, pair};

/// Tools of the service: `wait` until released, `panic`, `forever`; `sample` asks the client and
/// returns its answer.
#[derive(Clone, Default)]
struct Service {
    go: Arc<Notify>,
    is_legacy_only: bool,
    refuses: bool,
}

impl ServerHandler for Service {
    async fn initialize(
        &self,
        _: InitializeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if self.refuses {
            return Err(ErrorData::invalid_request("not you", None));
        }
        Ok(self.get_info())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*request.name {
            "wait" => self.go.notified().await,
            "panic" => panic!("as asked"),
            "forever" => context.ct.cancelled().await,
            "roots" => {
                #[expect(deprecated, reason = "older protocol versions have it")]
                let roots = context.peer.list_roots().await;
                return Ok(text(&format!("{:?}", roots.map(|_| ()))).into());
            }
            _ => {}
        }
        Ok(text("done").into())
    }

    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        if self.is_legacy_only {
            vec![ProtocolVersion::V_2025_06_18].into()
        } else {
            ProtocolVersion::KNOWN_VERSIONS.into()
        }
    }
}

fn text(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn initialize(version: &str) -> String {
    let params = json!({
        "protocolVersion": version, "capabilities": {"roots": {}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params}).to_string()
}

fn call(id: u32, tool: &str) -> String {
    let params = json!({"name": tool, "arguments": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn modern(id: u32, method: &str, version: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta}}).to_string()
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Runs the service to its end. Returns true if `serve` and `waiting` succeeded.
fn run(service: Service, settings: EndpointSettings) -> (tokio::task::JoinHandle<bool>, Peer) {
    let (connection, peer, _) = pair(Role::Server, settings);
    let running = tokio::spawn(async move {
        match service.serve(connection).await {
            Ok(running) => running.waiting().await.is_ok(),
            Err(_) => false,
        }
    });
    (running, peer)
}

async fn answer_of(peer: &mut Peer) -> Value {
    serde_json::from_str(&peer.line().await.unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn early_notifications_and_answers_do_not_end_the_session() {
    let (running, mut peer) = run(Service::default(), EndpointSettings::default());
    peer.send(&[
        INITIALIZED,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","method":"no/such/notification","params":{"a":[]}}"#,
        "not json",
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#,
        INITIALIZED,
        &initialize("2025-06-18"),
        INITIALIZED,
        &call(6, "done"),
    ])
    .await;
    assert_eq!(answer_of(&mut peer).await["error"]["code"], -32700);
    assert_eq!(answer_of(&mut peer).await["id"], 5);
    assert_eq!(answer_of(&mut peer).await["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer_of(&mut peer).await["id"], 6);
    peer.finish().await;
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_end_before_initialize_is_no_error() {
    for (is_legacy_only, lines) in [
        (false, vec![]),
        (true, vec![]),
        (false, vec![r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned()]),
        (true, vec![modern(1, "tools/list", "2026-07-28")]),
        (false, vec!["garbage".to_owned(), INITIALIZED.to_owned()]),
    ] {
        let service = Service { is_legacy_only, ..Service::default() };
        let (running, mut peer) = run(service, EndpointSettings::default());
        for line in &lines {
            peer.send(&[line]).await;
        }
        peer.finish().await;
        assert!(running.await.unwrap(), "{lines:?}");
        let answers = peer.lines().await;
        assert_eq!(answers.len(), lines.len().min(1), "{answers:?}");
        assert!(answers.iter().all(|answer| !answer.contains("hardline/closed")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_version_does_not_open_a_session() {
    let service = Service { is_legacy_only: true, ..Service::default() };
    let (running, mut peer) = run(service, EndpointSettings::default());
    peer.send(&[&modern(1, "tools/list", "2026-07-28")]).await;
    assert_eq!(answer_of(&mut peer).await["error"]["code"], -32022);
    // rmcp alone would fail on the first of these.
    peer.send(&[INITIALIZED, &initialize("2025-06-18"), &call(2, "done")]).await;
    assert_eq!(answer_of(&mut peer).await["id"], "init");
    assert_eq!(answer_of(&mut peer).await["id"], 2);
    peer.finish().await;
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_session_without_initialize_works_and_leaves_ids_out() {
    let (running, mut peer) = run(Service::default(), EndpointSettings::default());
    peer.send(&[
        &modern(1, "server/discover", "2026-07-28"),
        &modern(2, "tools/list", "2026-07-28"),
    ])
    .await;
    assert_eq!(answer_of(&mut peer).await["id"], 1);
    assert_eq!(answer_of(&mut peer).await["id"], 2);
    peer.send(&["noise"]).await;
    let reply = answer_of(&mut peer).await;
    assert_eq!((reply.get("id"), &reply["error"]["code"]), (None, &json!(-32700)));
    peer.finish().await;
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_is_answered_after_the_input_has_ended() {
    let service = Service::default();
    let go = Arc::clone(&service.go);
    let (running, mut peer) = run(service, EndpointSettings::default());
    peer.send(&[&initialize("2025-11-25"), &call(7, "wait")]).await;
    peer.finish().await;
    assert_eq!(answer_of(&mut peer).await["id"], "init");
    tokio::time::sleep(Duration::from_secs(30)).await;
    go.notify_one();
    assert_eq!(answer_of(&mut peer).await["id"], 7);
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_leaves_its_request_to_the_grace() {
    let settings = EndpointSettings::default().with_grace(Duration::from_secs(3));
    let (running, mut peer) = run(Service::default(), settings);
    peer.send(&[&initialize("2025-11-25"), &call(7, "panic"), &call(8, "done")]).await;
    peer.finish().await;
    let answers = peer.lines().await;
    assert_eq!(answers.len(), 3);
    assert!(answers[2].contains(r#""id":7"#) && answers[2].contains("-32603"), "{answers:?}");
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_is_cancelled_at_the_end() {
    let settings = EndpointSettings::default().with_grace(Duration::from_secs(3));
    let (running, mut peer) = run(Service::default(), settings);
    peer.send(&[&initialize("2025-11-25"), &call(7, "forever")]).await;
    peer.finish().await;
    let start = tokio::time::Instant::now();
    assert_eq!(peer.lines().await.len(), 2);
    assert!(running.await.unwrap());
    // rmcp alone would wait five seconds more.
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_not_answered_and_others_are() {
    let (running, mut peer) = run(Service::default(), EndpointSettings::default());
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    peer.send(&[&initialize("2025-11-25"), &call(7, "forever"), &call(8, "done"), cancel]).await;
    peer.finish().await;
    let answers = peer.lines().await;
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert!(answers[1].contains(r#""id":8"#));
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_request_to_a_client_that_is_gone_fails_and_the_call_is_answered() {
    let (running, mut peer) = run(Service::default(), EndpointSettings::default());
    peer.send(&[&initialize("2025-11-25"), INITIALIZED, &call(7, "roots")]).await;
    assert_eq!(answer_of(&mut peer).await["id"], "init");
    assert_eq!(answer_of(&mut peer).await["method"], "roots/list");
    peer.finish().await;
    let answer = answer_of(&mut peer).await;
    assert_eq!(answer["id"], 7);
    assert!(answer["result"].to_string().contains("the connection is closed"), "{answer}");
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn batches_work_where_they_were_negotiated() {
    let (running, mut peer) = run(Service::default(), EndpointSettings::default());
    peer.send(&[&initialize("2025-03-26")]).await;
    assert_eq!(answer_of(&mut peer).await["result"]["protocolVersion"], "2025-03-26");
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#;
    let batch = format!(
        r#"[{},{},{{"jsonrpc":"2.0","id":8}},{INITIALIZED},[],{},{cancel}]"#,
        call(7, "done"),
        call(7, "done"),
        call(9, "forever"),
    );
    peer.send(&[&batch]).await;
    let answers = answer_of(&mut peer).await;
    let mut codes: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["id"], it["error"]["code"]))
        .collect();
    codes.sort();
    assert_eq!(codes, ["7 -32600", "7 null", "8 -32600", "null -32600"]);
    peer.finish().await;
    assert!(running.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_refused_initialize_is_answered_before_serve_returns() {
    let (connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    let service = Service { refuses: true, ..Service::default() };
    peer.send(&[&initialize("2025-06-18")]).await;
    assert!(service.serve(connection).await.is_err());
    // No task has run since then, so a program that exits now has answered.
    let mut reading = std::pin::pin!(peer.line());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(line) = reading.as_mut().poll(&mut context) else {
        panic!("no answer yet")
    };
    assert!(line.unwrap().contains("not you"));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_cancelled_answers_what_is_open() {
    let (connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    let token = tokio_util::sync::CancellationToken::new();
    let serving = tokio::spawn(Service::default().serve_with_ct(connection, token.clone()));
    peer.send(&[&initialize("2025-06-18"), &call(7, "wait")]).await;
    assert_eq!(answer_of(&mut peer).await["id"], "init");
    let running = serving.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    token.cancel();
    let answer = answer_of(&mut peer).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32603)));
    drop(running);
}

#[tokio::test(start_paused = true)]
async fn a_session_without_any_opening_works() {
    let (connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    let running = rmcp::service::serve_directly(Service::default(), connection, None);
    peer.send(&[&call(7, "roots")]).await;
    let request = answer_of(&mut peer).await;
    assert_eq!(request["method"], "roots/list");
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": []}});
    peer.send(&[&answer.to_string()]).await;
    let answer = answer_of(&mut peer).await;
    assert!(answer["result"].to_string().contains("Ok"), "{answer}");
    // The session continues after that.
    peer.send(&[INITIALIZED, &call(8, "done")]).await;
    assert_eq!(answer_of(&mut peer).await["id"], 8);
    peer.finish().await;
    running.waiting().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_initialize_cannot_be_taken_back() {
    let (running, mut peer) = run(Service::default(), EndpointSettings::default());
    let second = initialize("2025-06-18").replace("\"init\"", "\"again\"");
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"again"}}"#;
    peer.send(&[&initialize("2025-06-18"), &second, cancel]).await;
    peer.finish().await;
    let start = tokio::time::Instant::now();
    assert_eq!(peer.lines().await.len(), 2);
    assert!(running.await.unwrap());
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_is_answered_if_panics_are_caught() {
    let (connection, mut peer, _) = pair(Role::Server, EndpointSettings::default());
    let service = hardline_transport::catch_panics(Service::default());
    let serving =
        tokio::spawn(async move { service.serve(connection).await.unwrap().waiting().await });
    peer.send(&[&initialize("2025-11-25"), &call(7, "panic"), &call(8, "done")]).await;
    peer.finish().await;
    let answers = peer.lines().await;
    assert_eq!(answers.len(), 3);
    let answer = answers.iter().find(|it| it.contains(r#""id":7"#)).unwrap();
    assert!(answer.contains("panicked") && !answer.contains("as asked"), "{answer}");
    serving.await.unwrap().unwrap();
}
