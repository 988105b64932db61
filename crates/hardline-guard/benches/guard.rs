//! Measures the cost of the guard, as ratios within one run on one thread.
//!
//! `cargo bench -p hardline-guard` prints Markdown tables with the goal of each row, and exits with
//! status 1 if a goal is missed. With `-- --test` everything runs once and no goal counts. With
//! `-- --only TEXT` only the rows with such a name run, and with `-- --only hostile` the hostile texts.
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
use hardline_testkit::text::{KINDS, MESSAGE_SIZES};
use hardline_wire::limits::Limits;
use hardline_wire::line::{Line, LineFramer};
use serde::de::IgnoredAny;

/// Limit on the time for any megabyte of input, in milliseconds.
const MAX_HOSTILE: f64 = 20.0;

/// Smallest ratio to validation alone, from 1 KB up.
const LEAST_RATIO: f64 = 0.5;
/// Limit on the time for a frame of 200 bytes, in microseconds.
const MOST_MICROS: f64 = 0.4;

fn main() -> ExitCode {
    let once = std::env::args().any(|argument| argument == "--test");
    let effort = if once { Effort::ONCE } else { Effort::FULL };
    let only = std::env::args().skip_while(|argument| argument != "--only").nth(1);
    match only.as_deref() {
        Some("hostile") => {
            hostile(once);
            return ExitCode::SUCCESS;
        }
        Some(only) => {
            passing(effort, only);
            return ExitCode::SUCCESS;
        }
        None => {}
    }
    let missed = passing(effort, "") + hostile(once);
    if once {
        println!("ran once: no goal counts");
        return ExitCode::SUCCESS;
    }
    println!("\n{missed} goals missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures a call and its result, for each kind of text. Returns the number of missed goals.
fn passing(effort: Effort, only: &str) -> u32 {
    println!(
        "The whole guard (strict check, session, content, verdict) on a call and its result, which carry the same text:\n"
    );
    println!("| text | Hardline, GB/s | `IgnoredAny`, GB/s | ratio | a frame, µs |");
    println!("|---|---|---|---|---|");
    let mut missed = 0;
    for kind in KINDS {
        for (name, size) in MESSAGE_SIZES {
            let row = format!("{}, {name}", kind.name);
            if !row.contains(only) {
                continue;
            }
            let (call, result) = (kind.call(size), kind.result(size));
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
            missed += show(&row, &outcome, call.len() + result.len(), size == 200);
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

/// Prints a row. A small frame has a goal for its time, and a larger one for the ratio.
fn show(row: &str, outcome: &Outcome, bytes: usize, is_small: bool) -> u32 {
    let micros = outcome.seconds("hardline") * 1e6 / 2.0;
    let ratio = outcome.speed("hardline", "ignored");
    let mark = |figure: f64, goal: f64, has_goal: bool, is_missed: bool| match (has_goal, is_missed)
    {
        (false, _) => format!("{figure:.2}"),
        (true, true) => format!("**{figure:.2}** (missed: {goal})"),
        (true, false) => format!("{figure:.2} (goal {goal})"),
    };
    let (is_slow, is_late) = (ratio < LEAST_RATIO, micros > MOST_MICROS);
    println!(
        "| {row} | {:.2} | {:.2} | {} | {} |",
        outcome.gigabytes("hardline", bytes),
        outcome.gigabytes("ignored", bytes),
        mark(ratio, LEAST_RATIO, !is_small, is_slow),
        mark(micros, MOST_MICROS, is_small, is_late),
    );
    u32::from(if is_small { is_late } else { is_slow })
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
