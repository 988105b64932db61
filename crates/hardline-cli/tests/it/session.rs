//! A server to which a test sends single lines.
#![expect(clippy::indexing_slicing, clippy::panic, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Deadline for each expected line or exit.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server with its standard input and output. Dropping it kills the server.
pub(crate) struct Session {
    server: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    /// State directory of the server.
    _state: TempDir,
}

impl Session {
    pub(crate) fn start(args: &[&str], env: &[(&str, &str)]) -> Self {
        Self::spawn(
            Command::new(env!("CARGO_BIN_EXE_hardline")).args(args).envs(env.iter().copied()),
        )
    }

    /// Like [`Self::start`], but discards standard error.
    #[cfg(unix)]
    pub(crate) fn start_quietly(args: &[&str]) -> Self {
        Self::spawn(Command::new(env!("CARGO_BIN_EXE_hardline")).args(args).stderr(Stdio::null()))
    }

    fn spawn(command: &mut Command) -> Self {
        let state = tempfile::tempdir().unwrap();
        command.env("XDG_STATE_HOME", state.path());
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = server.stdin.take();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        let (sender, lines) = sync_channel(64);
        // The thread ends with the server, whose standard output it reads.
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { server, stdin, lines, _state: state }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// Returns the server's next line.
    #[track_caller]
    pub(crate) fn line(&mut self) -> Vec<u8> {
        self.lines.recv_timeout(PATIENCE).expect("the server should say something")
    }

    /// Returns the server's next line, as JSON.
    #[track_caller]
    pub(crate) fn receive(&mut self) -> Value {
        let line = self.line();
        let line = String::from_utf8(line).expect("standard output should be UTF-8");
        serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("standard output should be JSON: {error}: {line}"))
    }

    /// Sends a request and returns its answer, which must be the next line.
    #[track_caller]
    pub(crate) fn request(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.receive();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.server);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the exit, at most for `time`. Standard input may still be open.
    #[track_caller]
    pub(crate) fn ended_within(mut self, time: Duration) -> ExitStatus {
        ended_within(&mut self.server, time)
    }

    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Closes the server's standard input, and waits for its exit. The server may not write any
    /// more lines.
    #[track_caller]
    pub(crate) fn end(mut self) -> ExitStatus {
        self.close_input();
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => panic!("unexpected: {}", String::from_utf8_lossy(&line)),
            Err(RecvTimeoutError::Timeout) => panic!("the server should end at EOF"),
            // Standard output closes only when the server exits, so this does not wait for long.
            Err(RecvTimeoutError::Disconnected) => self.server.wait().unwrap(),
        }
    }
}

/// Waits for a process. Kills it if it takes longer than `time`.
#[track_caller]
pub(crate) fn ended_within(process: &mut Child, time: Duration) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if time < start.elapsed() {
            let _ = process.kill();
            let _ = process.wait();
            panic!("still there after {time:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
