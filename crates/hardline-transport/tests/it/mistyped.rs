//! Answers whose id has another JSON type than the request's.

use std::time::Duration;

use hardline_testkit::http::Server;
use hardline_transport::client::{Answer, Event, Events, Stream, Transport, TransportError};
use hardline_transport::http::{Config as HttpConfig, Sse, Streamable};
use hardline_transport::{Config, Role};
use hardline_wire::id::Id;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::Instant;

use crate::http::request;
use crate::peer::{pair, receive};

const MISTYPED: [&str; 4] = [r#""3""#, "3.0", "3e0", "0.3e1"];

/// A session over a stream, and a request of it, id 3, that has arrived at the other end.
async fn asked() -> (Stream, Events, DuplexStream) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(ours);
    let transport = Stream::new(input, output, Config::default());
    let events = transport.take_events().unwrap();
    (transport, events, theirs)
}

async fn answer(server: &mut DuplexStream, id: &str, result: &str) {
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    server.write_all(format!("{line}\n").as_bytes()).await.unwrap();
}

/// Reads the request, so that it is certain to wait for its answer.
async fn taken(server: &mut DuplexStream) {
    let mut line = String::new();
    BufReader::new(server).read_line(&mut line).await.unwrap();
    assert!(line.contains("\"id\":3"), "{line}");
}

#[track_caller]
fn assert_mistyped(outcome: Result<Answer, TransportError>, id: &str) {
    match outcome {
        Err(TransportError::Answer(reason)) => assert_eq!(
            reason,
            format!("it has the id {id} in place of 3, and no proper one followed")
        ),
        other => panic!("{id}: {other:?}"),
    }
}

fn reason(event: Event) -> String {
    match event {
        Event::Error { reason, .. } => reason,
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
        let (transport, _events, mut server) = asked().await;
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
        // What was said about it is over with it, also for a later request.
        let later = transport.request(request(4, "m"));
        assert!(tokio::time::timeout(Duration::from_secs(10), later).await.is_err(), "{id}");
    }
}

/// Whoever writes without a pause keeps no request waiting.
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

/// An id that was given out as a string has its type too.
#[tokio::test(start_paused = true)]
async fn a_number_is_no_answer_to_a_string() {
    let (mut connection, mut peer, events) = pair(Role::Server, Config::default());
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
    for id in MISTYPED {
        checks.spawn(check_http("/mcp", id));
        checks.spawn(check_http("/sse", id));
    }
    while let Some(check) = checks.join_next().await {
        check.unwrap();
    }
}

/// Asks a server that gives a mistyped answer and leaves its stream open.
async fn check_http(path: &str, id: &str) {
    let said = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n");
    let (say, _) = tokio::sync::broadcast::channel(8);
    let server = Server::start(async move |it| match it.request.method.as_str() {
        "POST" if it.request.path == "/message" => {
            it.respond(202, &[], "").await;
            say.send(said.clone()).unwrap();
        }
        "POST" => {
            it.open_stream().await;
            it.chunk(said.clone()).await;
            it.wait_for_close().await;
        }
        _ => {
            let mut heard = say.subscribe();
            it.open_stream().await;
            it.chunk("event: endpoint\ndata: /message\n\n").await;
            while let Ok(text) = heard.recv().await {
                it.chunk(text).await;
            }
        }
    });
    let config = HttpConfig::new(&server.url(path)).unwrap();
    let transport: Box<dyn Transport> = match path {
        "/sse" => Box::new(Sse::connect(config).await.unwrap()),
        _ => Box::new(Streamable::new(config).unwrap()),
    };
    let mut events = transport.take_events().unwrap();
    let outcome = transport.request(request(3, "m"));
    let outcome = tokio::time::timeout(Duration::from_secs(20), outcome).await.unwrap();
    assert_mistyped(outcome, id);
    let told = reason(events.recv().await.unwrap());
    assert!(told.contains(id), "{told}");
    transport.close().await;
}
