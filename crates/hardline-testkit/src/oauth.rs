//! An MCP server behind a login that is its own authorization server, and follows a script.
//!
//! Tokens are `access-N` and `refresh-N`; whoever comes with another is told where to log in. There is no
//! page to log in on: a test takes the place of browser and person, and visits the address that the login
//! waits at with any code.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::exhaustive_structs,
    reason = "to panic is how a test speaks, and it makes the world that it wants"
)]

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::http::{Exchange, Request, Server};

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;

/// What the server knows and does. Tokens are `access-N` and `refresh-N`, with the same `N`.
#[derive(Debug, Default)]
pub struct World {
    /// The number of the token that is good at the moment.
    pub now: Mutex<u32>,
    /// How a refresh is answered, if not with tokens.
    pub refusal: Mutex<Option<(u16, String)>>,
    /// Whether refreshing gives out a new refresh token.
    pub keeps_refresh: bool,
    /// For how long a token is good.
    pub lifetime: Option<u64>,
    /// A refresh is answered when this is told.
    pub gate: Option<Notify>,
    /// Documents in place of those that are right, by their path.
    pub documents: HashMap<&'static str, String>,
    /// What the token endpoint answers a login with, in place of tokens.
    pub login_answer: Option<String>,
    /// The scope that a call needs, and that the second login gives.
    pub scope: Option<&'static str>,
    /// How often somebody logged in.
    pub logins: Mutex<u32>,
    /// Whether no token is good at the moment.
    pub is_expired: Mutex<bool>,
    /// Whether none will ever be.
    pub refuses_all: Mutex<bool>,
    /// Whether a call is answered with an error that repeats the token.
    pub tells_token: bool,
    /// How often each call was run.
    pub runs: Mutex<HashMap<String, usize>>,
}

impl World {
    /// Answers one request, to whichever of its two servers.
    pub async fn serve(&self, it: &mut Exchange) {
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
        if self.tells_token {
            let token = it.request.header("authorization").unwrap_or_default();
            let error = json!({ "code": -32000, "message": format!("not with {token}") });
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, it.id());
            it.json(&answer).await;
            return;
        }
        let params = it.request.member("params").unwrap();
        let call = params["arguments"]["n"].to_string();
        *self.runs.lock().unwrap().entry(call.clone()).or_default() += 1;
        let content = json!([{ "type": "text", "text": call }]);
        it.answer(&json!({ "content": content }).to_string()).await;
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
    pub fn expire(&self) {
        *self.is_expired.lock().unwrap() = true;
    }

    /// Answers every refresh from now on with this.
    pub fn refuse_refresh(&self, status: u16, body: &str) {
        *self.refusal.lock().unwrap() = Some((status, body.to_owned()));
    }
}

/// How many refreshes were asked for.
pub fn refreshes(server: &Server) -> usize {
    let asked = |it: &Request| it.path == "/token" && it.body.contains("grant_type=refresh_token");
    server.requests().iter().filter(|it| asked(it)).count()
}

/// What the MCP server says of itself.
pub fn resource(origin: &str) -> Value {
    json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] })
}

/// What the authorization server says of itself.
pub fn metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "revocation_endpoint": format!("{origin}/revoke"),
        "code_challenge_methods_supported": ["S256"],
    })
}

/// The fields of a form that was sent, as they were sent.
fn form(request: &Request) -> HashMap<String, String> {
    let pairs = request.body.split('&').filter_map(|it| it.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
