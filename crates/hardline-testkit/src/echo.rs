//! A server in a child process with a tool `echo`, for benchmarks that compare round trips.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark may panic")]

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::sync_channel;

/// A measured server, with or without a proxy in front of it, and a call of its tool.
#[derive(Debug)]
pub struct EchoServer {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl EchoServer {
    /// Starts a server and opens a session. Calls carry these arguments, a JSON object.
    pub fn start(command: &mut Command, arguments: &str) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = child.stdout.take().unwrap();
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{arguments}}}}}\n",
        );
        let request = request.into_bytes();
        let mut peer = Self { child, input, output, request, buffer: vec![0; 1 << 20] };
        peer.send(concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
            r#""capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
            "\n"
        ).as_bytes());
        peer.receive(1);
        peer.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        peer
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn send(&mut self, line: &[u8]) {
        self.input.as_mut().unwrap().write_all(line).unwrap();
    }

    /// Reads this many lines. Returns their length.
    fn receive(&mut self, mut lines: usize) -> usize {
        let mut bytes = 0;
        while lines > 0 {
            let length = self.output.read(&mut self.buffer).unwrap();
            assert_ne!(length, 0, "the peer is gone");
            bytes += length;
            lines -= self.buffer[..length].iter().filter(|byte| **byte == b'\n').count().min(lines);
        }
        bytes
    }

    /// Calls the tool once. Returns the length of the answer.
    pub fn call(&mut self) -> usize {
        let request = std::mem::take(&mut self.request);
        self.send(&request);
        self.request = request;
        self.receive(1)
    }

    /// Makes `calls` calls, up to `in_flight` of them at a time, each with an id of its own. Returns the
    /// length of the answers.
    pub fn burst(&mut self, calls: usize, in_flight: usize) -> usize {
        let mut input = self.input.take().unwrap();
        let request = self.request.clone();
        let (permits, taken) = sync_channel(in_flight);
        for _ in 0..in_flight {
            permits.send(()).unwrap();
        }
        let writer = std::thread::spawn(move || {
            let mut line = request;
            let at = line.windows(7).position(|it| it == b"\"id\":7,").unwrap();
            let tail = line.split_off(at + 5);
            for id in 0..calls {
                taken.recv().unwrap();
                let mut whole = line.clone();
                whole.extend_from_slice(id.to_string().as_bytes());
                whole.extend_from_slice(&tail[1..]);
                input.write_all(&whole).unwrap();
            }
            input
        });
        let (mut bytes, mut left) = (0, calls);
        while left > 0 {
            let length = self.output.read(&mut self.buffer).unwrap();
            assert_ne!(length, 0, "the peer is gone");
            bytes += length;
            let lines = self.buffer[..length].iter().filter(|byte| **byte == b'\n').count();
            left -= lines;
            for _ in 0..lines {
                // The writer does not wait for the last permits.
                let _ = permits.try_send(());
            }
        }
        self.input = Some(writer.join().unwrap());
        bytes
    }
}

impl Drop for EchoServer {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
