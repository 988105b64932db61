//! An MCP server behind a login, with its own authorization server, controlled by a script.
//!
//! Tokens are `access-N` and `refresh-N`. A request with another token is told where to log in.
//! There is no login page: a test acts as browser and user, and visits the address where the login
//! waits, with any code.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::exhaustive_structs,
    reason = "a failed check panics, and tests set the fields that they need"
)]

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::http::{Exchange, Request, Server};

const GREETING: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#;

/// State of the server. Tokens are `access-N` and `refresh-N`, with the same `N`.
#[derive(Debug, Default)]
pub struct World {
    /// Number of the currently valid token.
    pub now: Mutex<u32>,
    /// Response to a refresh in place of tokens.
    pub refusal: Mutex<Option<(u16, String)>>,
    /// True if a refresh returns no new refresh token.
    pub keeps_refresh: bool,
    /// Lifetime of a token in seconds.
    pub lifetime: Option<u64>,
    /// If set, a refresh is answered only after a notification.
    pub gate: Option<Notify>,
    /// Documents that replace the correct ones, by path.
    pub documents: HashMap<&'static str, String>,
    /// Response of the token endpoint to a login in place of tokens.
    pub login_answer: Option<String>,
    /// Scope that a call needs, and that the second login grants.
    pub scope: Option<&'static str>,
    /// Number of logins.
    pub logins: Mutex<u32>,
    /// True if no token is valid at the moment.
    pub is_expired: Mutex<bool>,
    /// True if no token will ever be valid.
    pub refuses_all: Mutex<bool>,
    /// True to answer a call with an error that contains the token.
    pub tells_token: bool,
    /// Number of times each call was run.
    pub runs: Mutex<HashMap<String, usize>>,
}

impl World {
    /// Answers one request to the MCP server or to the authorization server.
    pub async fn serve(&self, it: &mut Exchange) {
        let path = it.request.path.split('?').next().unwrap_or_default().to_owned();
        let origin = format!("http://{}", it.request.header("host").unwrap_or_default());
        if let Some(document) = self.documents.get(path.as_str()) {
            // The port is known only when the server runs.
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
        // An expired token can be refreshed; with `refuses_all` no token helps.
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
            // The first login grants too little, so the client must log in again for the scope.
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
            // With rotation, each refresh token is valid once.
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

    /// Invalidates the current access token. It can be refreshed.
    pub fn expire(&self) {
        *self.is_expired.lock().unwrap() = true;
    }

    /// Sets the response to every later refresh.
    pub fn refuse_refresh(&self, status: u16, body: &str) {
        *self.refusal.lock().unwrap() = Some((status, body.to_owned()));
    }
}

/// Returns the number of refresh requests.
pub fn refreshes(server: &Server) -> usize {
    let asked = |it: &Request| it.path == "/token" && it.body.contains("grant_type=refresh_token");
    server.requests().iter().filter(|it| asked(it)).count()
}

/// Returns the protected resource metadata of the MCP server.
pub fn resource(origin: &str) -> Value {
    json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] })
}

/// Returns the metadata of the authorization server.
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

/// Returns the fields of a form, without decoding.
fn form(request: &Request) -> HashMap<String, String> {
    let pairs = request.body.split('&').filter_map(|it| it.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
