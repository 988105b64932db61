//! A server with an authorization server of its own, and a person with a browser.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use hardline_client::auth::{AuthorizationUrl, Browser};
use hardline_testkit::http::{Exchange, Request, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::peer::text;

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;

/// What the server knows and does. Tokens are `access-N` and `refresh-N`, with the same `N`.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// The number of the token that is good at the moment.
    pub(crate) now: Mutex<u32>,
    /// How a refresh is answered, if not with tokens.
    pub(crate) refusal: Mutex<Option<(u16, String)>>,
    /// Whether refreshing gives out a new refresh token.
    pub(crate) keeps_refresh: bool,
    /// For how long a token is good.
    pub(crate) lifetime: Option<u64>,
    /// A refresh is answered when this is told.
    pub(crate) gate: Option<Notify>,
    /// Documents in place of those that are right, by their path.
    pub(crate) documents: HashMap<&'static str, String>,
    /// What the token endpoint answers a login with, in place of tokens.
    pub(crate) login_answer: Option<String>,
    /// The scope that a call needs, and that the second login gives.
    pub(crate) scope: Option<&'static str>,
    pub(crate) logins: Mutex<u32>,
    /// Whether no token is good at the moment.
    pub(crate) is_expired: Mutex<bool>,
    /// Whether none will ever be.
    pub(crate) refuses_all: Mutex<bool>,
    /// How often each call was run.
    pub(crate) runs: Mutex<HashMap<String, usize>>,
}

impl World {
    pub(crate) async fn serve(&self, it: &mut Exchange) {
        let path = it.request.path.split('?').next().unwrap_or_default().to_owned();
        let origin = format!("http://{}", it.request.header("host").unwrap_or_default());
        if let Some(document) = self.documents.get(path.as_str()) {
            let document = document.replace("ORIGIN", &origin);
            match document.strip_prefix("redirect ") {
                Some(target) => {
                    it.respond(302, &[&format!("Location: {target}")], "").await;
                }
                None => it.json(&document).await,
            }
            return;
        }
        match path.as_str() {
            "/mcp" => self.serve_mcp(it, &origin).await,
            "/.well-known/oauth-protected-resource/mcp" => {
                it.json(&resource(&origin).to_string()).await;
            }
            "/.well-known/oauth-authorization-server" => {
                it.json(&metadata(&origin).to_string()).await;
            }
            "/register" => it.json(r#"{"client_id":"registered"}"#).await,
            "/token" => self.serve_token(it).await,
            "/revoke" => it.status(200).await,
            _ => it.status(404).await,
        }
    }

    async fn serve_mcp(&self, it: &mut Exchange, origin: &str) {
        let now = *self.now.lock().unwrap();
        let is_good = it.request.header("authorization") == Some(&format!("Bearer access-{now}"));
        let is_shut = *self.is_expired.lock().unwrap() || *self.refuses_all.lock().unwrap();
        if !is_good || is_shut {
            let challenge = format!(
                "WWW-Authenticate: Bearer scope=\"basic\", resource_metadata=\"{origin}/.well-known/oauth-protected-resource/mcp\""
            );
            it.respond(401, &[&challenge], "who?").await;
            return;
        }
        match (it.request.method.as_str(), it.rpc_method().as_str()) {
            ("GET", _) => it.status(405).await,
            (_, "initialize") => it.answer(GREETING).await,
            (_, "tools/call") => self.call(it).await,
            _ => it.status(202).await,
        }
    }

    async fn call(&self, it: &mut Exchange) {
        if let Some(scope) = self.scope
            && *self.logins.lock().unwrap() < 2
        {
            let challenge =
                format!("WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            it.respond(403, &[&challenge], "").await;
            return;
        }
        let params = it.request.member("params").unwrap();
        let call = params["arguments"]["n"].to_string();
        *self.runs.lock().unwrap().entry(call.clone()).or_default() += 1;
        it.answer(&text(&call).to_string()).await;
    }

    async fn serve_token(&self, it: &mut Exchange) {
        let form = form(&it.request);
        let is_refresh = form.get("grant_type").is_some_and(|it| it == "refresh_token");
        if is_refresh {
            if let Some(gate) = &self.gate {
                gate.notified().await;
            }
            let refusal = self.refusal.lock().unwrap().clone();
            if let Some((status, body)) = refusal {
                it.respond(status, &["Content-Type: application/json"], body).await;
                return;
            }
            let now = *self.now.lock().unwrap();
            let good = if self.keeps_refresh { 1 } else { now };
            if form["refresh_token"] != format!("refresh-{good}") {
                let body = r#"{"error":"invalid_grant","error_description":"used before"}"#;
                it.respond(400, &[], body).await;
                return;
            }
        } else if let Some(answer) = &self.login_answer {
            it.respond(400, &[], answer).await;
            return;
        }
        if !is_refresh {
            *self.logins.lock().unwrap() += 1;
        }
        *self.is_expired.lock().unwrap() = false;
        let now = {
            let mut now = self.now.lock().unwrap();
            *now += 1;
            *now
        };
        let mut answer = json!({ "access_token": format!("access-{now}"), "token_type": "Bearer" });
        if !is_refresh || !self.keeps_refresh {
            answer["refresh_token"] = format!("refresh-{now}").into();
        }
        if let Some(lifetime) = self.lifetime {
            answer["expires_in"] = lifetime.into();
        }
        it.json(&answer.to_string()).await;
    }

    /// Makes the token that was given out last worth nothing. It can be refreshed.
    pub(crate) fn expire(&self) {
        *self.is_expired.lock().unwrap() = true;
    }

    pub(crate) fn refuse_refresh(&self, status: u16, body: &str) {
        *self.refusal.lock().unwrap() = Some((status, body.to_owned()));
    }
}

/// How many refreshes were asked for.
pub(crate) fn refreshes(server: &Server) -> usize {
    let asked = |it: &Request| it.path == "/token" && it.body.contains("grant_type=refresh_token");
    server.requests().iter().filter(|it| asked(it)).count()
}

pub(crate) fn resource(origin: &str) -> Value {
    json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] })
}

pub(crate) fn metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "revocation_endpoint": format!("{origin}/revoke"),
        "code_challenge_methods_supported": ["S256"],
    })
}

/// The fields of a form that was sent.
pub(crate) fn form(request: &Request) -> HashMap<String, String> {
    query(&format!("http://x/?{}", request.body))
}

pub(crate) fn query(url: &str) -> HashMap<String, String> {
    let url = reqwest::Url::parse(url).unwrap();
    url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

/// Somebody in front of a browser, who does what a test says.
pub(crate) struct Person {
    /// What the browser requests from the loopback address, in turn. `STATE` is the login's.
    answers: Vec<String>,
    pub(crate) opened: Mutex<Vec<String>>,
    pub(crate) pages: Arc<Mutex<Vec<String>>>,
}

impl Person {
    pub(crate) fn new(answers: &[&str]) -> Arc<Self> {
        let answers = answers.iter().map(|it| (*it).to_owned()).collect();
        let opened = Mutex::default();
        Arc::new(Self { answers, opened, pages: Arc::default() })
    }

    /// One who agrees.
    pub(crate) fn agreeing() -> Arc<Self> {
        Self::new(&["GET /callback?code=the-code&state=STATE HTTP/1.1"])
    }

    pub(crate) fn opened(&self) -> Vec<String> {
        self.opened.lock().unwrap().clone()
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Person")
    }
}

impl Browser for Person {
    fn open(&self, url: &AuthorizationUrl) -> Result<(), String> {
        self.opened.lock().unwrap().push(url.as_str().to_owned());
        let query = query(url.as_str());
        let back = reqwest::Url::parse(&query["redirect_uri"]).unwrap();
        let port = back.port().unwrap();
        let answers: Vec<_> =
            self.answers.iter().map(|it| it.replace("STATE", &query["state"])).collect();
        let pages = Arc::clone(&self.pages);
        tokio::spawn(async move {
            for answer in answers {
                let page = visit(port, &answer).await;
                pages.lock().unwrap().push(page);
            }
        });
        Ok(())
    }
}

/// Sends a request to the loopback address, and reads what comes back.
pub(crate) async fn visit(port: u16, line: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else {
        return "gone".to_owned();
    };
    let request = format!("{line}\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let _ = stream.write_all(request.as_bytes()).await;
    let mut page = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        page.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8_lossy(&page).into_owned()
}
