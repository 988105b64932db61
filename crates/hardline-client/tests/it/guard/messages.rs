//! The guard on messages, over a scripted transport.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hardline_client::guard::Guarded;
use hardline_guard::policy::Policy;
use hardline_transport::client::{
    Answer, AnswerOutcome, BoxFuture, HttpError, MAX_EVENTS, OneWayMessage, OutgoingRequest,
    Transport, TransportError, TransportEvent, TransportEvents, TransportKind,
};
use hardline_wire::frame::Decoder;
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::version::Version;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

use super::Notes;

/// A transport that answers requests as the test says, and records what was sent.
struct Script {
    play: Box<Play>,
    sender: mpsc::Sender<TransportEvent>,
    events: Mutex<Option<TransportEvents>>,
    sent: Mutex<Vec<String>>,
    has_sent: Notify,
    is_closed: AtomicBool,
}

type Play = dyn Fn(&OutgoingRequest, &mpsc::Sender<TransportEvent>) -> Played + Send + Sync;

enum Played {
    Answer(Value),
    /// The complete message.
    Text(String),
    Error(TransportError),
    Silence,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Script")
    }
}

impl Transport for Script {
    fn request(&self, request: OutgoingRequest) -> BoxFuture<'_, Result<Answer, TransportError>> {
        Box::pin(async move {
            self.sent.lock().unwrap().push(request.text.to_string());
            let text = match (self.play)(&request, &self.sender) {
                Played::Answer(result) => {
                    json!({ "jsonrpc": "2.0", "id": request.id, "result": result }).to_string()
                }
                Played::Text(text) => text,
                Played::Error(error) => return Err(error),
                Played::Silence => std::future::pending().await,
            };
            Ok(answer(text))
        })
    }

    fn notify(&self, message: OneWayMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        self.sent.lock().unwrap().push(message.text.to_string());
        self.has_sent.notify_one();
        Box::pin(async { Ok(()) })
    }

    fn agree(&self, _: Version) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn forget_session(&self) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        self.is_closed.store(true, Ordering::Relaxed);
        self.has_sent.notify_one();
        Box::pin(async {})
    }

    fn is_connected(&self) -> bool {
        !self.is_closed.load(Ordering::Relaxed)
    }

    fn take_events(&self) -> Option<TransportEvents> {
        self.events.lock().unwrap().take()
    }

    fn kind(&self) -> TransportKind {
        TransportKind::Http
    }
}

fn answer(text: String) -> Answer {
    use hardline_wire::frame::Frame;
    let mut decoder = Decoder::new(&Limits::default());
    let Ok(Frame::Message(message, whole)) = decoder.decode(text.as_bytes()) else { panic!() };
    Answer::copy(&message, whole).unwrap()
}

fn guarded(
    policy: &str,
    play: impl Fn(&OutgoingRequest, &mpsc::Sender<TransportEvent>) -> Played + Send + Sync + 'static,
) -> (Guarded, Arc<Script>, Notes) {
    let (sender, events) = mpsc::channel(MAX_EVENTS);
    let script = Arc::new(Script {
        play: Box::new(play),
        sender,
        events: Mutex::new(Some(events)),
        sent: Mutex::default(),
        has_sent: Notify::new(),
        is_closed: AtomicBool::new(false),
    });
    let notes = Notes::default();
    let guard = notes.observed(Policy::parse(policy).unwrap());
    (Guarded::new(Arc::<Script>::clone(&script), &guard), script, notes)
}

fn request(id: i64, method: &str, params: &Value) -> OutgoingRequest {
    let text = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    OutgoingRequest::new(id, method, text.to_string())
}

fn call(id: i64) -> OutgoingRequest {
    request(id, "tools/call", &json!({ "name": "echo", "arguments": {} }))
}

fn notification(method: &str, params: &Value) -> TransportEvent {
    let text = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
    TransportEvent::Notification { method: method.into(), text: text.into() }
}

/// Opens a session of 2025-11-25.
async fn open(guarded: &Guarded) {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    guarded.request(request(0, "initialize", &params)).await.unwrap();
    let text = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    guarded.notify(OneWayMessage::notification(text.to_string())).await.unwrap();
}

/// Answers `initialize`, and passes other requests to `play`.
fn opened(
    play: impl Fn(&OutgoingRequest, &mpsc::Sender<TransportEvent>) -> Played + Send + Sync + 'static,
) -> impl Fn(&OutgoingRequest, &mpsc::Sender<TransportEvent>) -> Played + Send + Sync + 'static {
    move |request, events| match &*request.method {
        "initialize" => Played::Answer(json!({
            "protocolVersion": "2025-11-25", "capabilities": { "logging": {}, "tools": { "listChanged": true } },
        })),
        _ => play(request, events),
    }
}

#[tokio::test]
async fn what_came_before_an_answer_is_judged_and_there_before_it() {
    let (guarded, _, notes) = guarded(
        "",
        opened(|request, events| {
            for number in 0..5 {
                let hidden = format!("{number}\u{e0061}\u{e0062}\u{e0063}");
                let params = json!({ "level": "info", "data": hidden });
                events.try_send(notification("notifications/message", &params)).unwrap();
            }
            Played::Answer(json!({ "content": [], "n": request.id }))
        }),
    );
    let mut events = guarded.take_events().unwrap();
    assert!(guarded.take_events().is_none());
    open(&guarded).await;
    for id in 1..50 {
        let answer = guarded.request(call(id)).await.unwrap();
        assert_eq!(
            answer.outcome(),
            AnswerOutcome::Result(&format!(r#"{{"content":[],"n":{id}}}"#))
        );
        for number in 0..5 {
            let Ok(TransportEvent::Notification { text, .. }) = events.try_recv() else { panic!() };
            assert!(text.contains(&format!("{number}<U+E0061>")), "{text}");
        }
        assert!(events.try_recv().is_err());
    }
    assert_eq!(notes.take().len(), 5 * 49);
}

#[tokio::test]
async fn a_receiver_that_takes_no_events_loses_none() {
    const COUNT: usize = MAX_EVENTS * 4;
    let (guarded, script, _) =
        guarded("[danger_rules]\nsession.burst = \"allow\"", opened(|_, _| Played::Silence));
    let mut events = guarded.take_events().unwrap();
    open(&guarded).await;
    let sending = tokio::spawn(async move {
        for number in 0..COUNT {
            let params = json!({ "level": "info", "data": number });
            script.sender.send(notification("notifications/message", &params)).await.unwrap();
        }
    });
    for number in 0..COUNT {
        tokio::task::yield_now().await;
        let Some(TransportEvent::Notification { text, .. }) = events.recv().await else { panic!() };
        assert!(text.contains(&format!(r#""data":{number},"#)), "{text}");
    }
    sending.await.unwrap();
}

#[tokio::test]
async fn requests_of_the_server_that_are_stopped_are_answered() {
    let (guarded, script, notes) = guarded(
        "",
        opened(|_, events| {
            let (id, method) = (Id::from_string("s"), "sampling/createMessage");
            let text = json!({ "jsonrpc": "2.0", "id": "s", "method": method, "params": {} });
            let text = text.to_string().into();
            events.try_send(TransportEvent::Request { id, method: method.into(), text }).unwrap();
            Played::Answer(json!({ "content": [] }))
        }),
    );
    let mut events = guarded.take_events().unwrap();
    open(&guarded).await;
    // The error is about the notification.
    script.has_sent.notified().await;
    guarded.request(call(1)).await.unwrap();
    script.has_sent.notified().await;
    let sent = script.sent.lock().unwrap().last().unwrap().clone();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent["id"], "s");
    assert_eq!(sent["error"]["data"]["hardline"]["rule"], "session.capability");
    assert!(events.try_recv().is_err());
    assert_eq!(notes.take(), ["session.capability block"]);
}

#[tokio::test]
async fn a_stopped_request_and_a_stopped_answer_are_errors_at_once() {
    let (guarded, script, _) = guarded(
        "profile = \"strict\"\ndeny_tools = [\"rm\"]",
        opened(|request, _| match request.id {
            1 => Played::Answer(
                json!({ "content": [{ "type": "text", "text": "\u{e0061}\u{e0062}" }] }),
            ),
            2 => Played::Text(r#"{"jsonrpc":"2.0","id":"2","result":{}}"#.into()),
            _ => Played::Answer(json!({ "content": [] })),
        }),
    );
    let _events = guarded.take_events();
    open(&guarded).await;
    let answer = guarded.request(call(1)).await.unwrap();
    let AnswerOutcome::Error { code: -32603, data: Some(data), .. } = answer.outcome() else {
        panic!("{answer:?}")
    };
    assert!(data.contains("content.hidden"), "{data}");
    // The id has another type.
    let error = guarded.request(call(2)).await.unwrap_err();
    assert!(matches!(error, TransportError::Answer(_)), "{error}");

    let count = script.sent.lock().unwrap().len();
    let denied = request(3, "tools/call", &json!({ "name": "rm" }));
    let answer = guarded.request(denied).await.unwrap();
    assert!(answer.text().contains("tool.denied"), "{answer:?}");
    assert_eq!(script.sent.lock().unwrap().len(), count);
    assert!(matches!(guarded.request(call(4)).await.unwrap().outcome(), AnswerOutcome::Result(_)));
}

#[tokio::test]
async fn the_message_in_an_http_error_is_judged_too() {
    let (guarded, _, _) = guarded(
        "",
        opened(|request, _| {
            let mut error = HttpError::new(400, "no");
            let id = if request.id == 1 { 1 } else { 4711 };
            let message = json!({ "code": -1, "message": "\u{e0061}\u{e0062}\u{e0063}" });
            let message = json!({ "jsonrpc": "2.0", "id": id, "error": message });
            error.message = Some(message.to_string().into());
            Played::Error(TransportError::Http(Box::new(error)))
        }),
    );
    let _events = guarded.take_events();
    open(&guarded).await;
    let message = async |id| match guarded.request(call(id)).await.unwrap_err() {
        TransportError::Http(error) => error.message,
        error => panic!("{error}"),
    };
    let sanitized = message(1).await.unwrap();
    assert!(sanitized.contains("<U+E0061>"), "{sanitized}");
    assert_eq!(message(2).await, None);
}

#[tokio::test]
async fn the_policy_may_close_the_transport() {
    let (guarded, script, _) =
        guarded("[rules]\nsession.wrong-direction = \"close\"", opened(|_, _| Played::Silence));
    let mut events = guarded.take_events().unwrap();
    open(&guarded).await;
    let (id, text) = (Id::from_integer(1), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let bad = TransportEvent::Request { id, method: "tools/list".into(), text: text.into() };
    let closing = async {
        tokio::task::yield_now().await;
        script.sender.send(bad).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(guarded.request(call(1)), closing);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("the guard has closed the session: session.wrong-direction"), "{error}");
    assert!(matches!(events.recv().await, Some(TransportEvent::Closed(TransportError::Closed(_)))));
    assert!(events.recv().await.is_none());
    while !script.is_closed.load(Ordering::Relaxed) {
        tokio::task::yield_now().await;
    }
    assert!(!guarded.is_connected());
    let error = guarded.request(call(2)).await.unwrap_err().to_string();
    assert!(error.contains("session.wrong-direction"), "{error}");
}

/// Progress over the budget is held back and delivered before the answer; other held messages come later.
#[tokio::test(start_paused = true)]
async fn a_flood_is_thinned_out_and_what_was_kept_comes_in_time() {
    let (guarded, script, notes) = guarded(
        "[burst]\ncount = 2\nwindow_ms = 1000",
        opened(|_, events| {
            for progress in 0..50 {
                let params = json!({ "progressToken": 1, "progress": progress });
                events.try_send(notification("notifications/progress", &params)).unwrap();
            }
            Played::Answer(json!({ "content": [] }))
        }),
    );
    let mut events = guarded.take_events().unwrap();
    open(&guarded).await;
    let params = json!({ "name": "echo", "_meta": { "progressToken": 1 } });
    guarded.request(request(1, "tools/call", &params)).await.unwrap();
    let mut seen = Vec::new();
    while let Ok(TransportEvent::Notification { text, .. }) = events.try_recv() {
        let value: Value = serde_json::from_str(&text).unwrap();
        seen.push(value["params"]["progress"].as_i64().unwrap());
    }
    assert_eq!((seen.len() < 10, seen.last()), (true, Some(&49)), "{seen:?}");
    assert!(notes.take().iter().any(|it| it.starts_with("session.burst")));

    let changed = || notification("notifications/tools/list_changed", &json!({}));
    for _ in 0..10 {
        script.sender.send(changed()).await.unwrap();
    }
    let waiting = tokio::time::timeout(std::time::Duration::from_secs(5), events.recv());
    let Ok(Some(TransportEvent::Notification { method, .. })) = waiting.await else {
        panic!("kept too long")
    };
    assert_eq!(&*method, "notifications/tools/list_changed");
}
