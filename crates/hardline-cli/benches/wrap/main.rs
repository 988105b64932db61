//! Measures the cost of `hardline wrap` against a proxy that only copies bytes.
//!
//! The benchmark starts itself twice more: as a server that answers at once, and as a proxy that copies
//! bytes with two blocking threads. `hardline wrap` takes turns with that proxy in front of the same
//! server, and the ratio within one run counts. `cargo bench -p hardline-cli` prints the tables with the
//! goal of each row, and exits with status 1 if a goal is missed. `-- --only TEXT` measures the rows whose
//! names contain the text.
//! `-- --test` runs a part once and ignores the goals. `-- --against PATH` compares this build with another
//! one, the binary at PATH, instead. `-- --peers FILE` compares it with other programs, which FILE lists.
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a benchmark prints, starts processes, and may panic"
)]

mod answer;
mod peers;
mod session;

use std::cell::RefCell;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use hardline_testkit::echo::EchoServer;
use hardline_testkit::measure::{Candidate, Effort, run};
use hardline_testkit::text::{KINDS, Kind};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Name and size of a text, largest ratio of round trips, and smallest ratio of calls per second.
const SIZES: [(&str, usize, f64, f64); 3] =
    [("200 B", 200, 1.15, 0.6), ("10 KB", 10_000, 1.4, 0.6), ("1 MB", 1_000_000, 1.6, 0.7)];
/// Number of calls in one measured step with [`IN_FLIGHT`] of them in flight.
const BURST: usize = 256;
const IN_FLIGHT: usize = 64;
/// Smallest speed with the audit, as a part of the speed without it.
const LEAST_AUDITED: f64 = 0.97;
/// Limits on the extra time until the first answer, in ms, and on the resident memory, in MB.
const MAX_START: f64 = 3.0;
const MAX_RESIDENT: f64 = 7.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("--serve") => return serve(Text::parse(&arguments[2], &arguments[3])),
        Some("--answer") => return answer::serve(),
        Some("--copy") => return copy(&arguments[2..]),
        _ => {}
    }
    let state = tempfile::tempdir().unwrap();
    STATE.get_or_init(|| state.path().to_owned());
    let once = arguments.iter().any(|it| it == "--test");
    let effort = if once { Effort::ONCE } else { Effort::FULL };
    let only = arguments.iter().position(|it| it == "--only").and_then(|at| arguments.get(at + 1));
    let only = only.map_or("", String::as_str);
    let rows: Vec<_> = rows().filter(|(it, _)| it.to_string().contains(only)).collect();
    let against = arguments.iter().position(|it| it == "--against");
    if let Some(other) = against.and_then(|at| arguments.get(at + 1)) {
        compare(effort, &rows, other);
        return ExitCode::SUCCESS;
    }
    let list = arguments.iter().position(|it| it == "--peers");
    if let Some(list) = list.and_then(|at| arguments.get(at + 1)) {
        let effort = if once { peers::Effort::ONCE } else { peers::Effort::FULL };
        return peers::run(effort, list);
    }
    // One row of each size is enough to check that everything runs.
    let rows = if once { rows.into_iter().step_by(KINDS.len()).collect() } else { rows };
    let mut missed = round_trips(effort, &rows);
    missed += bursts(effort, &rows);
    missed += start(once);
    missed += resident();
    if once {
        println!("ran once: no goal counts");
        return ExitCode::SUCCESS;
    }
    println!("\n{missed} goals missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures one call at a time, on one core. Returns the number of missed goals.
fn round_trips(effort: Effort, rows: &[Row]) -> u32 {
    println!(
        "One call through `wrap`, guard and audit on, and through a byte copy, µs (all on one core):\n"
    );
    println!(
        "| message | `wrap` | byte copy | ratio | no proxy | `--audit off` | speed with audit |"
    );
    println!("|---|---|---|---|---|---|---|");
    pin(true);
    let mut missed = 0;
    for &(text, (most, _)) in rows {
        let [wrap, off, copy, none] = peers(text).map(RefCell::new);
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
        missed += u32::from(ratio > most) + u32::from(audited < LEAST_AUDITED);
        println!(
            "| {text} | {:.1} | {:.1} | {} | {:.1} | {:.1} | {} |",
            micros("wrap"),
            micros("copy"),
            mark(ratio, most, ratio > most),
            micros("none"),
            micros("off"),
            mark(audited, LEAST_AUDITED, audited < LEAST_AUDITED),
        );
    }
    missed
}

/// Prints the speed of this build divided by that of another one. The two take turns.
fn compare(effort: Effort, rows: &[Row], other: &str) {
    println!("Speed of this build / speed of {other}:\n");
    println!("| message | one call at a time | {IN_FLIGHT} in flight |");
    println!("|---|---|---|");
    for &(text, _) in rows {
        let ratio = |step: fn(&mut EchoServer) -> usize| {
            let start = |program: &str| RefCell::new(text.start(&mut build(program, &[], text)));
            let (this, that) = (start(env!("CARGO_BIN_EXE_hardline")), start(other));
            let outcome = run(
                effort,
                vec![
                    Candidate::new("this", || step(&mut this.borrow_mut())),
                    Candidate::new("that", || step(&mut that.borrow_mut())),
                ],
            );
            outcome.seconds("that") / outcome.seconds("this")
        };
        pin(true);
        let single = ratio(EchoServer::call);
        pin(false);
        println!("| {text} | {single:.3} | {:.3} |", ratio(|peer| peer.burst(BURST, IN_FLIGHT)));
    }
}

/// Measures many calls at a time, on all cores. Returns the number of missed goals.
fn bursts(effort: Effort, rows: &[Row]) -> u32 {
    println!("\nThe same with {IN_FLIGHT} in flight, calls a second (on all cores):\n");
    println!(
        "| message | `wrap` | byte copy | ratio | no proxy | `--audit off` | speed with audit |"
    );
    println!("|---|---|---|---|---|---|---|");
    pin(false);
    let mut missed = 0;
    for &(text, (_, least)) in rows {
        let [wrap, off, copy, none] = peers(text).map(RefCell::new);
        let outcome = run(
            effort,
            vec![
                Candidate::new("wrap", || wrap.borrow_mut().burst(BURST, IN_FLIGHT)),
                Candidate::new("off", || off.borrow_mut().burst(BURST, IN_FLIGHT)),
                Candidate::new("copy", || copy.borrow_mut().burst(BURST, IN_FLIGHT)),
                Candidate::new("none", || none.borrow_mut().burst(BURST, IN_FLIGHT)),
            ],
        );
        let speed = |name| BURST as f64 / outcome.seconds(name);
        let ratio = speed("wrap") / speed("copy");
        let audited = speed("wrap") / speed("off");
        missed += u32::from(ratio < least) + u32::from(audited < LEAST_AUDITED);
        println!(
            "| {text} | {:.0} | {:.0} | {} | {:.0} | {:.0} | {} |",
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

/// A text, the largest ratio of round trips, and the smallest ratio of calls per second.
type Row = (Text, (f64, f64));

/// Returns each kind of text in each size.
fn rows() -> impl Iterator<Item = Row> {
    SIZES.into_iter().flat_map(|(name, size, most, least)| {
        KINDS.into_iter().map(move |kind| (Text { kind, name, size }, (most, least)))
    })
}

/// A figure beside its goal.
fn mark(actual: f64, goal: f64, is_missed: bool) -> String {
    if is_missed {
        format!("**{actual:.2}** (missed: {goal})")
    } else {
        format!("{actual:.2} (goal {goal})")
    }
}

/// Measures the extra time until the first answer.
fn start(once: bool) -> u32 {
    let rounds = if once { 1 } else { 20 };
    let begin = |make: fn() -> Command| {
        let time = |_| {
            let start = Instant::now();
            let peer = Text::SHORT.start(&mut make());
            let time = start.elapsed();
            drop(peer);
            time
        };
        (0..rounds).map(time).min().unwrap_or(Duration::ZERO)
    };
    let extra = (begin(|| wrapped(Text::SHORT)).as_secs_f64()
        - begin(|| server(Text::SHORT)).as_secs_f64())
        * 1e3;
    println!(
        "\nUntil the first answer: {extra:.1} ms more than without (goal: at most {MAX_START})"
    );
    u32::from(extra > MAX_START)
}

/// Measures the memory of a proxy that has relayed a few calls.
fn resident() -> u32 {
    let mut peer = Text::MEDIUM.start(&mut wrapped(Text::MEDIUM));
    for _ in 0..100 {
        peer.call();
    }
    let status = fs::read_to_string(format!("/proc/{}/status", peer.id()));
    let Ok(status) = status else { return 0 };
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kilobytes: f64 =
        line.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or(0.0);
    let megabytes = kilobytes / 1024.0;
    println!("\nResident memory of `wrap`: {megabytes:.1} MB (goal: under {MAX_RESIDENT})");
    u32::from(megabytes >= MAX_RESIDENT)
}

fn this() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// The text that a call sends and gets back.
#[derive(Clone, Copy)]
struct Text {
    kind: Kind,
    /// Name of its size.
    name: &'static str,
    size: usize,
}

impl Text {
    const SHORT: Self = Self { kind: KINDS[0], name: "200 B", size: 200 };
    const MEDIUM: Self = Self { kind: KINDS[0], name: "10 KB", size: 10_000 };

    fn parse(kind: &str, size: &str) -> Self {
        Self { kind: Kind::find(kind).unwrap(), name: "", size: size.parse().unwrap() }
    }

    /// Starts a server and opens a session whose calls carry the text.
    fn start(self, command: &mut Command) -> EchoServer {
        EchoServer::start(command, &format!("{{{}}}", self.kind.members(self.size)))
    }

    fn arguments(self) -> [String; 3] {
        ["--serve".into(), self.kind.name.into(), self.size.to_string()]
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}, {}", self.kind.name, self.name)
    }
}

fn server(text: Text) -> Command {
    let mut command = this();
    command.args(text.arguments());
    command
}

/// Directory of the audit logs.
static STATE: OnceLock<PathBuf> = OnceLock::new();

fn wrapped(text: Text) -> Command {
    with_options(&[], text)
}

fn with_options(options: &[&str], text: Text) -> Command {
    build(env!("CARGO_BIN_EXE_hardline"), options, text)
}

/// Returns the command that runs the benchmark's server behind `program wrap`.
fn build(program: &str, options: &[&str], text: Text) -> Command {
    let mut command = Command::new(program);
    command.env("XDG_STATE_HOME", STATE.get().unwrap());
    command.arg("wrap").args(options).arg("--").arg(std::env::current_exe().unwrap());
    command.args(text.arguments());
    command
}

fn copied(text: Text) -> Command {
    let mut command = this();
    command.arg("--copy").arg(std::env::current_exe().unwrap());
    command.args(text.arguments());
    command
}

fn peers(text: Text) -> [EchoServer; 4] {
    let off = with_options(&["--audit", "off"], text);
    [wrapped(text), off, copied(text), server(text)].map(|mut it| text.start(&mut it))
}

/// Restricts this process, and those that it starts from now on, to one core, or lifts the restriction.
fn pin(to_one: bool) {
    let mut cores = CpuSet::new();
    let count = std::thread::available_parallelism().map_or(1, Into::into);
    // The last core handles the fewest interrupts.
    let all = if to_one { 1..2 } else { 0..count.max(2) };
    all.for_each(|core| cores.set(core));
    let _ = sched_setaffinity(None, &cores);
}

/// Answers each line at once, with the text.
fn serve(text: Text) -> ExitCode {
    let tail = format!(
        r#","result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}},{}}}}}"#,
        text.kind.members(text.size)
    );
    answer_lines(|line, answers| {
        if let Some(at) = line.windows(5).take(64).position(|it| it == b"\"id\":") {
            let id = line[at + 5..].iter().take_while(|byte| byte.is_ascii_digit());
            answers.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            answers.extend(id);
            answers.extend_from_slice(tail.as_bytes());
            answers.push(b'\n');
        }
    })
}

/// Appends an answer to each line, and writes the answers to all lines that arrived together.
fn answer_lines(mut answer: impl FnMut(&[u8], &mut Vec<u8>)) -> ExitCode {
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
            answer(&rest[done..done + end], &mut answers);
            done += end + 1;
        }
        rest.drain(..done);
        output.write_all(&answers).unwrap();
        output.flush().unwrap();
        answers.clear();
    }
}

/// Copies bytes in both directions.
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
