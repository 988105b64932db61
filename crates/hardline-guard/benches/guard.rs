//! Measures the cost of the guard, as ratios within one run on one thread.
//!
//! `cargo bench -p hardline-guard` prints Markdown tables with the goal of each row, and exits with
//! status 1 if a goal is missed. With `-- --test` everything runs once and no goal counts.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at what cannot be"
)]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hardline_guard::policy::Policy;
use hardline_guard::{Direction, Guard};
use hardline_testkit::hostile::TEXTS;
use hardline_testkit::measure::{Candidate, Effort, Outcome, run};
use hardline_testkit::sample;
use hardline_wire::limits::Limits;
use hardline_wire::line::{Line, LineFramer};
use serde::de::IgnoredAny;

/// Limit on the time for any megabyte of input, in milliseconds.
const MAX_HOSTILE: f64 = 50.0;

const SIZES: [(&str, usize); 4] =
    [("200 B", 200), ("1 KB", 1_000), ("100 KB", 100_000), ("10 MB", 10_000_000)];

/// The frames of a row, and its goals.
struct Row {
    kind: &'static str,
    make: fn(usize) -> String,
    /// Ratio to validation alone.
    goal_ratio: f64,
    /// Gigabytes per second, at 100 KB.
    goal_speed: f64,
}

const ROWS: [Row; 4] = [
    Row { kind: "English", make: sample::english_frame, goal_ratio: 0.5, goal_speed: 1.0 },
    Row { kind: "prose and code", make: sample::text_frame, goal_ratio: 0.5, goal_speed: 1.0 },
    Row { kind: "JSON in text", make: sample::quoted_frame, goal_ratio: 0.5, goal_speed: 0.0 },
    Row { kind: "dense JSON", make: sample::dense_frame, goal_ratio: 0.3, goal_speed: 0.0 },
];

fn main() -> ExitCode {
    let once = std::env::args().any(|argument| argument == "--test");
    let effort = if once { Effort::ONCE } else { Effort::FULL };
    let missed = passing(effort) + hostile(once);
    if once {
        println!("ran once: no goal counts");
        return ExitCode::SUCCESS;
    }
    println!("\n{missed} goals missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures a call and its result. Returns the number of missed goals.
fn passing(effort: Effort) -> u32 {
    println!(
        "The whole guard (strict check, session, content, verdict) on a call and its result, which carry the same:\n"
    );
    println!("| result | Hardline, GB/s | `IgnoredAny`, GB/s | ratio | a frame, µs |");
    println!("|---|---|---|---|---|");
    let mut missed = 0;
    for Row { kind, make, goal_ratio, goal_speed } in ROWS {
        for (name, size) in SIZES {
            let result = make(size);
            let call = call_of(&result);
            let bytes = call.len() + result.len();
            let mut session = Session::new();
            let mut framers = [framer(), framer()];
            let (call_line, result_line) = (format!("{call}\n"), format!("{result}\n"));
            let [first, second] = &mut framers;
            let lines = [
                first.next_line(&mut call_line.as_bytes()).unwrap(),
                second.next_line(&mut result_line.as_bytes()).unwrap(),
            ];
            let outcome = run(
                effort,
                vec![
                    Candidate::new("hardline", || session.pass(&lines)),
                    Candidate::new("ignored", || {
                        let is_json =
                            |it: &str| serde_json::from_str::<IgnoredAny>(black_box(it)).is_ok();
                        usize::from(is_json(&call) & is_json(&result))
                    }),
                ],
            );
            missed += show(&format!("{kind}, {name}"), &outcome, bytes, |speed, ratio, time| {
                (
                    if size == 100_000 { (speed, goal_speed) } else { (speed, 0.0) },
                    if size == 200 { (ratio, 0.0) } else { (ratio, goal_ratio) },
                    if size == 200 { (time, 1.0) } else { (time, f64::INFINITY) },
                )
            });
        }
    }
    missed
}

/// Measures the texts that take longest, each a megabyte in a result, with all of their processing.
/// Returns true if the goal was missed.
#[expect(clippy::disallowed_methods, reason = "measuring is asking the time")]
fn hostile(once: bool) -> u32 {
    let (size, rounds) = if once { (10_000, 1) } else { (1_000_000, 5) };
    let mut rows: Vec<_> = TEXTS
        .iter()
        .map(|unit| {
            let written = serde_json::to_string(unit).unwrap().len() - 2;
            let text = serde_json::to_string(&unit.repeat(size / written)).unwrap();
            let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"text":{text}}}}}"#);
            let time = |_| {
                let mut guard = Guard::for_server(Policy::default(), "bench");
                let start = Instant::now();
                black_box(guard.check_frame(Direction::ServerToClient, frame.as_bytes()));
                start.elapsed()
            };
            let least = (0..rounds).map(time).min().unwrap_or_default();
            (least.as_secs_f64() * 1e3, *unit)
        })
        .collect();
    rows.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    println!(
        "\nThe slowest of {} hostile results of 1 MB, judged and sanitized, ms:\n",
        rows.len()
    );
    println!("| text, repeated | ms |\n|---|---|");
    for (time, unit) in rows.iter().take(8) {
        println!("| `{}` | {time:.1} |", unit.escape_debug());
    }
    let worst = rows.first().map_or(0.0, |(time, _)| *time);
    println!("\nThe goal is at most {MAX_HOSTILE} ms.");
    u32::from(MAX_HOSTILE < worst)
}

/// Measurements and their goals: gigabytes per second, ratio, microseconds.
type Goals = ((f64, f64), (f64, f64), (f64, f64));

fn show(row: &str, outcome: &Outcome, bytes: usize, goals: impl Fn(f64, f64, f64) -> Goals) -> u32 {
    let speed = outcome.gigabytes("hardline", bytes);
    let time = outcome.seconds("hardline") * 1e6 / 2.0;
    let ((speed, least), (ratio, least_ratio), (time, most)) =
        goals(speed, outcome.speed("hardline", "ignored"), time);
    let is_missed = [speed < least, ratio < least_ratio, most < time];
    let mark = |shown: String, is_missed: bool, goal: f64| match goal {
        0.0 | f64::INFINITY => shown,
        _ if is_missed => format!("**{shown}** (missed: {goal})"),
        _ => format!("{shown} (goal {goal})"),
    };
    println!(
        "| {row} | {} | {:.2} | {} | {} |",
        mark(format!("{speed:.2}"), is_missed[0], least),
        outcome.gigabytes("ignored", bytes),
        mark(format!("{ratio:.2}"), is_missed[1], least_ratio),
        mark(format!("{time:.2}"), is_missed[2], most)
    );
    is_missed.iter().map(|it| u32::from(*it)).sum()
}

/// An open session in which calls are answered.
struct Session {
    guard: Guard,
    now: Duration,
}

impl Session {
    fn new() -> Self {
        let mut guard = Guard::for_server(Policy::default(), "bench");
        for (direction, line) in [
            (
                Direction::ClientToServer,
                r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
            ),
            (
                Direction::ServerToClient,
                r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
            ),
            (
                Direction::ClientToServer,
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            ),
        ] {
            let line = format!("{line}\n");
            let mut framer = framer();
            let line = framer.next_line(&mut line.as_bytes()).unwrap();
            let verdict = guard.inspect(direction, &line, Duration::ZERO);
            assert!(verdict.found.is_empty() && verdict.deliveries.len() == 1);
        }
        Self { guard, now: Duration::ZERO }
    }

    /// Passes a call and its result through the guard.
    fn pass(&mut self, [call, result]: &[Line<'_>; 2]) -> usize {
        let mut deliveries = 0;
        for (direction, line) in
            [(Direction::ClientToServer, call), (Direction::ServerToClient, result)]
        {
            self.now += Duration::from_micros(10);
            let verdict = self.guard.inspect(direction, black_box(line), self.now);
            assert!(verdict.found.is_empty(), "{:?}", verdict.found);
            deliveries += verdict.deliveries.len();
        }
        assert_eq!(deliveries, 2);
        deliveries
    }
}

fn framer() -> LineFramer {
    LineFramer::new(&Limits::default())
}

/// Creates a call with the same content as `result`, which answers it.
fn call_of(result: &str) -> String {
    let (_, content) = result.split_once(r#""result":"#).unwrap();
    format!(
        r#"{{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{{"name":"write","arguments":{content}}}"#
    )
}
