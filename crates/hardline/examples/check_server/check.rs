//! The checks, in order.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline::client::connection::Progress;
use hardline::client::model::{CallToolResult, SubscriptionFilter};
use hardline::client::{self, Connection, RequestOptions, ServerEvent};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::Wanted;
use crate::tool::{self, Tools};

const BIG: usize = 1_000_000;
const CONCURRENT: usize = 100;
/// Time for a server to send a notification or to notice a cancellation.
const PATIENCE: Duration = Duration::from_secs(5);

type Done = Result<(), Box<dyn Error>>;

/// Result of the tool `about`.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct About {
    pid: u32,
    /// Number of cancelled calls of `sleep`.
    cancelled: u64,
    sessions: u64,
}

struct Checks<'a> {
    server: &'a Connection,
    wanted: &'a Wanted,
    listed: Vec<String>,
    tools: Tools,
}

/// Runs all checks but those of the end. Returns the result of `about`, if the server has that
/// tool.
pub(crate) async fn all(
    server: &Connection,
    wanted: &Wanted,
) -> Result<Option<About>, Box<dyn Error>> {
    let version = server.version();
    if let Some(expected) = wanted.version {
        ensure(version == expected, || format!("{} is spoken", version.as_str()))?;
    }
    ok(&format!("connects with {}", version.as_str()))?;
    let listed: Vec<_> = server.list_tools().await?.iter().map(|it| it.name.to_string()).collect();
    ok(&format!("lists {} tools", listed.len()))?;
    let checks = Checks { server, wanted, tools: tool::of(&listed), listed };
    // Characters that line readers and JSON writers get wrong.
    checks.echo("Grüße, \"wörld\"\n\u{2028}\0 😀").await?;
    ok("echo: the text back")?;
    checks.echo(&"x".repeat(100_000)).await?;
    ok("echo: 100 KB there and back")?;
    checks.big().await?;
    checks.fail().await?;
    checks.progress().await?;
    checks.give_up().await?;
    checks.time_out().await?;
    checks.ask().await?;
    checks.resource().await?;
    checks.prompt().await?;
    checks.change().await?;
    checks.concurrent().await?;
    server.ping().await?;
    ok("ping")?;
    checks.about().await
}

/// Checks that `close` leaves no process and no session behind.
pub(crate) async fn closed(server: &Connection, wanted: &Wanted, before: Option<About>) -> Done {
    ensure(!server.is_connected(), || "connected after close".into())?;
    let error = server.ping().await.err();
    ensure(error.as_ref().is_some_and(client::Error::is_closed), || format!("{error:?}"))?;
    ok("close: requests fail at once")?;
    let Some(before) = before else { return Ok(()) };
    if wanted.url.is_none() {
        // On systems without `/proc` this check always passes.
        let process = Path::new("/proc").join(before.pid.to_string());
        ensure(!process.exists(), || format!("{} is still there", process.display()))?;
        return ok("close: the process is gone");
    }
    if !server.version().has_handshake() {
        return ensure(before.sessions == 0, || {
            format!("sessions without a handshake: {before:?}")
        });
    }
    // A second session must count one session again: the first one was deleted.
    let second = wanted.connect().await?;
    let after = about(&second).await;
    second.close().await;
    let after = after?;
    ensure((before.sessions, after.sessions) == (1, 1), || format!("{before:?}, then {after:?}"))?;
    ok("close: the session is deleted")
}

impl Checks<'_> {
    async fn big(&self) -> Done {
        if !self.has("big")? {
            return Ok(());
        }
        let said = text(&self.server.call_tool("big", json!({ "bytes": BIG })).await?)?;
        ensure(said.len() == BIG, || format!("{} bytes", said.len()))?;
        ok("big: a megabyte")
    }

    async fn fail(&self) -> Done {
        if !self.has("fail")? {
            return Ok(());
        }
        // A tool error is a result; only a protocol error is an `Err`.
        let result = self.server.call_tool("fail", json!({ "message": "as asked" })).await?;
        ensure(result.is_error == Some(true), || format!("no error: {result:?}"))?;
        ensure(text(&result)?.contains("as asked"), || format!("{result:?}"))?;
        ok("fail: a result that is an error")
    }

    async fn progress(&self) -> Done {
        let (name, arguments) = &self.tools.progress;
        if !self.has(name)? {
            return Ok(());
        }
        let seen: Arc<Mutex<Vec<Progress>>> = Arc::default();
        let sink = Arc::clone(&seen);
        let options = RequestOptions::default()
            .on_progress(move |it| sink.lock().unwrap_or_else(PoisonError::into_inner).push(it));
        self.server.call_tool_with(name, arguments.clone(), &options).await?;
        // The connection delivers all progress before the result.
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let steps: Vec<_> = seen.iter().map(|it| (it.progress, it.total)).collect();
        let expected = [(1.0, Some(3.0)), (2.0, Some(3.0)), (3.0, Some(3.0))];
        ensure(steps == expected, || format!("progress {steps:?}"))?;
        ok("progress: three steps, then the result")
    }

    /// Drops a call and continues.
    async fn give_up(&self) -> Done {
        let (name, arguments) = &self.tools.sleep;
        if !self.has(name)? {
            return Ok(());
        }
        let before = self.about().await?;
        let meanwhile = async {
            self.echo("meanwhile").await?;
            // Over HTTP, the second request can overtake the first.
            sleep(Duration::from_millis(200)).await;
            Ok::<_, Box<dyn Error>>(())
        };
        tokio::select! {
            result = self.server.call_tool(name, arguments.clone()) => {
                return Err(format!("{name} ended: {result:?}").into());
            }
            outcome = meanwhile => outcome?,
        }
        let noticed = self.noticed(before).await?;
        self.echo("after the cancelled call").await?;
        ok(&format!("cancel: {noticed}the session goes on"))
    }

    async fn time_out(&self) -> Done {
        let (name, arguments) = &self.tools.sleep;
        if !self.has(name)? {
            return Ok(());
        }
        let before = self.about().await?;
        let options = RequestOptions::default().with_timeout(Duration::from_millis(300));
        let result = self.server.call_tool_with(name, arguments.clone(), &options).await;
        ensure(matches!(result, Err(client::Error::Timeout { .. })), || format!("{result:?}"))?;
        let noticed = self.noticed(before).await?;
        self.echo("after the late call").await?;
        ok(&format!("timeout: {noticed}the session goes on"))
    }

    async fn ask(&self) -> Done {
        if !self.has(self.tools.ask)? {
            return Ok(());
        }
        let result = self.server.call_tool(self.tools.ask, json!({})).await?;
        let said = serde_json::to_string(&result.content)?;
        ensure(said.contains(self.tools.asked), || said)?;
        ok("ask: the server asks the user, and gets the answer")
    }

    async fn resource(&self) -> Done {
        let resources = self.server.list_resources().await?;
        let first = resources.first().ok_or("no resource is listed")?;
        let contents = self.server.read_resource(&first.uri).await?.contents;
        ensure(!contents.is_empty(), || format!("nothing in {}", first.uri))?;
        ok("resource: listed and read")
    }

    async fn prompt(&self) -> Done {
        let (name, arguments) = &self.tools.prompt;
        let listed = self.server.list_prompts().await?;
        ensure(listed.iter().any(|it| it.name == *name), || format!("no prompt {name}"))?;
        let said = serde_json::to_string(&self.server.get_prompt(name, arguments.clone()).await?)?;
        ensure(said.contains(self.tools.prompted), || said)?;
        ok("prompt: listed and got")
    }

    /// Waits for a notification from the server.
    async fn change(&self) -> Done {
        if !self.has("change")? {
            return Ok(());
        }
        let mut events = self.server.events();
        // Version 2026-07-28 needs a request to listen; earlier versions need none.
        let listening = (!self.server.version().has_handshake()).then(|| {
            let server = self.server.clone();
            tokio::spawn(async move {
                let filter = SubscriptionFilter::builder().tools_list_changed().build();
                server.listen(&filter).await
            })
        });
        let mut wait = async |method: &str| {
            while let Some(event) = events.recv().await {
                if matches!(&event, ServerEvent::Notification(it) if &*it.method == method) {
                    return Ok(());
                }
            }
            Err("no more events")
        };
        if listening.is_some() {
            // A change before the acknowledgement would not be reported.
            timeout(PATIENCE, wait("notifications/subscriptions/acknowledged")).await??;
        }
        self.server.call_tool("change", json!({})).await?;
        timeout(PATIENCE, wait("notifications/tools/list_changed")).await??;
        if let Some(listening) = listening {
            listening.abort();
        }
        self.echo("after listening").await?;
        ok("change: the server tells that its tools have changed")
    }

    async fn concurrent(&self) -> Done {
        let (argument, prefix) = self.tools.echo;
        let mut calls = JoinSet::new();
        for number in 0..CONCURRENT {
            let server = self.server.clone();
            calls.spawn(async move {
                let words = format!("call {number}");
                let result = server.call_tool("echo", json!({ argument: words })).await;
                result.map(|result| (format!("{prefix}{words}"), result))
            });
        }
        while let Some(outcome) = calls.join_next().await {
            let (expected, result) = outcome??;
            let said = text(&result)?;
            ensure(said == expected, || format!("{said} in place of {expected}"))?;
        }
        ok(&format!("{CONCURRENT} calls at once, each with its own answer"))
    }

    async fn echo(&self, words: &str) -> Done {
        let (argument, prefix) = self.tools.echo;
        let said = text(&self.server.call_tool("echo", json!({ argument: words })).await?)?;
        ensure(said.strip_prefix(prefix) == Some(words), || format!("{} bytes back", said.len()))
    }

    /// Waits until the server reports one more cancelled call of `sleep`. Returns a text for the
    /// report.
    async fn noticed(&self, before: Option<About>) -> Result<&'static str, Box<dyn Error>> {
        let Some(before) = before else { return Ok("") };
        let noticing = async {
            while self.about().await?.is_some_and(|it| it.cancelled <= before.cancelled) {
                sleep(Duration::from_millis(20)).await;
            }
            Ok::<_, Box<dyn Error>>("the server ends the call, and ")
        };
        timeout(PATIENCE, noticing).await.map_err(|_| "the server does not notice")?
    }

    async fn about(&self) -> Result<Option<About>, Box<dyn Error>> {
        if !self.has("about")? {
            return Ok(None);
        }
        about(self.server).await.map(Some)
    }

    /// Returns true if the server has a tool. Fails if the tool is required and missing.
    fn has(&self, name: &str) -> Result<bool, Box<dyn Error>> {
        let has = self.listed.iter().any(|it| it == name);
        ensure(has || !self.wanted.is_complete, || format!("there is no tool {name}"))?;
        Ok(has)
    }
}

async fn about(server: &Connection) -> Result<About, Box<dyn Error>> {
    Ok(serde_json::from_str(&text(&server.call_tool("about", Value::Null).await?)?)?)
}

/// Returns the text of a result, which must be a single text.
fn text(result: &CallToolResult) -> Result<String, Box<dyn Error>> {
    let content = serde_json::to_value(&result.content)?;
    match content.as_array().map(Vec::as_slice) {
        Some([block]) => Ok(block["text"].as_str().ok_or("no text")?.to_owned()),
        _ => Err(format!("not one text: {content}").into()),
    }
}

fn ensure(holds: bool, reason: impl FnOnce() -> String) -> Done {
    if holds { Ok(()) } else { Err(reason().into()) }
}

fn ok(what: &str) -> Done {
    Ok(writeln!(stdout(), "ok   {what}")?)
}
