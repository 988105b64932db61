//! Login, and requests for further scopes.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hardline_auth::{Auth, AuthError, AuthSettings};
use hardline_testkit::oauth::{World, metadata};
use ring::digest::{SHA256, digest};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::person::{Person, form, query};
use crate::{connect, echo, logged_in, settings, start};

#[tokio::test]
async fn a_login_from_the_first_refusal_to_the_logout() {
    let (_world, server) = start(World::default());
    let person = Person::agreeing();
    let auth = Auth::new(&server.url("/mcp"), settings(&person)).unwrap();
    assert!(!auth.status().await.unwrap().is_logged_in);
    // The first request is rejected, which opens the browser.
    let connection = connect(&server, &auth).await.unwrap();
    assert_eq!(echo(&connection, 7).await.unwrap(), "7");

    let opened = person.opened();
    let [url] = opened.as_slice() else { panic!("{opened:?}") };
    assert!(url.starts_with(&server.url("/authorize?")), "{url}");
    let asked = query(url);
    assert_eq!(asked["response_type"], "code");
    assert_eq!(asked["client_id"], "registered");
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["resource"], server.url("/mcp"));
    assert_eq!(asked["scope"], "basic");
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"));
    let requests = server.requests();
    let exchange = form(requests.iter().find(|it| it.path == "/token").unwrap());
    assert_eq!(exchange["grant_type"], "authorization_code");
    assert_eq!(exchange["code"], "the-code");
    assert_eq!(exchange["redirect_uri"], asked["redirect_uri"]);
    assert_eq!(exchange["resource"], asked["resource"]);
    let challenge = digest(&SHA256, exchange["code_verifier"].as_bytes());
    assert_eq!(URL_SAFE_NO_PAD.encode(challenge), asked["code_challenge"]);
    let registration = requests.iter().find(|it| it.path == "/register").unwrap();
    assert_eq!(registration.member("application_type").unwrap(), "native");
    let pages = person.pages.lock().unwrap().join("");
    assert!(pages.starts_with("HTTP/1.1 200 OK") && pages.contains("You are logged in"), "{pages}");

    let status = auth.status().await.unwrap();
    assert!(status.is_logged_in && status.can_refresh);
    assert_eq!(status.scopes, ["basic"]);
    assert_eq!(status.issuer.as_deref(), Some(server.url("").as_str()));
    assert!(auth.logout().await.unwrap());
    assert!(!auth.logout().await.unwrap());
    assert!(!auth.status().await.unwrap().is_logged_in);
    let revoked = server.requests();
    let revoked = form(revoked.iter().find(|it| it.path == "/revoke").unwrap());
    assert_eq!(revoked["token"], "refresh-1");
}

#[tokio::test]
async fn without_a_browser_nothing_is_opened_and_the_error_says_what_to_do() {
    let (_world, server) = start(World::default());
    let settings = AuthSettings::new().with_login_advice("run `hardline login it`");
    let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
    let error = connect(&server, &auth).await.unwrap_err().to_string();
    let expected = format!("{} wants a login: run `hardline login it`", server.url("/mcp"));
    assert_eq!(error, expected);
    // No metadata was fetched and no other request was sent.
    assert_eq!(server.requests().len(), 1);
    assert!(matches!(auth.login().await, Err(AuthError::Settings(_))));
}

#[tokio::test]
async fn a_call_that_needs_more_asks_for_that_and_what_was_asked_for_before() {
    let (world, server) = start(World { scope: Some("write"), ..World::default() });
    let person = Person::agreeing();
    let auth = logged_in(&server, settings(&person)).await;
    let connection = connect(&server, &auth).await.unwrap();
    assert_eq!(echo(&connection, 1).await.unwrap(), "1");
    let asked: Vec<_> = person.opened().iter().map(|url| query(url)["scope"].clone()).collect();
    assert_eq!(asked, ["basic", "basic write"]);
    assert_eq!(world.runs.lock().unwrap()["1"], 1);
}

#[tokio::test]
async fn what_was_asked_for_and_is_not_given_is_not_asked_for_again() {
    let (_world, server) = start(World { scope: Some("basic"), ..World::default() });
    let person = Person::agreeing();
    let auth = logged_in(&server, settings(&person)).await;
    let connection = connect(&server, &auth).await.unwrap();
    let error = echo(&connection, 1).await.unwrap_err().to_string();
    assert!(error.contains("wants the permission basic, which was asked for"), "{error}");
    assert_eq!(person.opened().len(), 1);
}

#[tokio::test]
async fn without_a_browser_a_further_permission_is_named() {
    let (_world, server) = start(World { scope: Some("write"), ..World::default() });
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(hardline_auth::FileStore::new(dir.path()));
    let kept =
        settings(&Person::agreeing()).with_store(Arc::<hardline_auth::FileStore>::clone(&store));
    logged_in(&server, kept).await;
    let quiet = AuthSettings::new().with_store(store).with_login_advice("run `hardline login it`");
    let auth = Auth::new(&server.url("/mcp"), quiet).unwrap();
    let connection = connect(&server, &auth).await.unwrap();
    let error = echo(&connection, 1).await.unwrap_err().to_string();
    let expected = format!(
        "{} wants the further permission write: run `hardline login it`",
        server.url("/mcp")
    );
    assert_eq!(error, expected);
}

/// Performs a login whose browser sends these requests.
async fn end_of(answers: &[&str]) -> (Result<bool, String>, Vec<String>) {
    let (_world, server) = start(World::default());
    let person = Person::new(answers);
    let auth = Auth::new(&server.url("/mcp"), settings(&person)).unwrap();
    let outcome = auth.login().await.map(|it| it.is_logged_in).map_err(|error| error.to_string());
    (outcome, person.pages.lock().unwrap().clone())
}

#[tokio::test]
async fn requests_without_the_state_change_nothing() {
    let (outcome, pages) = end_of(&[
        "GET /favicon.ico HTTP/1.1",
        "OPTIONS /callback?code=x&state=STATE HTTP/1.1",
        "GET /callback?code=stolen&state=guessed HTTP/1.1",
        "GET /callback?error=access_denied&state=<script>alert(1)</script> HTTP/1.1",
        "\u{1}\u{2}\u{3}",
        "GET /callback?code=the-code&state=STATE HTTP/1.1",
    ])
    .await;
    assert_eq!(outcome, Ok(true));
    assert!(pages.iter().all(|page| !page.contains("script")), "{pages:?}");
    assert!(pages[2].starts_with("HTTP/1.1 400 "), "{pages:?}");
}

#[tokio::test]
async fn a_refusal_is_told_in_words() {
    let denied =
        "GET /callback?error=access_denied&error_description=not%20today&state=STATE HTTP/1.1";
    let (outcome, _) = end_of(&[denied]).await;
    assert_eq!(outcome, Err("the login failed: access was denied (not today)".to_owned()));
    let (outcome, _) =
        end_of(&["GET /callback?code=c&state=STATE&iss=https%3A%2F%2Fevil HTTP/1.1"]).await;
    assert!(outcome.unwrap_err().contains("comes from another issuer, https://evil"));
}

#[tokio::test]
async fn silent_connections_do_not_block_the_login() {
    let (_world, server) = start(World::default());
    let person = Person::new(&[]);
    let auth = Auth::new(&server.url("/mcp"), settings(&person)).unwrap();
    let login = tokio::spawn(async move { auth.login().await });
    let url = loop {
        if let Some(url) = person.opened().pop() {
            break url;
        }
        tokio::task::yield_now().await;
    };
    let asked = query(&url);
    let port = reqwest::Url::parse(&asked["redirect_uri"]).unwrap().port().unwrap();
    let mut silent = Vec::new();
    // This would take half a minute if each connection were waited for.
    for _ in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(b"GET /callback?code=").await.unwrap();
        silent.push(stream);
    }
    // A request that never ends is cut off.
    let mut endless = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    while endless.write_all(&[b'a'; 4096]).await.is_ok() {
        tokio::task::yield_now().await;
    }
    let line = format!("GET /callback?code=the-code&state={} HTTP/1.1", asked["state"]);
    let visit = super::person::visit(port, &line);
    tokio::time::timeout(Duration::from_secs(20), visit).await.unwrap();
    assert!(login.await.unwrap().unwrap().is_logged_in);
    // The loopback address is closed.
    assert_eq!(super::person::visit(port, &line).await, "gone");
}

#[tokio::test]
async fn a_login_times_out() {
    let (_world, server) = start(World::default());
    let settings = settings(&Person::new(&[])).with_login_wait(Duration::from_millis(10));
    let auth = Auth::new(&server.url("/mcp"), settings).unwrap();
    let error = auth.login().await.unwrap_err().to_string();
    assert_eq!(error, "the login failed: the user did not log in within 0 s");
}

#[tokio::test]
async fn a_login_that_was_denied_does_not_open_the_browser_for_each_request() {
    let (_world, server) = start(World::default());
    let person = Person::new(&["GET /callback?error=access_denied&state=STATE HTTP/1.1"]);
    let auth = Auth::new(&server.url("/mcp"), settings(&person)).unwrap();
    for _ in 0..3 {
        let error = connect(&server, &auth).await.unwrap_err().to_string();
        assert_eq!(error, "the login failed: access was denied");
    }
    assert_eq!(person.opened().len(), 1);
}

#[tokio::test]
async fn a_client_that_was_registered_is_known_to_one_issuer_alone() {
    let (_world, server) = start(World::default());
    let person = Person::agreeing();
    let own = settings(&person).with_client("mine", Some("my-secret".into()));
    let auth =
        Auth::new(&server.url("/mcp"), own.clone().with_issuer("https://auth.example")).unwrap();
    let error = auth.login().await.unwrap_err().to_string();
    assert!(error.contains("but only https://auth.example is trusted"), "{error}");
    assert!(person.opened().is_empty());
    let auth = Auth::new(&server.url("/mcp"), own.with_issuer(server.url(""))).unwrap();
    assert!(auth.login().await.unwrap().is_logged_in);
    let requests = server.requests();
    let exchange = requests.iter().find(|it| it.path == "/token").unwrap();
    // base64 of mine:my-secret
    assert_eq!(exchange.header("authorization"), Some("Basic bWluZTpteS1zZWNyZXQ="));
    assert!(!requests.iter().any(|it| it.path == "/register"));
}

#[tokio::test]
async fn advises_manual_registration_if_there_is_no_dynamic_one() {
    let mut world = World::default();
    let document = metadata("ORIGIN").to_string().replace("registration_endpoint", "no");
    world.documents.insert("/.well-known/oauth-authorization-server", document);
    let (_world, server) = start(world);
    let auth = Auth::new(&server.url("/mcp"), settings(&Person::agreeing())).unwrap();
    let error = auth.login().await.unwrap_err().to_string();
    for part in ["dynamic client registration", "`oauth.clientId`", "AuthSettings::with_client"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_metadata_is_its_own_authorization_server() {
    let mut world = World::default();
    for path in
        ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"]
    {
        world.documents.insert(path, "[]".to_owned());
    }
    let (_world, server) = start(world);
    let auth = logged_in(&server, settings(&Person::agreeing())).await;
    assert_eq!(auth.status().await.unwrap().issuer, None);
    assert!(metadata("x")["issuer"].is_string());
}
