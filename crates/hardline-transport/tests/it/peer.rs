//! The other end of a connection, and the tested end, as text.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hardline_testkit::generate::{Rng, chunks};
use hardline_transport::{Endpoint, EndpointSettings, Incoming, Role, Unfit};
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::message::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};

/// A peer that writes given lines and collects the lines that it receives.
pub(crate) struct Peer {
    input: ReadHalf<DuplexStream>,
    output: Option<WriteHalf<DuplexStream>>,
    unread: Vec<u8>,
}

/// The writing half of a peer.
pub(crate) struct Writer(WriteHalf<DuplexStream>);

impl Writer {
    /// Writes all of `text` in pieces of random length, and closes.
    pub(crate) async fn write_in_pieces(mut self, text: &[u8], seed: u64) {
        let mut random = Rng::new(seed);
        for piece in chunks(&mut random, text) {
            self.0.write_all(piece).await.unwrap();
            tokio::time::sleep(Duration::from_micros(random.below(100) as u64)).await;
        }
        self.0.shutdown().await.unwrap();
    }
}

/// Creates a connection and its peer. Events are collected as text.
pub(crate) fn pair(
    role: Role,
    settings: EndpointSettings,
) -> (Endpoint, Peer, Arc<Mutex<Vec<String>>>) {
    pair_over(role, settings, 1 << 20)
}

/// Like `pair`, with a pipe of this many bytes between both ends.
pub(crate) fn pair_over(
    role: Role,
    settings: EndpointSettings,
    buffer: usize,
) -> (Endpoint, Peer, Arc<Mutex<Vec<String>>>) {
    let (ours, theirs) = tokio::io::duplex(buffer);
    let (input, output) = tokio::io::split(theirs);
    let peer = Peer { input, output: Some(output), unread: Vec::new() };
    let events = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&events);
    let settings =
        settings.with_observer(move |event| collected.lock().unwrap().push(event.to_string()));
    let (input, output) = tokio::io::split(ours);
    (Endpoint::new(role, input, output, settings), peer, events)
}

impl Peer {
    pub(crate) async fn write(&mut self, text: &str) {
        self.output.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    /// Splits the peer into its two halves.
    pub(crate) fn split(self) -> (Writer, Self) {
        (Writer(self.output.unwrap()), Self { output: None, ..self })
    }

    /// Writes lines, each with its newline.
    pub(crate) async fn send(&mut self, lines: &[&str]) {
        for line in lines {
            self.write(&format!("{line}\n")).await;
        }
    }

    /// Closes its output; it still reads.
    pub(crate) async fn finish(&mut self) {
        self.output.take().unwrap().shutdown().await.unwrap();
    }

    /// Reads the next line.
    pub(crate) async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(end + 1);
                let line = std::mem::replace(&mut self.unread, rest);
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            if self.input.read_buf(&mut self.unread).await.unwrap() == 0 {
                assert!(self.unread.is_empty(), "half a line at the end");
                return None;
            }
        }
    }

    /// Reads all lines until the end.
    pub(crate) async fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        lines
    }
}

/// Receives the next message as text; `None` at the end.
pub(crate) async fn receive(connection: &mut Endpoint) -> Option<String> {
    match connection.receive_with(as_text).await? {
        Incoming::Message(text) => Some(text),
        Incoming::Failed(failure) => Some(format!("failed {}: {}", failure.id, failure.reason)),
        Incoming::Abandoned(id) => Some(format!("abandoned {id}")),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn as_text(_message: &Message<'_>, value: Value<'_>) -> Result<String, Unfit> {
    Ok(value.text().to_owned())
}

/// Receives until the end.
pub(crate) async fn receive_all(connection: &mut Endpoint) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(text) = receive(connection).await {
        all.push(text);
    }
    all
}

pub(crate) fn request(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

/// Answers a request with an empty result.
pub(crate) async fn answer(connection: &mut Endpoint, id: u32) {
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    connection.send_answer(&Id::from_integer(id.into()), line.into_bytes()).room().await.unwrap();
}
