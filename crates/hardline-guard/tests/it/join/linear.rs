//! Twice the lines cost at most three times the work, for any lines: frames, joiner, session.

use std::hint::black_box;
use std::time::Duration;

use hardline_guard::frame::{FrameJudge, FrameVerdict};
use hardline_guard::join::Joiner;
use hardline_guard::session::{FloodLimit, Session};
use hardline_guard::{Direction, Rule};
use hardline_testkit::hostile::CASES;
use hardline_testkit::work::{Case, Otherwise, assert_linear};
use hardline_wire::frame::Frame;
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;

const SMALL: usize = 40_000;

type Make = (&'static str, fn(usize) -> Vec<u8>);

/// Lines that come after a head, or instead of one.
const LINES: &[Make] = &[
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
    ("answers without a request", |len| {
        repeat(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", len)
    }),
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

/// Passes a stream through all stages before the content rules.
fn guard(stream: &[u8]) {
    let limits = Limits::default();
    let mut framer = LineFramer::new(&limits);
    let mut joiner = Joiner::new(&limits);
    let mut session = Session::new(&limits, FloodLimit::BALANCED);
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
        if let FrameVerdict::Frame(Frame::Message(message, _)) = &judged.verdict {
            let direction = Direction::ServerToClient;
            black_box(session.handle(direction, message, Duration::ZERO, &Rule::balanced));
        }
        if let FrameVerdict::Frame(Frame::Batch(batch)) = &judged.verdict {
            batch.elements().for_each(|it| drop(black_box(judge.judge_element(it))));
        }
    }
}

#[test]
fn doubling_hostile_lines_at_most_triples_the_work() {
    let test = "join::linear::doubling_hostile_lines_at_most_triples_the_work";
    assert_linear(test, Otherwise::Nothing, || {
        LINES.iter().chain(CASES).map(|(name, make)| {
            Case::new(*name, guard, SMALL, |len| [make(len), b"\n".to_vec()].concat())
        })
    });
}
