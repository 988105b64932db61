//! Costs of the wire, as ratios within one run on one thread.
//!
//! `cargo bench -p hardline-wire` prints two Markdown tables with the goal of each row, and exits
//! with status 1 if a goal is missed. With `-- --test` everything runs once and no goal counts.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and panics on impossible input"
)]

use std::process::ExitCode;

use hardline_testkit::chart;
use hardline_testkit::measure::{Candidate, Effort, run};
use hardline_testkit::oracle::RawEnvelope;
use hardline_testkit::sample;
use hardline_testkit::text::{KINDS, MESSAGE_SIZES};
use hardline_wire::frame::Decoder;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use serde::de::IgnoredAny;

const PIPE: usize = 64 << 10;
/// Frame size of the chart, and the length of its bars.
const DRAWN: usize = 100_000;
const BAR_PER_GIGABYTE: f64 = 6.0;

fn main() -> ExitCode {
    let once = std::env::args().any(|argument| argument == "--test");
    let effort = if once { Effort::ONCE } else { Effort::FULL };
    let mut missed = framing(effort);
    missed += checking(effort);
    if once {
        println!("ran once: no goal counts");
        return ExitCode::SUCCESS;
    }
    println!("\n{missed} goals missed");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Splits a stream of equal frames into lines. Returns the number of missed goals.
fn framing(effort: Effort) -> u32 {
    println!("Framing a stream of some megabytes, GB/s:\n");
    println!("| frame | copied | lines, one chunk | lines, 64 KiB chunks |");
    println!("|---|---|---|---|");
    let mut missed = 0;
    for (name, size) in MESSAGE_SIZES {
        let line = format!("{}\n", sample::text_frame(size));
        let stream = line.repeat(1.max(1_000_000 / line.len())).into_bytes();
        let limits = Limits::default();
        let mut copy = vec![0; stream.len()];
        let (mut framer, mut chunked) = (LineFramer::new(&limits), LineFramer::new(&limits));
        let outcome = run(
            effort,
            vec![
                Candidate::new("copy", || {
                    copy.copy_from_slice(&stream);
                    copy.len()
                }),
                Candidate::new("whole", || lines(&mut framer, &stream)),
                Candidate::new("chunks", || {
                    stream.chunks(PIPE).map(|chunk| lines(&mut chunked, chunk)).sum()
                }),
            ],
        );
        let speed = |candidate| outcome.gigabytes(candidate, stream.len());
        let goal = if size == 100_000 { 10.0 } else { 0.0 };
        missed += u32::from(speed("whole") < goal);
        println!(
            "| {name} | {:.2} | {} | {:.2} |",
            speed("copy"),
            mark(speed("whole"), goal),
            speed("chunks")
        );
    }
    missed
}

fn lines(framer: &mut LineFramer, mut chunk: &[u8]) -> usize {
    let mut bytes = 0;
    while let Some(line) = framer.next_line(&mut chunk) {
        bytes += line.whole().map_or(0, <[u8]>::len);
    }
    bytes
}

/// Frames of one kind, and the goals against both `serde_json` readers.
struct Row {
    kind: &'static str,
    make: Box<dyn Fn(usize) -> String>,
    goal_raw: f64,
    goal_ignored: f64,
}

/// Returns the kinds of texts that all benchmarks share, and the two kinds of JSON that cost most per byte.
fn rows() -> Vec<Row> {
    let shared = KINDS.map(|kind| {
        let make = Box::new(move |size| kind.result(size));
        Row { kind: kind.name, make, goal_raw: 0.8, goal_ignored: 0.6 }
    });
    let costly = |kind, make: fn(usize) -> String| Row {
        kind,
        make: Box::new(make),
        goal_raw: 0.6,
        goal_ignored: 0.6,
    };
    let costly =
        [costly("dense", sample::dense_frame), costly("one wide object", sample::wide_frame)];
    shared.into_iter().chain(costly).collect()
}

/// Decodes one frame to its message. Returns the number of missed goals.
fn checking(effort: Effort) -> u32 {
    println!("\nStrict check with envelope and message, GB/s, and speed against `serde_json`:\n");
    println!("| frame | Hardline | `RawValue` envelope | ratio | `IgnoredAny` | ratio |");
    println!("|---|---|---|---|---|---|");
    let mut missed = 0;
    let mut chart = String::new();
    for Row { kind, make, goal_raw, goal_ignored } in rows() {
        for (name, size) in MESSAGE_SIZES {
            let frame = make(size);
            let frame = frame.as_bytes();
            let mut decoder = Decoder::new(&Limits::default());
            let outcome = run(
                effort,
                vec![
                    Candidate::new("hardline", || {
                        usize::from(decoder.decode(std::hint::black_box(frame)).is_ok())
                    }),
                    Candidate::new("raw", || {
                        RawEnvelope::read(frame).unwrap().result.unwrap().get().len()
                    }),
                    Candidate::new("ignored", || {
                        usize::from(serde_json::from_slice::<IgnoredAny>(frame).is_ok())
                    }),
                ],
            );
            // A small frame is mostly envelope, which `IgnoredAny` does not read.
            let goal_ignored = if size > 200 { goal_ignored } else { 0.0 };
            let ratio = |other| outcome.speed("hardline", other);
            let speed = |candidate| outcome.gigabytes(candidate, frame.len());
            missed += u32::from(ratio("raw") < goal_raw);
            missed += u32::from(ratio("ignored") < goal_ignored);
            println!(
                "| {kind}, {name} | {:.2} | {:.2} | {} | {:.2} | {} |",
                speed("hardline"),
                speed("raw"),
                mark(ratio("raw"), goal_raw),
                speed("ignored"),
                mark(ratio("ignored"), goal_ignored)
            );
            if size == DRAWN {
                chart.push_str(&draw(&format!("{kind}, {name}"), speed));
            }
        }
    }
    println!("\n```text\n{chart}```");
    missed
}

/// Draws the speed of each candidate as a bar.
fn draw(frame: &str, speed: impl Fn(&'static str) -> f64) -> String {
    let bar = |(label, candidate): (&str, &'static str)| {
        let bar = chart::bar(speed(candidate) * BAR_PER_GIGABYTE);
        format!("{label:<13}{bar} {:.2}\n", speed(candidate))
    };
    let bars = [("  Hardline", "hardline"), ("  RawValue", "raw"), ("  IgnoredAny", "ignored")];
    format!("{frame}\n{}", bars.map(bar).concat())
}

/// Formats a figure with its goal, if it has one.
fn mark(actual: f64, goal: f64) -> String {
    match goal {
        0.0 => format!("{actual:.2}"),
        _ if actual < goal => format!("**{actual:.2}** (missed: {goal})"),
        _ => format!("{actual:.2} (goal {goal})"),
    }
}
