//! A client of `wrap` that counts its answers.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Deadline for each step; generous, because the machine may be busy.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
const MARK: &str = "HARDLINE_WRAP_TEST";

/// State directory of all `wrap` processes of this test.
pub(crate) static STATE: OnceLock<PathBuf> = OnceLock::new();

/// A running `wrap` with this test's server behind it.
pub(crate) struct Client {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
    mark: String,
    answers: HashMap<i64, u32>,
}

/// Returns the command line of `wrap` with the given options and server arguments, and the mark of
/// its processes.
pub(crate) fn command(options: &[&str], server: &[&str]) -> (Command, String) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mark = format!("{}-{count}", std::process::id());
    let mut command = Command::new(env!("CARGO_BIN_EXE_hardline"));
    command.arg("wrap").args(options).arg("--").arg(std::env::current_exe().unwrap());
    command.arg("--server").args(server).env(MARK, &mark);
    command.env("XDG_STATE_HOME", STATE.get().unwrap());
    (command, mark)
}

impl Client {
    pub(crate) fn start(options: &[&str], server: &[&str]) -> Self {
        let (mut command, mark) = command(options, server);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let lines = read(child.stdout.take().unwrap());
        let errors = read(child.stderr.take().unwrap());
        Self { child, input, lines, errors, mark, answers: HashMap::new() }
    }

    /// Starts a client and opens its session.
    pub(crate) fn open(options: &[&str], server: &[&str]) -> Self {
        let mut client = Self::start(options, server);
        client.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#);
        assert!(client.answer_to(0).contains("protocolVersion"));
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// Sends a line. Ignores errors, because a test may have killed the proxy.
    pub(crate) fn send(&mut self, line: &str) -> bool {
        let Some(input) = &mut self.input else { return false };
        input.write_all(format!("{line}\n").as_bytes()).is_ok()
    }

    pub(crate) fn call(&mut self, id: i64, tool: &str) -> bool {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#
        ))
    }

    /// Returns the next line, or `None` after the timeout.
    pub(crate) fn next(&mut self, time: Duration) -> Option<String> {
        let line = self.lines.recv_timeout(time).ok()?;
        if let Some(id) = id_of(&line) {
            *self.answers.entry(id).or_default() += 1;
        }
        Some(line)
    }

    /// Returns the answer to a request, and counts the answers before it.
    #[track_caller]
    pub(crate) fn answer_to(&mut self, id: i64) -> String {
        let start = Instant::now();
        loop {
            let left = DEADLINE.saturating_sub(start.elapsed());
            let line =
                self.next(left).unwrap_or_else(|| panic!("no answer to {id}: {}", self.errors()));
            if id_of(&line) == Some(id) {
                return line;
            }
        }
    }

    /// Returns the number of answers to a request.
    pub(crate) fn answers(&self, id: i64) -> u32 {
        self.answers.get(&id).copied().unwrap_or(0)
    }

    /// Returns the standard error so far.
    pub(crate) fn errors(&self) -> String {
        self.errors.try_iter().collect::<Vec<_>>().join("\n")
    }

    /// Closes standard input and waits for the exit.
    #[track_caller]
    pub(crate) fn finish(&mut self) -> ExitStatus {
        self.input = None;
        self.wait()
    }

    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            while self.next(Duration::ZERO).is_some() {}
            if let Some(status) = self.child.try_wait().unwrap() {
                while self.next(Duration::from_millis(200)).is_some() {}
                return status;
            }
            assert!(start.elapsed() < DEADLINE, "no end: {}", self.errors());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Returns the process id of the server, once it runs.
    pub(crate) fn server(&self) -> Option<Pid> {
        let this = std::env::current_exe().unwrap();
        let is_server = |pid: &Pid| {
            let program = fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero()));
            program.is_ok_and(|program| program == this)
        };
        self.living().into_iter().map(|(pid, _)| pid).find(is_server)
    }

    /// Returns every living process of this test with its command line.
    pub(crate) fn living(&self) -> Vec<(Pid, String)> {
        let mark = format!("{MARK}={}", self.mark);
        let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
        let pids = names.filter_map(|name| Pid::from_raw(name.to_str()?.parse().ok()?));
        let read = |pid: Pid, what: &str| {
            fs::read(format!("/proc/{}/{what}", pid.as_raw_nonzero())).unwrap_or_default()
        };
        let has_mark = |pid: &Pid| {
            read(*pid, "environ").split(|byte| *byte == 0).any(|it| it == mark.as_bytes())
        };
        let show = |pid: Pid| String::from_utf8_lossy(&read(pid, "cmdline")).replace('\0', " ");
        pids.filter(has_mark).map(|pid| (pid, show(pid))).collect()
    }

    #[track_caller]
    pub(crate) fn assert_gone_soon(&self) {
        let start = Instant::now();
        while !self.living().is_empty() {
            assert!(start.elapsed() < DEADLINE, "left: {:?}", self.living());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns the anonymous resident memory of the proxy, in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for (pid, _) in self.living() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Reads lines in a thread.
fn read(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            if line.is_err() || sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Returns the id of an answer.
pub(crate) fn id_of(line: &str) -> Option<i64> {
    let (_, rest) = line.split_once(r#""id":"#)?;
    let end = rest.find([',', '}'])?;
    if line.contains(r#""method":"#) { None } else { rest[..end].parse().ok() }
}
