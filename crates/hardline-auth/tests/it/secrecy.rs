//! Searches everything that users and other programs can see for planted tokens.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use hardline_auth::{Assertion, Auth, Enterprise, FileStore, Grant, Secret};
use hardline_client::ServerEvent;
use hardline_testkit::http::Server;
use hardline_testkit::oauth::World;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span;

use crate::person::Person;
use crate::{connect, echo, settings, start};

/// Records all log output.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<String>>);

impl Visit for Everything {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0.lock().unwrap(), "{}={value:?} ", field.name());
    }
}

impl tracing::Subscriber for Everything {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut self.clone());
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[track_caller]
fn search(text: &str) {
    for secret in ["access-", "refresh-", "the-code", "my-secret"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[tokio::test]
async fn tokens_are_in_no_log_no_error_and_no_debug() {
    let log = Everything::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    // The authorization server echoes the request in its errors.
    let echoed = r#"{"error":"server_said","error_description":"refresh-1 my-secret the-code"}"#;
    let (world, server) = start(World::default());
    let dir = tempfile::tempdir().unwrap();
    let person = Person::agreeing();
    let settings = settings(&person)
        .with_store(Arc::new(FileStore::new(dir.path())))
        .with_client("mine", Some(Secret::new("my-secret")));
    let auth = Auth::new(&server.url("/mcp"), settings.clone()).unwrap();
    let connection = connect(&server, &auth).await.unwrap();
    assert_eq!(echo(&connection, 1).await.unwrap(), "1");
    world.expire();
    assert_eq!(echo(&connection, 2).await.unwrap(), "2");
    search(&format!("{auth:?} {settings:?} {connection:?} {:?}", auth.status().await.unwrap()));
    world.expire();
    world.refuse_refresh(400, &echoed.replace("refresh-1", "refresh-2"));
    let error = echo(&connection, 3).await.unwrap_err();
    assert!(error.to_string().contains("server_said"), "{error}");
    search(&error.to_string().replace("the-code", ""));
    search(&format!("{error:?}").replace("the-code", ""));
    let log = log.0.lock().unwrap().replace("server_said ([redacted] [redacted] the-code)", "");
    search(&log);
}

#[tokio::test]
async fn a_token_that_the_server_repeats_in_an_answer_is_hidden() {
    let (_world, server) = start(World { tells_token: true, ..World::default() });
    let auth = Auth::new(&server.url("/mcp"), settings(&Person::agreeing())).unwrap();
    let connection = connect(&server, &auth).await.unwrap();
    let error = echo(&connection, 1).await.unwrap_err();
    assert!(error.to_string().contains("not with"), "{error}");
    search(&format!("{error} {error:?}"));
}

#[tokio::test]
async fn a_token_that_the_server_logs_can_be_hidden_at_any_time() {
    let world = Arc::new(World::default());
    let server = Server::start({
        let world = Arc::clone(&world);
        async move |it| {
            let is_shut = *world.is_expired.lock().unwrap();
            if it.rpc_method() != "tools/call" || is_shut {
                return world.serve(it).await;
            }
            let token = it.request.header("authorization").unwrap_or_default();
            let params = json!({ "level": "info", "data": token });
            let log =
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
            let answer = it.result(r#"{"content":[]}"#);
            it.stream(&format!("data: {log}\n\ndata: {answer}\n\n")).await;
        }
    });
    let auth = Auth::new(&server.url("/mcp"), settings(&Person::agreeing())).unwrap();
    let connection = connect(&server, &auth).await.unwrap();
    let mut events = connection.events();
    echo(&connection, 1).await.unwrap();
    assert_eq!(connection.hide("it is access-1."), "it is [redacted].");
    for n in 2..5 {
        world.expire();
        echo(&connection, n).await.unwrap();
    }
    assert_eq!(connection.hide("it is access-4."), "it is [redacted].");
    connection.close().await;
    drop(connection);
    for n in 1..5 {
        let Some(ServerEvent::Notification(log)) = events.recv().await else { panic!("{n}") };
        let text = log.params.as_ref().unwrap().get();
        assert!(text.contains(&format!("Bearer access-{n}")), "{text}");
        assert_eq!(log.hide(text), r#"{"data":"[redacted]","level":"info"}"#);
    }
}

#[tokio::test]
async fn what_is_told_beforehand_is_in_no_debug() {
    let enterprise =
        Enterprise::new("https://idp.example/token", "me", Assertion::text("my-secret"))
            .with_provider_secret("my-secret".into())
            .with_client("me", Some("my-secret".into()));
    for grant in [
        Grant::client_secret("me", "my-secret"),
        Grant::enterprise(enterprise),
        Grant::workload(None, Assertion::text("my-secret")),
        Grant::workload(None, Assertion::from_fn(|| Ok("my-secret".into()))),
    ] {
        search(&format!("{grant:?}"));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn tokens_are_in_no_file_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_world, server) = start(World::default());
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("a/b");
    let settings = settings(&Person::agreeing()).with_store(Arc::new(FileStore::new(&inner)));
    super::logged_in(&server, settings).await;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    let mut found = 0;
    for entry in std::fs::read_dir(&inner).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{path:?}");
        found += usize::from(std::fs::read_to_string(&path).unwrap().contains("refresh-1"));
    }
    assert_eq!(found, 1);
}
