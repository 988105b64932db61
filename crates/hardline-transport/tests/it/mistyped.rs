//! Answers whose id has another JSON type than the request's.

use std::time::Duration;

use hardline_testkit::http::{Exchange, Server};
use hardline_transport::client::{
    Answer, LineTransport, MAX_EVENTS, Transport, TransportError, TransportEvent, TransportEvents,
};
use hardline_transport::http::{HttpSettings as HttpConfig, Sse, Streamable};
use hardline_transport::{EndpointSettings, Role};
use hardline_wire::id::Id;
use hardline_wire::version::Version;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::Instant;

use crate::http::request;
use crate::peer::{pair, pair_over, receive};

/// Progress of the request with the id 3, which is also its token.
const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}"#;
const MISTYPED: [&str; 4] = [r#""3""#, "3.0", "3e0", "0.3e1"];

/// A session over a stream, with a request (id 3) that has arrived at the other end.
async fn asked() -> (LineTransport, TransportEvents, DuplexStream) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(ours);
    let transport = LineTransport::new(input, output, EndpointSettings::default());
    let events = transport.take_events().unwrap();
    (transport, events, theirs)
}

async fn answer(server: &mut DuplexStream, id: &str, result: &str) {
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    server.write_all(format!("{line}\n").as_bytes()).await.unwrap();
}

/// Reads the request, so that it certainly waits for its answer.
async fn taken(server: &mut DuplexStream) {
    let mut line = String::new();
    BufReader::new(server).read_line(&mut line).await.unwrap();
    assert!(line.contains("\"id\":3"), "{line}");
}

#[track_caller]
fn assert_mistyped(outcome: Result<Answer, TransportError>, id: &str) {
    match outcome {
        Err(TransportError::Mistyped(reason)) => assert_eq!(reason, unanswered(id)),
        other => panic!("{id}: {other:?}"),
    }
}

fn unanswered(id: &str) -> String {
    format!("it has the id {id} in place of 3, and no proper one followed")
}

fn reason(event: TransportEvent) -> String {
    match event {
        TransportEvent::Error { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_a_mistyped_id_is_nobodys_and_fails_its_request_in_time() {
    for id in MISTYPED {
        let (transport, mut events, mut server) = asked().await;
        let answering = async {
            taken(&mut server).await;
            answer(&mut server, id, "{}").await;
            let told = reason(events.recv().await.unwrap());
            assert!(told.contains(id), "{told}");
        };
        let began = Instant::now();
        let (outcome, ()) = tokio::join!(transport.request(request(3, "m")), answering);
        assert_mistyped(outcome, id);
        let took = began.elapsed();
        assert!((2..3).contains(&took.as_secs()), "{id}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_proper_answer_wins_whenever_it_comes() {
    for id in MISTYPED {
        let (transport, mut events, mut server) = asked().await;
        let answering = async {
            taken(&mut server).await;
            for _ in 0..3 {
                answer(&mut server, id, r#"{"is":"mistyped"}"#).await;
                tokio::time::sleep(Duration::from_millis(600)).await;
            }
            answer(&mut server, "3", r#"{"is":"proper"}"#).await;
            answer(&mut server, id, r#"{"is":"late"}"#).await;
        };
        let (outcome, ()) = tokio::join!(transport.request(request(3, "m")), answering);
        assert!(outcome.unwrap().text().contains("proper"), "{id}");
        // The progress after the late answer shows that the answer was read.
        server.write_all(format!("{PROGRESS}\n").as_bytes()).await.unwrap();
        while !matches!(events.recv().await, Some(TransportEvent::Notification { .. })) {}
        // The doubt ends with its request: a later request with the same id is not affected.
        let later = transport.request(request(3, "m"));
        assert!(tokio::time::timeout(Duration::from_secs(10), later).await.is_err(), "{id}");
    }
}

/// A peer that writes without a pause does not delay the failure.
#[tokio::test(start_paused = true)]
async fn a_server_that_goes_on_talking_does_not_put_the_end_off() {
    let (transport, mut events, mut server) = asked().await;
    let taking = tokio::spawn(async move { while events.recv().await.is_some() {} });
    let talking = async {
        taken(&mut server).await;
        loop {
            answer(&mut server, r#""3""#, "{}").await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        outcome = transport.request(request(3, "m")) => assert_mistyped(outcome, r#""3""#),
        () = talking => {}
    }
    transport.close().await;
    drop(transport);
    taking.await.unwrap();
}

/// A service that was busy reads the input that arrived meanwhile before it fails a request.
#[tokio::test(start_paused = true)]
async fn what_has_arrived_is_looked_at_before_a_request_is_given_up() {
    let mistyped = r#"{"jsonrpc":"2.0","id":"7","result":{}}"#;
    let asking = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let proper = r#"{"jsonrpc":"2.0","id":7,"result":{"is":"proper"}}"#;
    for (first, then) in [
        (format!("{mistyped}\n{asking}\n{proper}\n"), String::new()),
        (format!("{mistyped}\n{asking}\n"), format!("{proper}\n")),
        (format!("[{mistyped},{asking},{proper}]\n"), String::new()),
    ] {
        let (mut connection, mut peer, _) = pair(Role::Client, EndpointSettings::default());
        connection.set_version(Version::V2025_03_26);
        connection.send_request(Id::from_integer(7), "m", b"{}".to_vec()).room().await.unwrap();
        peer.write(&first).await;
        assert!(receive(&mut connection).await.unwrap().contains("ping"), "{first}");
        peer.write(&then).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let answer = receive(&mut connection).await.unwrap();
        assert_eq!(answer, proper, "{first}");
    }
}

/// But it does not read all of it: one or two megabytes.
#[tokio::test(start_paused = true)]
async fn whoever_has_written_much_does_not_put_the_end_off() {
    let (mut connection, mut peer, _) =
        pair_over(Role::Client, EndpointSettings::default(), 8 << 20);
    connection.send_request(Id::from_integer(7), "m", b"{}".to_vec()).room().await.unwrap();
    peer.write("{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}\n").await;
    let padding = "x".repeat(1000);
    let line = format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"x":"{padding}"}}}}"#);
    for _ in 0..4000 {
        peer.write(&format!("{line}\n")).await;
    }
    receive(&mut connection).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut count = 0;
    while receive(&mut connection).await.unwrap() == line {
        count += 1;
    }
    assert!((1..2000).contains(&count), "{count}");
}

/// A peer that reports progress has not answered yet.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_worked_on_is_not_given_up() {
    let (transport, _events, mut server) = asked().await;
    let answering = async {
        taken(&mut server).await;
        answer(&mut server, r#""3""#, "{}").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.write_all(format!("{PROGRESS}\n").as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        answer(&mut server, "3", r#"{"is":"proper"}"#).await;
        taken(&mut server).await;
        server.write_all(format!("{PROGRESS}\n").as_bytes()).await.unwrap();
        answer(&mut server, r#""3""#, "{}").await;
    };
    let asking = async {
        let outcome = transport.request(request(3, "m")).await;
        assert!(outcome.unwrap().text().contains("proper"));
        assert_mistyped(transport.request(request(3, "m")).await, r#""3""#);
    };
    tokio::join!(asking, answering);
}

/// The type of a string id counts too.
#[tokio::test(start_paused = true)]
async fn a_number_is_no_answer_to_a_string() {
    let (mut connection, mut peer, events) = pair(Role::Server, EndpointSettings::default());
    connection.send_request(Id::from_string("7"), "m", b"{}".to_vec()).room().await.unwrap();
    peer.send(&[r#"{"jsonrpc":"2.0","id":7,"result":{}}"#]).await;
    let failed = receive(&mut connection).await.unwrap();
    assert_eq!(
        failed,
        r#"failed "7": the answer cannot be used: it has the id 7 in place of "7", and no proper one followed"#
    );
    let events = events.lock().unwrap();
    assert!(events[0].starts_with(r#"dropped an answer whose id is not "7""#), "{events:?}");
}

#[tokio::test]
async fn the_same_holds_over_http() {
    let mut checks = tokio::task::JoinSet::new();
    for path in ["/mcp", "/sse"] {
        for id in MISTYPED {
            checks.spawn(check_http(path, id));
        }
        checks.spawn(check_http_end(path));
        checks.spawn(check_http_late(path, false));
        checks.spawn(check_http_late(path, true));
    }
    while let Some(check) = checks.join_next().await {
        check.unwrap();
    }
}

/// Parts of a server's reaction to a request.
#[derive(Clone, Debug)]
enum Piece {
    Say(String),
    Wait(Duration),
    End,
}

/// A server that reacts to every request with `said`, and leaves its stream open unless that ends
/// it.
fn start(said: Vec<Piece>) -> Server {
    let (say, _) = tokio::sync::broadcast::channel(8);
    Server::start(async move |it| match it.request.method.as_str() {
        "POST" if it.request.path == "/message" => {
            it.respond(202, &[], "").await;
            say.send(said.clone()).unwrap();
        }
        "POST" => {
            it.open_stream().await;
            if speak(it, &said).await {
                it.wait_for_close().await;
            }
        }
        _ => {
            let mut heard = say.subscribe();
            it.open_stream().await;
            it.chunk("event: endpoint\ndata: /message\n\n").await;
            while let Ok(said) = heard.recv().await {
                if !speak(it, &said).await {
                    return;
                }
            }
        }
    })
}

/// Returns true if the stream is left open.
async fn speak(it: &mut Exchange, said: &[Piece]) -> bool {
    for piece in said {
        match piece {
            Piece::Say(text) => it.chunk(text).await,
            Piece::Wait(time) => tokio::time::sleep(*time).await,
            Piece::End => {
                it.end_stream().await;
                return false;
            }
        }
    }
    true
}

async fn connect(path: &str, server: &Server) -> Box<dyn Transport> {
    let settings = HttpConfig::new(&server.url(path)).unwrap();
    match path {
        "/sse" => Box::new(Sse::connect(settings).await.unwrap()),
        _ => Box::new(Streamable::new(settings).unwrap()),
    }
}

fn event(text: &str) -> Piece {
    Piece::Say(format!("data: {text}\n\n"))
}

fn result(id: &str, result: &str) -> Piece {
    event(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

/// Sends a request to a server that gives a mistyped answer and leaves its stream open.
async fn check_http(path: &str, id: &str) {
    let server = start(vec![result(id, "{}")]);
    let transport = connect(path, &server).await;
    let mut events = transport.take_events().unwrap();
    let outcome = transport.request(request(3, "m"));
    let outcome = tokio::time::timeout(Duration::from_secs(20), outcome).await.unwrap();
    assert_mistyped(outcome, id);
    let told = reason(events.recv().await.unwrap());
    assert!(told.contains(id), "{told}");
    transport.close().await;
}

/// Sends a request to a server that gives a mistyped answer and ends its stream. The error reports
/// the mistyped answer, not a lost one.
async fn check_http_end(path: &str) {
    for id in ["", "id: 1\n"] {
        let said = Piece::Say(format!(
            "{id}data: {{\"jsonrpc\":\"2.0\",\"id\":\"3\",\"result\":{{}}}}\n\n"
        ));
        let server = start(vec![said, Piece::End]);
        let transport = connect(path, &server).await;
        let outcome = transport.request(request(3, "m"));
        let outcome = tokio::time::timeout(Duration::from_secs(20), outcome).await.unwrap();
        match outcome {
            // A resumable stream is resumed, until the deadline for a proper answer.
            Err(TransportError::Mistyped(reason)) if path == "/mcp" && !id.is_empty() => {
                assert_eq!(reason, unanswered(r#""3""#));
            }
            Err(TransportError::Answer(reason)) => assert_eq!(reason, unanswered(r#""3""#)),
            other => panic!("{path}: {other:?}"),
        }
        transport.close().await;
    }
}

/// Sends a request to a server whose proper answer arrives at once but is read late, because the
/// events before it are not taken; or to one that is slow and reports progress.
async fn check_http_late(path: &str, has_progress: bool) {
    let long = Duration::from_secs(4);
    let mut said = vec![result(r#""3""#, "{}")];
    if has_progress {
        said.extend([event(PROGRESS), Piece::Wait(long)]);
    } else {
        said.extend(vec![event(r#"{"jsonrpc":"2.0","method":"n"}"#); MAX_EVENTS + 10]);
    }
    said.push(result("3", r#"{"is":"proper"}"#));
    let server = start(said);
    let transport = connect(path, &server).await;
    let mut events = transport.take_events().unwrap();
    let taking = tokio::spawn(async move {
        tokio::time::sleep(long).await;
        while events.recv().await.is_some() {}
    });
    let outcome = transport.request(request(3, "m"));
    let outcome = tokio::time::timeout(Duration::from_secs(30), outcome).await.unwrap();
    assert!(outcome.unwrap().text().contains("proper"), "{path}");
    transport.close().await;
    drop(transport);
    taking.await.unwrap();
}
