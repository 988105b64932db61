//! Cost of `hardline wrap`, compared with a proxy that only copies bytes.
//!
//! The benchmark starts itself twice more: as a server that answers at once, and as a proxy that copies
//! bytes with two blocking threads. `hardline wrap` in front of the same server takes turns with that,
//! and what counts is the ratio within one run. `cargo bench -p hardline-cli` prints the tables with the
//! goal of each row and ends with status 1 if one is missed; with `-- --test` everything runs once and no
//! goal counts.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a benchmark prints, starts what it measures, and stops at what cannot be"
)]

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use hardline_testkit::measure::{Candidate, Effort, run};
use rustix::thread::{CpuSet, sched_setaffinity};

/// A name, a size, the most a round trip may take, and the least of messages a second.
const ROWS: [(&str, usize, f64, f64); 3] =
    [("200 B", 200, 1.2, 0.6), ("10 KB", 10_000, 1.5, 0.4), ("1 MB", 1_000_000, 2.0, 0.5)];
/// Number of calls in one measured step with 64 in flight.
const BURST: usize = 256;
const IN_FLIGHT: usize = 64;
/// The least of the speed without an audit that there may be with one.
const LEAST_AUDITED: f64 = 0.95;
/// The most that starting may take longer, and how much memory there may be.
const MAX_START: f64 = 15.0;
const MAX_RESIDENT: f64 = 10.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("--serve") => return serve(arguments[2].parse().unwrap()),
        Some("--copy") => return copy(&arguments[2..]),
        _ => {}
    }
    let state = tempfile::tempdir().unwrap();
    STATE.get_or_init(|| state.path().to_owned());
    let once = arguments.iter().any(|it| it == "--test");
    let effort = if once { Effort::ONCE } else { Effort::FULL };
    let mut missed = round_trips(effort);
    missed += bursts(effort);
    missed += start(once);
    missed += resident();
    if once {
        println!("ran once: no goal counts");
        return ExitCode::SUCCESS;
    }
    println!("\n{missed} goals missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One call at a time, everything on one core. Returns how many goals were missed.
fn round_trips(effort: Effort) -> u32 {
    println!(
        "One call through `wrap`, guard and audit on, and through a byte copy, µs (all on one core):\n"
    );
    println!(
        "| message | `wrap` | byte copy | ratio | no proxy | `--audit off` | speed with audit |"
    );
    println!("|---|---|---|---|---|---|---|");
    pin(true);
    let mut missed = 0;
    for (name, size, most, _) in ROWS {
        let [wrap, off, copy, none] = peers(size).map(RefCell::new);
        let outcome = run(
            effort,
            vec![
                Candidate::new("wrap", || wrap.borrow_mut().call()),
                Candidate::new("off", || off.borrow_mut().call()),
                Candidate::new("copy", || copy.borrow_mut().call()),
                Candidate::new("none", || none.borrow_mut().call()),
            ],
        );
        let micros = |name| outcome.seconds(name) * 1e6;
        let ratio = micros("wrap") / micros("copy");
        let audited = micros("off") / micros("wrap");
        missed += u32::from(most < ratio) + u32::from(audited < LEAST_AUDITED);
        println!(
            "| {name} | {:.1} | {:.1} | {} | {:.1} | {:.1} | {} |",
            micros("wrap"),
            micros("copy"),
            mark(ratio, most, most < ratio),
            micros("none"),
            micros("off"),
            mark(audited, LEAST_AUDITED, audited < LEAST_AUDITED),
        );
    }
    missed
}

/// Many calls at a time, on all cores.
fn bursts(effort: Effort) -> u32 {
    println!("\nThe same with {IN_FLIGHT} in flight, calls a second (on all cores):\n");
    println!(
        "| message | `wrap` | byte copy | ratio | no proxy | `--audit off` | speed with audit |"
    );
    println!("|---|---|---|---|---|---|---|");
    pin(false);
    let mut missed = 0;
    for (name, size, _, least) in ROWS {
        let [wrap, off, copy, none] = peers(size).map(RefCell::new);
        let outcome = run(
            effort,
            vec![
                Candidate::new("wrap", || wrap.borrow_mut().burst()),
                Candidate::new("off", || off.borrow_mut().burst()),
                Candidate::new("copy", || copy.borrow_mut().burst()),
                Candidate::new("none", || none.borrow_mut().burst()),
            ],
        );
        let speed = |name| BURST as f64 / outcome.seconds(name);
        let ratio = speed("wrap") / speed("copy");
        let audited = speed("wrap") / speed("off");
        missed += u32::from(ratio < least) + u32::from(audited < LEAST_AUDITED);
        println!(
            "| {name} | {:.0} | {:.0} | {} | {:.0} | {:.0} | {} |",
            speed("wrap"),
            speed("copy"),
            mark(ratio, least, ratio < least),
            speed("none"),
            speed("off"),
            mark(audited, LEAST_AUDITED, audited < LEAST_AUDITED),
        );
    }
    missed
}

/// A figure beside its goal.
fn mark(actual: f64, goal: f64, is_missed: bool) -> String {
    match is_missed {
        true => format!("**{actual:.2}** (missed: {goal})"),
        false => format!("{actual:.2} (goal {goal})"),
    }
}

/// Additional time until the first answer.
fn start(once: bool) -> u32 {
    let rounds = if once { 1 } else { 20 };
    let begin = |make: fn() -> Command| {
        let time = |_| {
            let start = Instant::now();
            let peer = Peer::start(&mut make(), 200);
            let time = start.elapsed();
            drop(peer);
            time
        };
        (0..rounds).map(time).min().unwrap_or(Duration::ZERO)
    };
    let extra = (begin(|| wrapped(200)).as_secs_f64() - begin(|| server(200)).as_secs_f64()) * 1e3;
    println!(
        "\nUntil the first answer: {extra:.1} ms more than without (goal: at most {MAX_START})"
    );
    u32::from(MAX_START < extra)
}

/// The memory of a proxy that has relayed a few calls.
fn resident() -> u32 {
    let mut peer = Peer::start(&mut wrapped(10_000), 10_000);
    for _ in 0..100 {
        peer.call();
    }
    let status = fs::read_to_string(format!("/proc/{}/status", peer.child.id()));
    let Ok(status) = status else { return 0 };
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes: f64 =
        line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or(0.0);
    let megabytes = kilobytes / 1024.0;
    println!("\nResident memory of `wrap`: {megabytes:.1} MB (goal: under {MAX_RESIDENT})");
    u32::from(MAX_RESIDENT <= megabytes)
}

fn this() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

fn server(size: usize) -> Command {
    let mut command = this();
    command.args(["--serve", &size.to_string()]);
    command
}

/// Audit database of `wrap`.
static STATE: OnceLock<PathBuf> = OnceLock::new();

fn wrapped(size: usize) -> Command {
    with_options(&[], size)
}

fn with_options(options: &[&str], size: usize) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hardline"));
    command.env("XDG_STATE_HOME", STATE.get().unwrap());
    command.arg("wrap").args(options).arg("--").arg(std::env::current_exe().unwrap());
    command.args(["--serve", &size.to_string()]);
    command
}

fn copied(size: usize) -> Command {
    let mut command = this();
    command.arg("--copy").arg(std::env::current_exe().unwrap());
    command.args(["--serve", &size.to_string()]);
    command
}

fn peers(size: usize) -> [Peer; 4] {
    let off = with_options(&["--audit", "off"], size);
    [wrapped(size), off, copied(size), server(size)].map(|mut it| Peer::start(&mut it, size))
}

/// Keeps this process, and those it starts from now on, to one core or to none in particular.
fn pin(to_one: bool) {
    let mut cores = CpuSet::new();
    let count = std::thread::available_parallelism().map_or(1, Into::into);
    // The last core has the least to do with interrupts.
    let all = if to_one { 1..2 } else { 0..count.max(2) };
    all.for_each(|core| cores.set(core));
    let _ = sched_setaffinity(None, &cores);
}

/// Answers each line at once, with as much as it asks with.
fn serve(size: usize) -> ExitCode {
    let text = "lorem ipsum ".repeat(size.div_ceil(12));
    let tail = format!(
        r#","result":{{"protocolVersion":"2025-06-18","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}},"content":[{{"type":"text","text":"{}"}}]}}}}"#,
        text.split_at(size).0
    );
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let (mut buffer, mut rest, mut answers) = (vec![0; 1 << 20], Vec::new(), Vec::new());
    loop {
        let length = input.read(&mut buffer).unwrap();
        if length == 0 {
            return ExitCode::SUCCESS;
        }
        rest.extend_from_slice(&buffer[..length]);
        let mut done = 0;
        while let Some(end) = rest[done..].iter().position(|byte| *byte == b'\n') {
            let line = &rest[done..done + end];
            if let Some(at) = line.windows(5).take(64).position(|it| it == b"\"id\":") {
                let id = line[at + 5..].iter().take_while(|byte| byte.is_ascii_digit());
                answers.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
                answers.extend(id);
                answers.extend_from_slice(tail.as_bytes());
                answers.push(b'\n');
            }
            done += end + 1;
        }
        rest.drain(..done);
        output.write_all(&answers).unwrap();
        output.flush().unwrap();
        answers.clear();
    }
}

/// Copies bytes both ways, and does nothing else.
fn copy(command: &[String]) -> ExitCode {
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    std::thread::spawn(move || {
        let mut stdin = fs::File::open("/dev/stdin").unwrap();
        pump(&mut stdin, &mut input);
    });
    let mut stdout = fs::OpenOptions::new().write(true).open("/dev/stdout").unwrap();
    pump(&mut output, &mut stdout);
    let _ = child.wait();
    ExitCode::SUCCESS
}

fn pump(from: &mut impl Read, to: &mut impl Write) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

/// Subject of a measurement: a server, perhaps with a proxy in front of it.
struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Peer {
    fn start(command: &mut Command, size: usize) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = child.stdout.take().unwrap();
        let text = "lorem ipsum ".repeat(size.div_ceil(12));
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"{}\"}}}}}}\n",
            text.split_at(size).0
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

    fn send(&mut self, line: &[u8]) {
        self.input.as_mut().unwrap().write_all(line).unwrap();
    }

    /// Reads this many lines. Returns their length.
    fn receive(&mut self, mut lines: usize) -> usize {
        let mut bytes = 0;
        while 0 < lines {
            let length = self.output.read(&mut self.buffer).unwrap();
            assert_ne!(length, 0, "the peer is gone");
            bytes += length;
            lines -= self.buffer[..length].iter().filter(|byte| **byte == b'\n').count().min(lines);
        }
        bytes
    }

    fn call(&mut self) -> usize {
        let request = std::mem::take(&mut self.request);
        self.send(&request);
        self.request = request;
        self.receive(1)
    }

    /// Makes [`BURST`] calls with [`IN_FLIGHT`] of them at a time. Ids differ, as they must.
    fn burst(&mut self) -> usize {
        let mut input = self.input.take().unwrap();
        let request = self.request.clone();
        let (permits, taken) = sync_channel(IN_FLIGHT);
        for _ in 0..IN_FLIGHT {
            permits.send(()).unwrap();
        }
        let writer = std::thread::spawn(move || {
            let mut line = request;
            let at = line.windows(7).position(|it| it == b"\"id\":7,").unwrap();
            let tail = line.split_off(at + 5);
            for id in 0..BURST {
                taken.recv().unwrap();
                let mut whole = line.clone();
                whole.extend_from_slice(id.to_string().as_bytes());
                whole.extend_from_slice(&tail[1..]);
                input.write_all(&whole).unwrap();
            }
            input
        });
        let (mut bytes, mut left) = (0, BURST);
        while 0 < left {
            let length = self.output.read(&mut self.buffer).unwrap();
            assert_ne!(length, 0, "the peer is gone");
            bytes += length;
            let lines = self.buffer[..length].iter().filter(|byte| **byte == b'\n').count();
            left -= lines;
            for _ in 0..lines {
                // The last ones are not waited for by anybody.
                let _ = permits.try_send(());
            }
        }
        self.input = Some(writer.join().unwrap());
        bytes
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
