//! Twice the lines cost at most three times the work, whatever the lines: frames, joiner, session.
//!
//! Work is counted in instructions where `valgrind` is at hand; elsewhere nothing is said.

#![expect(clippy::disallowed_methods, reason = "a test may start processes")]

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use hardline_guard::frame::{FrameJudge, FrameOutcome};
use hardline_guard::join::Joiner;
use hardline_guard::session::{Burst, Session};
use hardline_guard::{Direction, Rule};
use hardline_testkit::hostile::CASES;
use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;

const SMALL: usize = 40_000;
const MOST: f64 = 3.0;
/// Work below this is noise: constant costs show.
const LEAST_INSTRUCTIONS: u64 = 50_000;
const COUNTING: &str = "HARDLINE_COUNT_INSTRUCTIONS";

type Case = (&'static str, fn(usize) -> Vec<u8>);

/// What comes after a head, or instead of one.
const LINES: &[Case] = &[
    ("heads", |len| repeat(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\n", len)),
    ("tails", |len| after_head(b"x\"}}\n", len)),
    ("tails that are none", |len| after_head(b"x\",,}}\n", len)),
    ("tails with surplus", |len| after_head(b"x\"}} \"\n", len)),
    ("blank lines", |len| after_head(b"\n", len)),
    ("blank lines after what is no JSON", |len| {
        let long = repeat(b"x", len / 2);
        [HEAD, &long, b"\n\",,}}\n", &repeat(b"\n", len / 2)].concat()
    }),
    ("control characters", |len| after_head(b"\t\x01\n", len)),
    ("quotes", |len| after_head(b"\"\n", len)),
    ("backslashes", |len| after_head(b"\\\\\n", len)),
    ("objects", |len| after_head(b"{}\n", len)),
    ("answers", |len| {
        numbered(len, |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
    }),
    ("requests", |len| {
        numbered(len, |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#))
    }),
    ("notifications", |len| after_head(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n", len)),
    ("a head of tails", |len| {
        let head = repeat(b"\\\"}}", len / 2);
        [HEAD, &head, b"\n", &repeat(b"\",,}}\n", len / 2)].concat()
    }),
    ("answers to nobody", |len| repeat(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", len)),
    ("progress", |len| {
        let line = |token| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token}}}}}"#
            )
        };
        numbered_lines(len, line)
    }),
    ("noise", |len| repeat(b"[info] {\"jsonrpc\":\"2.0\",\n", len)),
    ("headers", |len| repeat(b"Content-Length: 5\n", len)),
];

const HEAD: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"";

fn repeat(unit: &[u8], len: usize) -> Vec<u8> {
    unit.iter().copied().cycle().take(len).collect()
}

fn after_head(unit: &[u8], len: usize) -> Vec<u8> {
    [HEAD, b"\n", &repeat(unit, len)].concat()
}

fn numbered(len: usize, line: fn(usize) -> String) -> Vec<u8> {
    [HEAD, b"\n", &numbered_lines(len, line)].concat()
}

fn numbered_lines(len: usize, line: fn(usize) -> String) -> Vec<u8> {
    let mut lines = Vec::new();
    for number in 0.. {
        if len <= lines.len() {
            break;
        }
        lines.extend_from_slice(line(number).as_bytes());
        lines.push(b'\n');
    }
    lines
}

/// Puts a stream through all that comes before the content rules.
fn guard(stream: &[u8]) {
    let limits = Limits::default();
    let mut framer = LineFramer::new(&limits);
    let mut joiner = Joiner::new(&limits);
    let mut session = Session::new(&limits, Burst::BALANCED);
    let everything = |_: &Id<'_>| true;
    let mut rest = stream;
    while let Some(line) = framer.next_line(&mut rest) {
        let _ = black_box(joiner.handle_line(&line, Duration::ZERO, &everything));
        while let Some(event) = joiner.poll_event() {
            black_box(event);
        }
    }
    joiner.handle_timeout(Duration::from_secs(1), &everything);
    while let Some(event) = joiner.poll_event() {
        black_box(event);
    }
    joiner.handle_timeout(Duration::from_secs(10), &everything);

    let mut judge = FrameJudge::new(Direction::ServerToClient, &limits);
    let (mut framer, mut rest) = (LineFramer::new(&limits), stream);
    while let Some(line) = framer.next_line(&mut rest) {
        let judged = judge.judge(&line);
        if let FrameOutcome::Frame(Frame::Message(message, _)) = &judged.outcome {
            let direction = Direction::ServerToClient;
            black_box(session.handle(direction, message, Duration::ZERO, &Rule::balanced));
        }
        if let FrameOutcome::Frame(Frame::Batch(batch)) = &judged.outcome {
            batch.elements().for_each(|it| drop(black_box(judge.judge_element(it))));
        }
    }
}

/// What is counted. Its name is known to the test that starts `valgrind`.
#[inline(never)]
fn hardline_measured_region(input: &[u8]) {
    guard(black_box(input));
}

fn measurements() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    LINES.iter().chain(CASES).flat_map(|(name, make)| {
        [SMALL, 2 * SMALL].map(|len| {
            let mut stream = make(len);
            stream.push(b'\n');
            (*name, stream)
        })
    })
}

#[test]
fn doubling_hostile_lines_at_most_triples_the_work() {
    if env::var_os(COUNTING).is_some() {
        measurements().for_each(|(_, input)| hardline_measured_region(&input));
        return;
    }
    let Some(work) = instructions() else {
        measurements().for_each(|(_, input)| guard(&input));
        eprintln!("no valgrind: nothing is measured");
        return;
    };
    let names: Vec<_> = measurements().map(|(name, _)| name).collect();
    assert_eq!(work.len(), names.len());
    let mut worst = (0.0, "");
    let mut too_much = Vec::new();
    for (pair, name) in work.chunks(2).zip(names.iter().step_by(2)) {
        let ratio = pair[1] / pair[0];
        if worst.0 < ratio {
            worst = (ratio, name);
        }
        if MOST < ratio {
            too_much.push(format!("{name}: {ratio:.2}"));
        }
    }
    assert!(too_much.is_empty(), "times the work for twice the input: {too_much:#?}");
    eprintln!("worst: {:.2} times the work for twice the input ({})", worst.0, worst.1);
}

/// Counts the instructions of each measurement in one run of this test under `valgrind`.
fn instructions() -> Option<Vec<f64>> {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    version.ok().filter(ExitStatus::success)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("callgrind-join");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let region = concat!(module_path!(), "::hardline_measured_region");
    let child = Command::new("valgrind")
        .args(["--tool=callgrind", "--combine-dumps=no"])
        .arg(format!("--toggle-collect={region}"))
        .arg(format!("--dump-after={region}"))
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(env::current_exe().unwrap())
        .args(["--exact", "join::linear::doubling_hostile_lines_at_most_triples_the_work"])
        .args(["--test-threads", "1"])
        .env(COUNTING, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    let count = |number: usize| {
        let dump = fs::read_to_string(folder.join(format!("out.{number}"))).unwrap();
        let total = dump.lines().find_map(|line| line.strip_prefix("summary: ")).unwrap();
        let count: u64 = total.trim().parse().unwrap();
        (count + LEAST_INSTRUCTIONS) as f64
    };
    Some((1..=measurements().count()).map(count).collect())
}
