//! rmcp's client, for `cargo xtask test servers`: `rmcp_session SESSION`
//!
//! Takes the steps of a session and records it, as `tests/servers/session.mjs` does and says. The steps
//! that the others take together are taken one after the other: rmcp spawns a task for each message,
//! and tasks overtake each other.
#![expect(
    clippy::indexing_slicing,
    reason = "a JSON value has null where it has nothing, and the sessions are ours"
)]
#![expect(deprecated, reason = "what 2026-07-28 has done away with, the versions before it have")]

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, mem};

use anyhow::{Context as _, anyhow, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{
    ClientConfig, ClientRequest, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ErrorData, ListRootsResult, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, Peer, PeerRequestOptions, RequestContext,
    ServiceError,
};
use rmcp::{ClientHandler, RoleClient};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::time;

const WAIT: Duration = Duration::from_secs(20);
/// Time after closing its input until the server is killed; the same as in rmcp's own transport.
const KILLED_AFTER: Duration = Duration::from_secs(3);
const CHUNK: usize = 64 * 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let path = env::args().nth(1).context("usage: rmcp_session SESSION")?;
    let session: Value = serde_json::from_slice(&fs::read(path)?)?;
    let record = OpenOptions::new().append(true).create(true).open(text(&session, "record")?)?;
    let recorder = Arc::new(Recorder::new(record));

    let words: Vec<String> = parsed(&session["command"])?;
    let (program, arguments) = words.split_first().context("a session has a command")?;
    let environment: HashMap<String, String> = parsed(&session["env"])?;
    let mut server = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .current_dir(text(&session, "folder")?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let input = server.stdin.take().context("the server has an input")?;
    let output = server.stdout.take().context("the server has an output")?;
    let (from_server, to_client) = tokio::io::duplex(CHUNK);
    let (from_client, to_server) = tokio::io::duplex(CHUNK);
    let received = tokio::spawn(relay(output, to_client, Arc::clone(&recorder), "received"));
    let sent = tokio::spawn(relay(from_client, input, Arc::clone(&recorder), "sent"));

    let client = Client { session: session.clone() };
    let newest = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match text(&session, "mode")? {
        "auto" => ClientLifecycleMode::Auto { preferred_versions: newest, legacy_version: None },
        _ => ClientLifecycleMode::Initialize,
    };
    let mut running = client.serve_with_lifecycle((from_server, to_server), lifecycle).await?;
    let version = running.peer_info().context("the server says what it is")?;
    let version = version.protocol_version.as_str().to_owned();
    recorder.write(&json!({"event": "connected", "version": version}))?;

    let era = if version.as_str() < "2026-07-28" { "legacy" } else { "modern" };
    for step in session["steps"].as_array().context("a session has steps")? {
        let is_ours = step["era"].is_null() || step["era"] == era;
        if is_ours && step["version"].is_null() {
            take(running.peer(), step, &recorder).await.with_context(|| step.to_string())?;
        }
    }
    running.close().await?;
    sent.await??;
    if time::timeout(KILLED_AFTER, server.wait()).await.is_err() {
        server.kill().await?;
    }
    time::timeout(WAIT, received).await???;
    recorder.write(&json!({"event": "done"}))
}

async fn take(peer: &Peer<RoleClient>, step: &Value, recorder: &Recorder) -> anyhow::Result<()> {
    if let Some(method) = step["wait"].as_str() {
        return Ok(time::timeout(WAIT, recorder.next(method)).await?);
    }
    if step["notify"] == "notifications/roots/list_changed" {
        return Ok(peer.notify_roots_list_changed().await?);
    }
    for step in step["together"].as_array().into_iter().flatten() {
        request(peer, step, recorder).await?;
    }
    if let Some(method) = step["cancel"].as_str() {
        let call = parsed(&json!({"method": method, "params": step["params"]}))?;
        let call = peer.send_cancellable_request(call, PeerRequestOptions::no_options()).await?;
        for step in step["meanwhile"].as_array().into_iter().flatten() {
            request(peer, step, recorder).await?;
        }
        call.cancel(Some("changed my mind".to_owned())).await?;
    }
    if step["do"].is_string() { request(peer, step, recorder).await } else { Ok(()) }
}

async fn request(peer: &Peer<RoleClient>, step: &Value, recorder: &Recorder) -> anyhow::Result<()> {
    let mut message = json!({"method": step["do"]});
    if !step["params"].is_null() {
        message["params"] = step["params"].clone();
    }
    let request: ClientRequest = parsed(&message)?;
    let outcome = match peer.send_request(request).await {
        Ok(result) => json!({"result": result}),
        Err(ServiceError::McpError(error)) => json!({"error": error}),
        Err(error) => return Err(error.into()),
    };
    recorder.write(&json!({"event": "outcome", "step": step, "outcome": outcome}))?;
    let is_error = step["error"] == true;
    ensure!(outcome["error"].is_null() != is_error, "{outcome}");
    Ok(())
}

/// Answers the server as the session says.
struct Client {
    session: Value,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities =
            json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}}});
        let name = json!({"name": "hardline-test", "version": "1.0.0"});
        // What rmcp cannot read shows in the first message.
        ClientConfig::new(
            parsed(&capabilities).unwrap_or_default(),
            parsed(&name).unwrap_or_default(),
        )
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        answer(&json!({"roots": self.session["roots"]}))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        answer(&self.session["answers"]["sampling"])
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        answer(&self.session["answers"]["elicitation"])
    }
}

/// Copies and records until the end of the input.
async fn relay(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    recorder: Arc<Recorder>,
    direction: &'static str,
) -> anyhow::Result<()> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let length = from.read(&mut chunk).await?;
        let Some(data) = chunk.get(..length).filter(|data| !data.is_empty()) else {
            return Ok(());
        };
        recorder.see(direction, data)?;
        // The client may listen no more; what the server still says is recorded.
        let _ = to.write_all(data).await;
        let _ = to.flush().await;
    }
}

/// Writes the record, and counts what came over the wire, for the steps that wait for it.
struct Recorder {
    seen: Mutex<Seen>,
    changed: Notify,
}

struct Seen {
    file: File,
    /// The unfinished line of each direction.
    rest: HashMap<&'static str, Vec<u8>>,
    /// The server's requests, by id, that were not answered yet.
    unanswered: HashMap<String, String>,
    came: HashMap<String, usize>,
}

impl Recorder {
    fn new(file: File) -> Self {
        let (rest, unanswered, came) = Default::default();
        Self { seen: Mutex::new(Seen { file, rest, unanswered, came }), changed: Notify::new() }
    }

    fn write(&self, event: &Value) -> anyhow::Result<()> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(seen.file.write_all(format!("{event}\n").as_bytes())?)
    }

    fn see(&self, direction: &'static str, data: &[u8]) -> anyhow::Result<()> {
        let encoded = BASE64_STANDARD.encode(data);
        self.write(&json!({"event": direction, "process": 0, "data": encoded}))?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = seen.rest.entry(direction).or_default();
        rest.extend_from_slice(data);
        let whole = rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let unfinished = rest.split_off(whole);
        let lines = mem::replace(rest, unfinished);
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            seen.count(direction, &serde_json::from_slice(line)?);
        }
        self.changed.notify_one();
        Ok(())
    }

    /// Waits for one more message of this method than earlier calls waited for.
    async fn next(&self, method: &str) {
        while !self.has_come(method) {
            self.changed.notified().await;
        }
    }

    fn has_come(&self, method: &str) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let left = seen.came.get_mut(method).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }
}

impl Seen {
    /// A request has come when it was answered, so that the answer and what follows keep their order.
    fn count(&mut self, direction: &str, message: &Value) {
        let id = message.get("id").map(Value::to_string);
        let method = message["method"].as_str().map(str::to_owned);
        let come = match (direction, id, method) {
            ("received", Some(id), Some(method)) => {
                self.unanswered.insert(id, method);
                None
            }
            ("received", None, method) => method,
            ("sent", Some(id), None) => self.unanswered.remove(&id),
            _ => None,
        };
        if let Some(method) = come {
            *self.came.entry(method).or_default() += 1;
        }
    }
}

fn text<'a>(session: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    session[key].as_str().ok_or_else(|| anyhow!("a session has a {key}"))
}

fn parsed<T: DeserializeOwned>(value: &Value) -> anyhow::Result<T> {
    serde_json::from_value(value.clone()).with_context(|| value.to_string())
}

fn answer<T: DeserializeOwned>(value: &Value) -> Result<T, ErrorData> {
    parsed(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
