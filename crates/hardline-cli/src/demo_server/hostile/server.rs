//! The protocol of the hostile server, as far as attacks need it: lines in, lines out.

use std::io::{self, Write};

use hardline_guard::Rule;
use hardline_wire::encode::code;
use hardline_wire::version::Version;
use serde::Deserialize;
use serde_json::{Value, json};

use super::attack::{self, Attack, Next};
use super::call::Call;
use super::planted;
use super::tool::{ECHO, LATER, Offer};

/// The server and its session state.
#[derive(Debug)]
pub(super) struct HostileServer {
    /// Attack that every call triggers; without it, the tool's name selects the attack.
    only: Option<&'static Attack>,
    /// True after the client's `notifications/initialized`.
    is_ready: bool,
    offer: Offer,
    /// Calls without an answer, oldest first, at most [`MAX_WAITING`].
    waiting: Vec<Waiting>,
}

/// A call without an answer.
#[derive(Debug)]
struct Waiting {
    id: Value,
    /// Answer to send after the next call, if any.
    answer: Option<String>,
}

/// A message from the client. Answers to requests of an attack are ignored.
#[derive(Debug, Deserialize)]
struct Incoming {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
}

const MAX_WAITING: usize = 1024;
/// Version for clients that ask for an unknown one, or for one without a handshake.
const NEWEST: Version = Version::LATEST_WITH_HANDSHAKE;
const VERSION_KEY: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

impl HostileServer {
    pub(super) fn new(only: Option<&'static Attack>) -> Self {
        Self { only, is_ready: false, offer: Offer::default(), waiting: Vec::new() }
    }

    /// Handles a line. Lines that are not requests or notifications are ignored.
    pub(super) fn handle(&mut self, line: &[u8], out: &mut dyn Write) -> io::Result<Next> {
        let Ok(Incoming { id, method: Some(method), params }) = serde_json::from_slice(line) else {
            return Ok(Next::GoOn);
        };
        let Some(id) = id else {
            self.take_notification(&method, &params);
            return Ok(Next::GoOn);
        };
        let result = match method.as_str() {
            "initialize" => {
                // The lifecycle attack must send its request before the handshake is over.
                if self.only.is_some_and(|it| it.rule == Some(Rule::SessionLifecycle)) {
                    writeln!(out, "{}", planted::request())?;
                }
                initialize(&params, self.offer.instructions(self.only))
            }
            "server/discover" => {
                json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "supportedVersions": Version::ALL.map(Version::as_str), "capabilities": capabilities(),
                "instructions": self.offer.instructions(self.only)})
            }
            "ping" => json!({}),
            "tools/list" => json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "tools": self.offer.list(self.only)}),
            "tools/call" => return self.call(id, &params, out),
            _ => return refuse(&id, code::METHOD_NOT_FOUND, "unknown method", out),
        };
        writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
        out.flush()?;
        Ok(Next::GoOn)
    }

    fn take_notification(&mut self, method: &str, params: &Value) {
        match method {
            "notifications/initialized" => self.is_ready = true,
            // A cancelled call must not be answered later.
            "notifications/cancelled" => {
                let id = params.get("requestId");
                self.waiting.retain(|it| Some(&it.id) != id);
            }
            _ => {}
        }
    }

    fn call(&mut self, id: Value, params: &Value, out: &mut dyn Write) -> io::Result<Next> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let text = params.pointer("/arguments/text").and_then(Value::as_str).unwrap_or_default();
        // Forged answers need the id of another call.
        let other = self.waiting.first().map_or_else(|| next(&id), |it| it.id.to_string());
        let id_text = id.to_string();
        let is_modern = params.pointer(VERSION_KEY).is_some();
        let mut call = Call {
            out,
            id: &id_text,
            other: &other,
            token: params.pointer("/_meta/progressToken"),
            may_ask: self.is_ready && !is_modern,
            is_modern,
            offer: &mut self.offer,
        };
        let outcome = match self.only.or_else(|| attack::find(name)) {
            Some(attack) => (attack.act)(&mut call)?,
            None if name == ECHO => call.answer(text)?,
            None if name == LATER => {
                let answer = Some(call.text(text));
                self.wait(Waiting { id, answer });
                return Ok(Next::GoOn);
            }
            None => return refuse(&id, code::INVALID_PARAMS, "unknown tool", out),
        };
        match outcome {
            Next::End(_) => return Ok(outcome),
            Next::Wait => self.wait(Waiting { id, answer: None }),
            Next::GoOn => {}
        }
        // The honest slow tool answers after the next call.
        for it in self.waiting.extract_if(.., |it| it.answer.is_some()) {
            writeln!(out, "{}", it.answer.unwrap_or_default())?;
        }
        out.flush()?;
        Ok(Next::GoOn)
    }

    fn wait(&mut self, waiting: Waiting) {
        // Further calls are never answered, which a client must survive anyway.
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push(waiting);
        }
    }
}

/// Guesses the id that a client uses next, as JSON.
fn next(id: &Value) -> String {
    id.as_i64().and_then(|id| id.checked_add(1)).unwrap_or_default().to_string()
}

fn initialize(params: &Value, instructions: &str) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let asked = asked.and_then(|it| it.parse::<Version>().ok());
    let version = asked.filter(|it| it.has_handshake()).unwrap_or(NEWEST);
    json!({"protocolVersion": version.as_str(), "capabilities": capabilities(),
        "serverInfo": {"name": "hardline-hostile-demo", "version": env!("CARGO_PKG_VERSION")},
        "instructions": instructions})
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "logging": {}})
}

fn refuse(id: &Value, code: i64, message: &str, out: &mut dyn Write) -> io::Result<Next> {
    let error = json!({"code": code, "message": message});
    writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": id, "error": error}))?;
    out.flush()?;
    Ok(Next::GoOn)
}
