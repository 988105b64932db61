//! A scripted client: sends requests and collects the lines that arrive until a deadline.

use std::io;
use std::time::Duration;

use anyhow::{Result, bail};
use hardline_transport::process::{Child, Command, SpawnError};
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, timeout_at};

use super::scene::{Ask, Scene};
use super::transcript::{Arrived, SceneTranscript};
use crate::demo_server::hostile::{ECHO, LATER};

/// Client end of a session with a demo server.
pub(super) struct Client {
    child: Child,
    stdin: Option<Sender>,
    stdout: Receiver,
    framer: LineFramer,
    buffer: Vec<u8>,
    next_id: i64,
    is_over: bool,
    /// Lines that have arrived in this scene.
    transcript: SceneTranscript,
}

/// Deadline for the first answer, which may be late on a busy machine.
const OPENING: Duration = Duration::from_secs(20);
/// Deadline for any other answer. Only an answer that never comes takes this long.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time after the last answer in which late lines are still collected.
const REST: Duration = Duration::from_millis(60);
const CHUNK: usize = 64 << 10;

impl Client {
    /// Starts a server and opens a session with it.
    pub(super) async fn start(command: &Command) -> Result<Self> {
        let mut child = command.spawn()?;
        let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
            bail!(SpawnError::NoRuntime);
        };
        let mut client = Self {
            child,
            stdin: Some(stdin),
            stdout,
            framer: LineFramer::new(&Limits::default()),
            buffer: vec![0; CHUNK],
            next_id: 0,
            is_over: false,
            transcript: SceneTranscript::default(),
        };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "hardline-demo", "version": env!("CARGO_PKG_VERSION")}});
        let id = client.ask("initialize", params).await;
        if !client.wait(id, OPENING).await {
            bail!("the server did not answer the first request: {}", client.child.close().await);
        }
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        // The handshake belongs to no scene.
        client.transcript = SceneTranscript::default();
        Ok(client)
    }

    /// Returns true while the server has not closed its output.
    pub(super) fn is_alive(&self) -> bool {
        !self.is_over
    }

    /// Plays a scene and returns the lines that arrived.
    ///
    /// The server handles requests in order. A request that it has not answered before the honest
    /// call at the end will never be answered. Only Hardline may answer later, if `is_guarded`.
    pub(super) async fn play(&mut self, scene: &Scene, is_guarded: bool) -> SceneTranscript {
        let attack = match scene.ask {
            Ask::List(_) => self.ask("tools/list", json!({})).await,
            Ask::Call(name) => self.call(name, "").await,
            Ask::CallWhileWaiting(name) => {
                self.call_honestly(LATER, "the true answer").await;
                self.call(name, "").await
            }
        };
        self.transcript.attack = attack;
        // Without a guard the answer may never come, and the audience would wait.
        if is_guarded {
            self.wait(attack, PATIENCE).await;
        }
        self.call_honestly(ECHO, "still here").await;
        for (id, _) in self.transcript.honest.clone() {
            self.wait(id, PATIENCE).await;
        }
        // An attack may send more after the last answer.
        self.read_until(Instant::now() + REST, |_| false).await;
        self.transcript.is_over = self.is_over;
        std::mem::take(&mut self.transcript)
    }

    /// Ends the session and the server.
    pub(super) async fn close(mut self) {
        self.stdin = None;
        self.child.close().await;
    }

    async fn call(&mut self, tool: &str, text: &str) -> i64 {
        let arguments = json!({"text": text});
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    async fn call_honestly(&mut self, tool: &str, text: &'static str) {
        let id = self.call(tool, text).await;
        self.transcript.honest.push((id, text));
    }

    /// Sends a request. Returns its id.
    async fn ask(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        // The attacks with progress notifications need a token to refer to.
        if let Some(params) = params.as_object_mut() {
            params.insert("_meta".to_owned(), json!({"progressToken": id}));
        }
        self.transcript.asked.push(id);
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    async fn say(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let Some(stdin) = &mut self.stdin else { return };
        // The server has ended, or is about to; reading will notice it.
        if stdin.write_all(line.as_bytes()).await.is_err() {
            self.stdin = None;
        }
    }

    /// Waits for the answer to a request. Returns true if it came.
    async fn wait(&mut self, id: i64, patience: Duration) -> bool {
        self.read_until(Instant::now() + patience, |transcript| transcript.answers(id).count() > 0)
            .await
    }

    /// Reads until `is_enough` or the deadline. Returns true if it was enough.
    async fn read_until(
        &mut self,
        deadline: Instant,
        is_enough: impl Fn(&SceneTranscript) -> bool,
    ) -> bool {
        loop {
            if is_enough(&self.transcript) {
                return true;
            }
            if self.is_over {
                return false;
            }
            match timeout_at(deadline, self.stdout.read(&mut self.buffer)).await {
                Ok(read) => self.take(read),
                Err(_) => return false,
            }
        }
    }

    fn take(&mut self, read: io::Result<usize>) {
        // A read error ends the session like the end of the stream.
        let read = read.unwrap_or(0);
        let mut chunk = self.buffer.get(..read).unwrap_or_default();
        while let Some(line) = self.framer.next_line(&mut chunk) {
            self.transcript.add(Arrived::new(&line));
        }
        // The end of the stream can leave a last line without a line end.
        if read == 0 {
            self.is_over = true;
            if let Some(line) = self.framer.finish() {
                self.transcript.add(Arrived::new(&line));
            }
        }
    }
}
