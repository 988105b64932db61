//! HTTP+SSE: one stream for all messages of the server.

use std::time::Duration;

use hardline_testkit::http::{Exchange, Server};
use hardline_transport::client::{Transport as _, TransportError, TransportKind};
use hardline_transport::http::{HttpSettings, Sse};
use hardline_wire::limits::Limits;
use tokio::sync::broadcast;

use super::{call, in_time, next, notification, request, result, text};

async fn connect(server: &Server) -> Result<Sse, TransportError> {
    in_time(Sse::connect(HttpSettings::new(&server.url("/sse")).unwrap())).await
}

/// A server whose stream sends the result of `script` for each message that it gets.
fn start(script: impl Fn(&mut Exchange) -> Option<String> + Send + 'static) -> Server {
    let (say, _) = broadcast::channel(100);
    Server::start(async move |it| {
        if it.request.method == "POST" {
            it.respond(202, &[], "Accepted").await;
            if let Some(text) = script(it) {
                let _ = say.send(text);
            }
            return;
        }
        let mut said = say.subscribe();
        it.open_stream().await;
        it.chunk("event: endpoint\ndata: /message?sessionId=1\n\n").await;
        while let Ok(text) = said.recv().await {
            if text == "end" {
                return it.end_stream().await;
            }
            it.chunk(text).await;
        }
    })
}

fn event(text: &str) -> String {
    format!("event: message\ndata: {text}\n\n")
}

#[tokio::test]
async fn sends_to_the_address_named_and_takes_answers_in_any_order() {
    let server = start(|it| match &*it.rpc_method() {
        "first" => None,
        "second" => Some(event(&result(2, "{}")) + &event(&result(1, "[]"))),
        _ => Some(event(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#) + &event(&result(9, "{}"))),
    });
    let transport = connect(&server).await.unwrap();
    let mut events = transport.take_events().unwrap();
    assert_eq!(transport.kind(), TransportKind::Lines);
    let (first, second) = tokio::join!(text(&transport, 1, "first"), text(&transport, 2, "second"));
    assert_eq!((first, second), (result(1, "[]"), result(2, "{}")));
    in_time(transport.notify(notification("a"))).await.unwrap();
    assert_eq!(next(&mut events).await, "request 1 ping");
    assert!(
        next(&mut events).await.starts_with("error an answer to no pending request, with the id 9")
    );
    let posts = server.requests_with("POST");
    assert!(posts.iter().all(|it| it.path == "/message?sessionId=1"));

    in_time(transport.close()).await;
    assert_eq!(next(&mut events).await, "closed the connection was closed");
    assert!(matches!(call(&transport, 3, "ping").await, Err(TransportError::Closed(_))));
}

#[tokio::test]
async fn the_end_of_the_stream_fails_what_is_under_way() {
    let server = start(|it| (it.rpc_method() == "end").then(|| "end".to_owned()));
    let transport = connect(&server).await.unwrap();
    let mut events = transport.take_events().unwrap();
    let (first, second) = tokio::join!(call(&transport, 1, "first"), call(&transport, 2, "end"));
    for outcome in [first, second] {
        assert!(matches!(outcome, Err(TransportError::Interrupted(_))), "{outcome:?}");
    }
    assert_eq!(next(&mut events).await, "closed the event stream ended");
    assert!(!transport.is_connected());
    assert!(matches!(call(&transport, 3, "ping").await, Err(TransportError::Closed(_))));
}

#[tokio::test]
async fn keeps_the_address_on_its_origin() {
    let other = Server::start(async |it| it.status(202).await);
    let elsewhere = other.url("/message");
    let server = Server::start(async move |it| {
        it.open_stream().await;
        it.chunk(format!("event: endpoint\ndata: {elsewhere}\n\n")).await;
        it.wait_for_close().await;
    });
    let error = connect(&server).await.unwrap_err();
    assert!(error.to_string().contains("another origin"), "{error}");
    assert!(other.requests().is_empty());
    in_time(server.wait_for_silence()).await;
}

#[tokio::test]
async fn a_server_without_such_a_stream_is_told_apart() {
    let server = Server::start(async |it| match it.index {
        0 => it.status(404).await,
        1 => it.json("{}").await,
        2 => it.stream(": nothing\n\n").await,
        _ => {
            it.open_stream().await;
            it.wait_for_close().await;
        }
    });
    let error = connect(&server).await.unwrap_err();
    assert!(matches!(&error, TransportError::Http(it) if it.status == 404), "{error}");
    let error = connect(&server).await.unwrap_err();
    assert!(matches!(&error, TransportError::Http(it) if it.status == 200), "{error}");
    let error = connect(&server).await.unwrap_err();
    assert!(error.to_string().contains("ended before it named an address"), "{error}");
    let settings = HttpSettings::new(&server.url("/sse")).unwrap();
    let settings = settings.with_endpoint_wait(Duration::from_millis(100));
    let error = in_time(Sse::connect(settings)).await.unwrap_err();
    assert!(
        error.to_string().contains("named no address to send messages to within 100ms"),
        "{error}"
    );
}

#[tokio::test]
async fn requests_under_way_are_bounded_and_forgotten_when_given_up() {
    let server = start(|_| None);
    let limits = Limits::default().with_max_in_flight(2).unwrap();
    let settings = HttpSettings::new(&server.url("/sse")).unwrap().with_limits(limits);
    let transport = in_time(Sse::connect(settings)).await.unwrap();
    let waiting = async {
        tokio::join!(transport.request(request(1, "a")), transport.request(request(2, "b")))
    };
    tokio::pin!(waiting);
    tokio::select! {
        _ = &mut waiting => panic!("no request is answered here"),
        () = server.wait_for_requests(3) => {}
    }
    assert!(matches!(call(&transport, 3, "c").await, Err(TransportError::TooMany)));
    assert_eq!(server.requests_with("POST").len(), 2);
}

#[tokio::test]
async fn a_message_that_is_refused_fails_its_request() {
    let server = Server::start(async |it| match &*it.request.method {
        "POST" => it.respond(401, &[], "who?").await,
        _ => {
            it.open_stream().await;
            it.chunk("event: endpoint\ndata: message\n\n").await;
            it.wait_for_close().await;
        }
    });
    let transport = connect(&server).await.unwrap();
    let error = call(&transport, 1, "ping").await.unwrap_err();
    assert!(matches!(&error, TransportError::Http(it) if it.status == 401), "{error}");
    assert!(in_time(transport.notify(notification("a"))).await.is_err());
    assert_eq!(server.requests_with("POST")[0].path, "/message");
}
