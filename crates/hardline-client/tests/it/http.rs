//! Connections over HTTP, against a server that a test scripts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hardline_client::once::SingleRequest;
use hardline_client::{
    Connection, ConnectionSettings, Error, RequestOptions, TransportError, Version, Versions,
};
use hardline_testkit::http::{Exchange, Server};
use hardline_transport::http::HttpSettings;
use serde_json::{Value, json};

use crate::peer::{discovered, text};

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;

/// Answers the requests that open a session of 2025-11-25. Returns false for all others.
async fn greet(it: &mut Exchange, session: &str) -> bool {
    match (it.request.method.as_str(), it.rpc_method().as_str()) {
        ("GET", _) => it.status(405).await,
        ("DELETE", _) => it.status(200).await,
        (_, "server/discover") => it.status(400).await,
        (_, "initialize") => {
            let header = format!("Mcp-Session-Id: {session}");
            let kind = "Content-Type: application/json";
            it.respond(200, &[kind, &header], it.result(GREETING)).await;
        }
        (_, method) if method.starts_with("notifications/") => it.status(202).await,
        _ => return false,
    }
    true
}

fn said(result: &hardline_client::model::CallToolResult) -> String {
    result.content.first().and_then(|it| it.as_text()).map(|it| it.text.clone()).unwrap_or_default()
}

#[tokio::test]
async fn a_session_from_its_greeting_to_its_end() {
    let server = Server::start(async |it| {
        if !greet(it, "s-1").await {
            it.answer(&text("hi").to_string()).await;
        }
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    assert_eq!(connection.version(), Version::V2025_11_25);
    assert_eq!(said(&connection.call_tool("x", json!({})).await.unwrap()), "hi");
    connection.close().await;
    let requests = server.requests();
    let seen: Vec<_> = requests.iter().map(|it| (it.method.as_str(), it.rpc_method())).collect();
    let seen: Vec<_> = seen.iter().map(|(method, rpc)| format!("{method} {rpc}")).collect();
    assert_eq!(
        seen,
        [
            "POST server/discover",
            "POST initialize",
            "GET ",
            "POST notifications/initialized",
            "POST tools/call",
            "DELETE ",
        ]
    );
    for request in &requests[2..] {
        assert_eq!(request.header("mcp-session-id"), Some("s-1"));
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
    }
    assert_eq!(requests[1].header("mcp-protocol-version"), None);
    assert_eq!(requests[0].header("mcp-method"), Some("server/discover"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_ends_with_twenty_requests_in_flight_is_opened_once_more() {
    let greetings = Arc::new(AtomicUsize::new(0));
    let runs: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let server = Server::start({
        let (greetings, runs) = (Arc::clone(&greetings), Arc::clone(&runs));
        async move |it| {
            if it.rpc_method() == "initialize" {
                let session = format!("s-{}", greetings.fetch_add(1, Ordering::SeqCst));
                // Long enough for all requests to learn that the old session is gone.
                tokio::time::sleep(Duration::from_millis(100)).await;
                greet(it, &session).await;
                return;
            }
            if greet(it, "").await {
                return;
            }
            // The server has forgotten the first session.
            if it.request.header("mcp-session-id") == Some("s-0") {
                it.status(404).await;
                return;
            }
            let params = it.request.member("params").unwrap();
            let call = params["arguments"]["n"].to_string();
            *runs.lock().unwrap().entry(call.clone()).or_default() += 1;
            it.answer(&text(&call).to_string()).await;
        }
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let connection = connection.clone();
            tokio::spawn(async move {
                said(&connection.call_tool("x", json!({ "n": n })).await.unwrap())
            })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), n.to_string());
    }
    assert_eq!(greetings.load(Ordering::SeqCst), 2);
    assert!(runs.lock().unwrap().values().all(|count| *count == 1));
    assert_eq!(runs.lock().unwrap().len(), 20);
    connection.close().await;
}

#[tokio::test]
async fn a_server_that_forgets_every_session_is_not_asked_for_ever() {
    let server = Server::start(async |it| {
        if !greet(it, "s").await {
            it.status(404).await;
        }
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    let error = connection.call_tool("x", json!({})).await.unwrap_err();
    assert!(matches!(error, Error::Transport(TransportError::SessionEnded)), "{error:?}");
    let greetings = server.requests().iter().filter(|it| it.rpc_method() == "initialize").count();
    assert_eq!(greetings, 2);
}

#[tokio::test]
async fn a_renewed_session_restores_level_and_subscriptions() {
    let greetings = Arc::new(AtomicUsize::new(0));
    let server = Server::start({
        let greetings = Arc::clone(&greetings);
        async move |it| {
            let session = match it.rpc_method().as_str() {
                "initialize" => greetings.fetch_add(1, Ordering::SeqCst),
                _ => greetings.load(Ordering::SeqCst),
            };
            if greet(it, &format!("s-{session}")).await {
                return;
            }
            let is_old = it.request.header("mcp-session-id") == Some("s-0");
            match is_old && it.rpc_method() == "tools/call" {
                true => it.status(404).await,
                false => it.answer(&text("").to_string()).await,
            }
        }
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    connection.subscribe("x:1").await.unwrap();
    connection.subscribe("x:2").await.unwrap();
    connection.unsubscribe("x:2").await.unwrap();
    connection.call_tool("x", json!({})).await.unwrap();
    let told = server.requests();
    let told: Vec<_> = told
        .iter()
        .filter(|it| it.header("mcp-session-id") == Some("s-1"))
        .map(|it| (it.rpc_method(), it.member("params").unwrap_or_default()["uri"].clone()))
        .filter(|(method, _)| method == "resources/subscribe")
        .collect();
    assert_eq!(told, [("resources/subscribe".to_owned(), json!("x:1"))]);
}

#[tokio::test]
async fn headers_repeat_what_the_body_says_as_the_tool_wants_it() {
    let server = Server::start(async |it| {
        let schema = json!({
            "type": "object",
            "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        });
        let bad = json!({
            "type": "object",
            "properties": { "a": { "type": "string", "x-mcp-header": "" } },
        });
        let result = match it.rpc_method().as_str() {
            "server/discover" => discovered(&["2026-07-28"]),
            "tools/list" => json!({ "resultType": "complete", "tools": [
                { "name": "good", "inputSchema": schema },
                { "name": "bad", "inputSchema": bad },
            ]}),
            _ if it.request.header("mcp-param-region") != Some("eu") => {
                let error = json!({ "code": -32020, "message": "header missing" });
                let id: Value = serde_json::from_str(&it.id()).unwrap();
                let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                it.respond(400, &["Content-Type: application/json"], body.to_string()).await;
                return;
            }
            _ => text("served"),
        };
        it.answer(&result.to_string()).await;
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    assert_eq!(connection.version(), Version::V2026_07_28);
    // The client does not know the tool yet: the server rejects the headers, and the client lists the tools.
    let result = connection.call_tool("good", json!({ "region": "eu" })).await.unwrap();
    assert_eq!(said(&result), "served");
    let methods: Vec<_> =
        server.requests().iter().map(hardline_testkit::http::Request::rpc_method).collect();
    assert_eq!(methods, ["server/discover", "tools/call", "tools/list", "tools/call"]);
    connection.call_tool("good", json!({ "region": "eu" })).await.unwrap();
    let last = server.requests().pop().unwrap();
    assert_eq!(last.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(last.header("mcp-method"), Some("tools/call"));
    assert_eq!(last.header("mcp-name"), Some("good"));
    assert_eq!(last.header("mcp-session-id"), None);
    // A tool with invalid header definitions is not listed over HTTP.
    let tools = connection.list_tools().await.unwrap();
    assert_eq!(tools.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["good"]);
    // A rejection that the list does not fix is the answer.
    let error = connection.call_tool("good", json!({ "region": "us" })).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32020);
    connection.close().await;
    assert!(server.requests_with("DELETE").is_empty() && server.requests_with("GET").is_empty());
}

#[tokio::test]
async fn giving_up_closes_the_stream_in_2026_and_sends_a_message_before() {
    let server = Server::start(async |it| match it.rpc_method().as_str() {
        "server/discover" => it.answer(&discovered(&["2026-07-28"]).to_string()).await,
        _ => {
            it.open_stream().await;
            it.wait_for_close().await;
        }
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    let short = RequestOptions::default().with_timeout(Duration::from_millis(50));
    let error = connection.call_tool_with("x", json!({}), &short).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    server.wait_for_silence().await;
    assert_eq!(server.requests().len(), 2);

    let server = Server::start(async |it| {
        if !greet(it, "s").await {
            it.open_stream().await;
            it.wait_for_close().await;
        }
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    connection.call_tool_with("x", json!({}), &short).await.unwrap_err();
    connection.close().await;
    let requests = server.requests();
    let call = requests.iter().find(|it| it.rpc_method() == "tools/call").unwrap();
    let cancelled = requests.iter().find(|it| it.rpc_method() == "notifications/cancelled");
    let cancelled = cancelled.unwrap().member("params").unwrap();
    assert_eq!(Some(&cancelled["requestId"]), call.member("id").as_ref());
}

#[tokio::test]
async fn a_known_era_is_not_probed_again() {
    let server = Server::start(async |it| {
        greet(it, "s").await;
    });
    let settings = ConnectionSettings::default();
    for _ in 0..2 {
        let connection = Connection::connect(&server.url("/mcp"), settings.clone()).await.unwrap();
        connection.close().await;
    }
    let asked = server.requests().iter().filter(|it| it.rpc_method() == "server/discover").count();
    assert_eq!(asked, 1);
}

/// The event stream of a server of 2024-11-05, with the answers to send on it.
type Stream = Arc<tokio::sync::Mutex<Option<tokio::sync::mpsc::Receiver<String>>>>;

#[tokio::test]
async fn a_server_of_2024_is_spoken_to_in_its_way() {
    let (answers, receiver) = tokio::sync::mpsc::channel::<String>(16);
    let receiver: Stream = Arc::new(tokio::sync::Mutex::new(Some(receiver)));
    let server = Server::start(async move |it| {
        if it.request.method == "GET" {
            it.open_stream().await;
            it.chunk("event: endpoint\ndata: /message?session=1\n\n").await;
            let mut receiver = receiver.lock().await.take().unwrap();
            while let Some(answer) = receiver.recv().await {
                it.chunk(format!("event: message\ndata: {answer}\n\n")).await;
            }
        } else if it.request.path.starts_with("/message") {
            let result = match it.rpc_method().as_str() {
                "initialize" => r#"{"protocolVersion":"2024-11-05","capabilities":{}}"#.to_owned(),
                _ => text("old").to_string(),
            };
            if !it.rpc_method().starts_with("notifications/") {
                answers.send(it.result(&result)).await.unwrap();
            }
            it.respond(202, &[], "Accepted").await;
        } else {
            it.respond(404, &["Content-Type: text/html"], "<html>no</html>").await;
        }
    });
    let connection =
        Connection::connect(&server.url("/sse"), ConnectionSettings::default()).await.unwrap();
    assert_eq!(connection.version(), Version::V2024_11_05);
    assert_eq!(said(&connection.call_tool("x", json!({})).await.unwrap()), "old");
    connection.close().await;
}

#[tokio::test]
async fn reports_addresses_without_a_server() {
    let server = Server::start(async |it| {
        it.respond(404, &["Content-Type: text/html"], "<html>Welcome</html>").await;
    });
    let error =
        Connection::connect(&server.url("/"), ConnectionSettings::default()).await.unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");

    let server = Server::start(async |it| {
        let challenge = "WWW-Authenticate: Bearer resource_metadata=\"https://example.com/\"";
        it.respond(401, &[challenge], "").await;
    });
    let error =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap_err();
    let Error::Transport(TransportError::Http(http)) = &error else { panic!("{error:?}") };
    assert_eq!(http.status, 401);
    assert!(http.auth.www_authenticate.as_ref().unwrap().contains("resource_metadata"));
    // After 401, the client does not try the other transport.
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn one_call_needs_no_session() {
    let server = Server::start(async |it| it.answer(&text("once").to_string()).await);
    for version in [Version::V2026_07_28, Version::V2025_11_25] {
        let config = HttpSettings::new(&server.url("/mcp")).unwrap();
        let request = SingleRequest::new(config, "tools/call").with_version(version);
        let request = request.with_params(&json!({ "name": "x", "arguments": {} })).unwrap();
        assert!(request.send().await.unwrap().get().contains("once"));
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].header("mcp-name"), Some("x"));
    assert_eq!(requests[1].header("mcp-name"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_at_once_are_each_answered_once() {
    let server = Server::start(async |it| {
        if greet(it, "s").await {
            return;
        }
        let n = it.request.member("params").unwrap()["arguments"]["n"].clone();
        let result = text(&n.to_string()).to_string();
        // Some answers are events, with other events before and after them.
        if n.as_u64().unwrap() % 3 == 0 {
            let note = r#"data: {"jsonrpc":"2.0","method":"notifications/x"}"#;
            let answer = it.result(&result);
            it.stream(&format!("{note}\n\n: still here\n\ndata: {answer}\n\n{note}\n\n")).await;
        } else {
            it.answer(&result).await;
        }
    });
    let settings = ConnectionSettings::default()
        .with_versions(Versions::WithHandshake)
        .with_max_in_flight(100);
    let connection = Connection::connect(&server.url("/mcp"), settings).await.unwrap();
    let calls: Vec<_> = (0..1000)
        .map(|n| {
            let connection = connection.clone();
            tokio::spawn(async move {
                let result = connection.call_tool("x", json!({ "n": n })).await.unwrap();
                assert_eq!(said(&result), n.to_string());
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let called = server.requests().iter().filter(|it| it.rpc_method() == "tools/call").count();
    assert_eq!(called, 1000);
    connection.close().await;
}

#[tokio::test]
async fn a_server_that_asks_without_end_and_takes_no_answers_gets_a_bounded_number_of_them() {
    let server = Server::start(async |it| {
        if it.request.method == "POST" && it.rpc_method().is_empty() {
            it.wait_for_close().await;
        } else if !greet(it, "s").await {
            it.open_stream().await;
            for id in 0..3000 {
                it.event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
            }
            it.event(&it.result(&text("done").to_string())).await;
        }
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    assert_eq!(said(&connection.call_tool("x", json!({})).await.unwrap()), "done");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(server.connections() <= 70, "{} connections", server.connections());
    connection.close().await;
}

#[tokio::test]
async fn a_flood_of_events_does_not_stop_the_clock() {
    let server = Server::start(async |it| {
        if !greet(it, "s").await {
            it.open_stream().await;
            let note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n".repeat(10_000);
            let chunk = format!("{:x}\r\n{note}\r\n", note.len());
            while it.write(&chunk).await {}
        }
    });
    let connection =
        Connection::connect(&server.url("/mcp"), ConnectionSettings::default()).await.unwrap();
    let short = RequestOptions::default().with_timeout(Duration::from_millis(300));
    let call = connection.call_tool_with("x", json!({}), &short);
    let began = tokio::time::Instant::now();
    let error = call.await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    connection.close().await;
}
