//! Servers that abuse the login.

use hardline_auth::{Auth, AuthError};
use hardline_testkit::http::Server;
use hardline_testkit::oauth::{World, metadata, resource};
use serde_json::Value;

use crate::person::Person;
use crate::{settings, start};

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const METADATA: &str = "/.well-known/oauth-authorization-server";

/// Checks the error of a login if a metadata document has this value. No browser may be opened.
async fn check(path: &'static str, key: &str, value: impl Into<Value>, expected: &str) {
    let mut document = match path {
        RESOURCE => resource("ORIGIN"),
        _ => metadata("ORIGIN"),
    };
    document[key] = value.into();
    check_document(path, document.to_string(), expected).await;
}

async fn check_document(path: &'static str, document: String, expected: &str) {
    let mut world = World::default();
    let shown: String = document.chars().take(200).collect();
    world.documents.insert(path, document);
    let (_world, server) = start(world);
    let person = Person::agreeing();
    let auth = Auth::new(&server.url("/mcp"), settings(&person)).unwrap();
    let error = auth.login().await.unwrap_err().to_string();
    assert!(error.contains(expected), "{shown}: {error}");
    assert!(error.len() < 800 && error.chars().all(|it| !it.is_control()), "{error}");
    assert!(person.opened().is_empty(), "{shown}");
}

#[tokio::test]
async fn a_page_that_is_no_plain_web_page_is_not_opened() {
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://auth.example/authorize",
        "http://192.168.1.1/authorize",
        "ORIGIN/$(calc)",
        "ORIGIN/`calc`",
        "ORIGIN/a|calc",
        "ORIGIN/\"; calc; \"",
        "ORIGIN/\u{1b}[2J",
        "ORIGIN/a\nb",
        "https://user:pass@auth.example/",
        "-x",
        "",
    ] {
        check(METADATA, "authorization_endpoint", url, "").await;
    }
    let long = format!("https://auth.example/{}", "a".repeat(100_000));
    check(METADATA, "authorization_endpoint", long, "is no URL").await;
}

#[tokio::test]
async fn secrets_are_sent_to_no_address_that_is_not_safe() {
    for key in ["token_endpoint", "registration_endpoint", "revocation_endpoint"] {
        check(METADATA, key, "http://auth.example/x", "is not encrypted").await;
        check(METADATA, key, "ftp://auth.example/x", "does not begin with https://").await;
    }
    // The address at which cloud machines find their credentials.
    let link_local = "https://169.254.169.254/register";
    check(METADATA, "registration_endpoint", link_local, "this machine's own network").await;
    let servers = serde_json::json!(["https://169.254.169.254"]);
    check(RESOURCE, "authorization_servers", servers, "this machine's own network").await;
    let servers = serde_json::json!(["http://auth.example"]);
    check(RESOURCE, "authorization_servers", servers, "is not encrypted").await;
}

#[tokio::test]
async fn metadata_must_describe_the_right_server() {
    let evil = "https://evil.example/mcp";
    check(RESOURCE, "resource", evil, "describes another server, https://evil.example/mcp").await;
    check(METADATA, "issuer", "https://evil.example", "about another issuer").await;
    check(METADATA, "issuer", Value::Null, "about another issuer").await;
    check(METADATA, "issuer", "ORIGIN/x", "about another issuer").await;
    check(METADATA, "token_endpoint", Value::Null, "cannot be read").await;
    check(METADATA, "token_endpoint", 7, "cannot be read").await;
}

#[tokio::test]
async fn an_authorization_server_without_pkce_is_refused() {
    let plain = serde_json::json!(["plain"]);
    check(METADATA, "code_challenge_methods_supported", plain, "PKCE with S256").await;
    check(METADATA, "code_challenge_methods_supported", Value::Null, "PKCE with S256").await;
}

#[tokio::test]
async fn a_document_that_is_too_long_or_elsewhere_is_not_read() {
    let long = format!("{{\"x\":\"{}\"}}", "a".repeat(300 << 10));
    check_document(METADATA, long, "is longer than 262144 bytes").await;
    let elsewhere = "redirect https://evil.example/x".to_owned();
    check_document(METADATA, elsewhere.clone(), "redirects to another origin").await;
    check_document(RESOURCE, elsewhere, "redirects to another origin").await;
    check_document(RESOURCE, format!("redirect {RESOURCE}"), "redirects more than 3 times").await;
    check_document(
        "/register",
        "redirect /elsewhere".to_owned(),
        "redirects a request that contains a secret",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_not_waited_for() {
    let server = Server::start(async |it| it.wait_for_close().await);
    let auth = Auth::new(&server.url("/mcp"), settings(&Person::agreeing())).unwrap();
    let error = auth.login().await.unwrap_err();
    assert!(matches!(error, AuthError::Unreachable(_)), "{error:?}");
    assert!(error.to_string().contains("did not answer within 20 s"), "{error}");
}

#[tokio::test]
async fn what_a_server_says_about_a_failure_does_not_harm_a_terminal() {
    let answer = "{\"error\":\"bad\\u001b[2J\",\"error_description\":\"a\\nb\"}";
    let (_world, server) =
        start(World { login_answer: Some(answer.to_owned()), ..World::default() });
    let auth = Auth::new(&server.url("/mcp"), settings(&Person::agreeing())).unwrap();
    let error = auth.login().await.unwrap_err().to_string();
    assert!(error.ends_with("refuses the login: bad\\u{1b}[2J (a\\nb)"), "{error}");
}
