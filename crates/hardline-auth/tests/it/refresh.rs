//! Refresh of expired tokens.

use std::sync::Arc;

use hardline_auth::{Auth, FileStore};
use hardline_testkit::oauth::{World, refreshes};
use hardline_transport::client::AuthHints;
use hardline_transport::http::{HeaderRefusal, HeaderSource as _, Headers, Next, Target};
use tokio::sync::Notify;

use crate::person::{Person, form};
use crate::{connect, echo, echo_twenty, logged_in, settings, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_requests_with_an_old_token_make_one_refresh_and_each_is_answered_once() {
    let (world, server) = start(World { gate: Some(Notify::new()), ..World::default() });
    let person = Person::agreeing();
    let auth = logged_in(&server, settings(&person)).await;
    let connection = connect(&server, &auth).await.unwrap();
    world.expire();
    let before = server.requests().len();
    let calls = {
        let connection = connection.clone();
        tokio::spawn(async move { echo_twenty(&connection).await })
    };
    // All calls are rejected, one request fetches the metadata, and the refresh is running.
    server.wait_for_requests(before + 22).await;
    world.gate.as_ref().unwrap().notify_one();
    for (n, outcome) in calls.await.unwrap().into_iter().enumerate() {
        assert_eq!(outcome.unwrap(), n.to_string());
    }
    assert_eq!(refreshes(&server), 1);
    assert_eq!(world.runs.lock().unwrap().len(), 20);
    assert!(world.runs.lock().unwrap().values().all(|count| *count == 1));
    assert_eq!(person.opened().len(), 1, "the first login");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_that_is_refused_is_one_clear_error_for_each() {
    let (world, server) = start(World::default());
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(FileStore::new(dir.path()));
    let person = Person::agreeing();
    logged_in(&server, settings(&person).with_store(Arc::<FileStore>::clone(&store))).await;
    // Another process, without a browser.
    let settings = hardline_auth::AuthSettings::new()
        .with_store(store)
        .with_login_advice("run `hardline login it`");
    let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
    let connection = connect(&server, &auth).await.unwrap();
    world.expire();
    world.refuse_refresh(400, r#"{"error":"invalid_grant","error_description":"revoked"}"#);
    let outcomes = echo_twenty(&connection).await;
    let expected =
        format!("the login at {} has ended: run `hardline login it`", server.url("/mcp"));
    let later = format!("{} wants a login: run `hardline login it`", server.url("/mcp"));
    for outcome in outcomes {
        let error = outcome.unwrap_err().to_string();
        assert!(error == expected || error == later, "{error}");
    }
    assert_eq!(refreshes(&server), 1);
    // A later call does not refresh either.
    assert_eq!(echo(&connection, 20).await.unwrap_err().to_string(), later);
    assert_eq!(refreshes(&server), 1);
    assert!(world.runs.lock().unwrap().is_empty());
    assert_eq!(person.opened().len(), 1, "the first login");
    assert!(!auth.status().await.unwrap().is_logged_in);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authorization_server_that_is_away_is_asked_once_and_the_login_stays() {
    let (world, server) = start(World::default());
    let auth = logged_in(&server, settings(&Person::agreeing())).await;
    let connection = connect(&server, &auth).await.unwrap();
    world.expire();
    world.refuse_refresh(503, "later");
    for outcome in echo_twenty(&connection).await {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("answers with HTTP status 503"), "{error}");
    }
    assert_eq!(refreshes(&server), 1);
    assert!(auth.status().await.unwrap().is_logged_in);
}

#[tokio::test]
async fn a_new_refresh_token_takes_the_place_of_the_old_one() {
    let (world, server) = start(World::default());
    let dir = tempfile::tempdir().unwrap();
    let person = Person::agreeing();
    let settings = || settings(&person).with_store(Arc::new(FileStore::new(dir.path())));
    let auth = logged_in(&server, settings()).await;
    let connection = connect(&server, &auth).await.unwrap();
    for n in 0..3 {
        world.expire();
        assert_eq!(echo(&connection, n).await.unwrap(), n.to_string());
    }
    // Another process continues with the stored token.
    let auth = Auth::new(&server.url("/mcp"), settings()).unwrap();
    world.expire();
    let connection = connect(&server, &auth).await.unwrap();
    assert_eq!(echo(&connection, 3).await.unwrap(), "3");
    let sent: Vec<_> = server
        .requests()
        .iter()
        .filter(|it| it.path == "/token")
        .filter_map(|it| form(it).get("refresh_token").cloned())
        .collect();
    assert_eq!(sent, ["refresh-1", "refresh-2", "refresh-3", "refresh-4"]);
    assert_eq!(person.opened().len(), 1, "the first login");
}

#[tokio::test]
async fn a_refresh_token_that_is_not_replaced_stays_good() {
    let (world, server) = start(World { keeps_refresh: true, ..World::default() });
    let auth = logged_in(&server, settings(&Person::agreeing())).await;
    let connection = connect(&server, &auth).await.unwrap();
    for n in 0..3 {
        world.expire();
        assert_eq!(echo(&connection, n).await.unwrap(), n.to_string());
    }
    assert_eq!(refreshes(&server), 3);
}

#[tokio::test]
async fn a_token_that_is_about_to_expire_is_not_sent() {
    // The token is within its margin from the start.
    let (_world, server) = start(World { lifetime: Some(0), ..World::default() });
    let auth = logged_in(&server, settings(&Person::agreeing())).await;
    assert!(auth.status().await.unwrap().is_logged_in);
    let before = server.requests().len();
    let connection = connect(&server, &auth).await.unwrap();
    assert_eq!(echo(&connection, 0).await.unwrap(), "0");
    let requests = server.requests();
    let refused = requests[before..].iter().filter(|it| it.header("authorization").is_none());
    assert!(refused.clone().all(|it| it.path == "/token"), "{requests:?}");
    // Each request has a token of its own, because none is valid for the next.
    let tokens: Vec<_> =
        requests[before..].iter().filter_map(|it| it.header("authorization")).collect();
    assert_eq!(tokens.first(), Some(&"Bearer access-2"));
    assert_eq!(refreshes(&server), tokens.len());
}

#[tokio::test]
async fn a_refresh_completes_even_if_its_request_is_dropped() {
    let (world, server) = start(World { gate: Some(Notify::new()), ..World::default() });
    let dir = tempfile::tempdir().unwrap();
    let person = Person::agreeing();
    let settings = settings(&person).with_store(Arc::new(FileStore::new(dir.path())));
    let auth = logged_in(&server, settings.clone()).await;
    world.expire();
    let url = server.url("/mcp");
    let sent = Headers::new().with("Authorization", "Bearer access-1").unwrap();
    let hints = AuthHints::default();
    let before = server.requests().len();
    {
        let refusal = HeaderRefusal::new(Target::new("POST", &url), 401, &hints, &sent);
        let refused = auth.refused(refusal);
        tokio::select! {
            _ = refused => panic!("it cannot be done yet"),
            () = server.wait_for_requests(before + 2) => {}
        }
    }
    world.gate.as_ref().unwrap().notify_one();
    // A request that is rejected now waits for the running refresh.
    let refusal = HeaderRefusal::new(Target::new("POST", &url), 401, &hints, &sent);
    assert_eq!(auth.refused(refusal).await.unwrap(), Next::SendAgain);
    let headers = auth.headers(Target::new("POST", &url)).await.unwrap();
    assert_eq!(headers.get("Authorization"), Some("Bearer access-2"));
    let again = Auth::new(&url, settings).unwrap();
    let headers = again.headers(Target::new("POST", &url)).await.unwrap();
    assert_eq!(headers.get("Authorization"), Some("Bearer access-2"));
    assert_eq!(refreshes(&server), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_do_not_refresh_at_once() {
    let (world, server) = start(World { gate: Some(Notify::new()), ..World::default() });
    let dir = tempfile::tempdir().unwrap();
    let person = Person::agreeing();
    let settings = || settings(&person).with_store(Arc::new(FileStore::new(dir.path())));
    let one = logged_in(&server, settings()).await;
    let other = Auth::new(&server.url("/mcp"), settings()).unwrap();
    let connections =
        [connect(&server, &one).await.unwrap(), connect(&server, &other).await.unwrap()];
    world.expire();
    let before = server.requests().len();
    let calls: Vec<_> = connections
        .into_iter()
        .map(|connection| tokio::spawn(async move { echo(&connection, 1).await }))
        .collect();
    // Both calls are rejected, and one of them fetches the metadata and a new token.
    server.wait_for_requests(before + 4).await;
    world.gate.as_ref().unwrap().notify_one();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), "1");
    }
    assert_eq!(refreshes(&server), 1);
}

#[tokio::test]
async fn a_server_that_accepts_no_token_at_all_is_not_asked_for_ever() {
    let (world, server) = start(World::default());
    let auth = logged_in(&server, settings(&Person::agreeing())).await;
    let connection = connect(&server, &auth).await.unwrap();
    *world.refuses_all.lock().unwrap() = true;
    let error = echo(&connection, 0).await.unwrap_err().to_string();
    assert!(error.contains("does not accept the token"), "{error}");
    assert_eq!(refreshes(&server), 1);
}
