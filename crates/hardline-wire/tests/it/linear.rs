//! Twice the input costs at most three times the work, whatever the input.
//!
//! Work is counted in instructions where `valgrind` is at hand, which repeats exactly; elsewhere it
//! is the least time of many runs.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hardline_testkit::hostile::CASES;
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::header::ParamHeaders;
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use hardline_wire::recover::{Ending, recover};
use hardline_wire::sse::SseDecoder;

const SMALL: usize = 40_000;
const MOST: f64 = 3.0;
/// Work below this is noise: constant costs show.
const LEAST_INSTRUCTIONS: u64 = 20_000;
const COUNTING: &str = "HARDLINE_COUNT_INSTRUCTIONS";

type Pipeline = (&'static str, fn(&[u8]));

const PIPELINES: &[Pipeline] = &[
    ("frames", frames),
    ("small frames", small_frames),
    ("recovery", |stream| {
        black_box(recover(stream, Ending::Whole, &Limits::default()).count());
    }),
    ("events", |stream| events(&Limits::default(), stream)),
    ("small events", |stream| {
        events(&Limits::default().with_max_event_bytes(1000).unwrap(), stream);
    }),
    ("walks and headers", |stream| {
        let limits = Limits::default().with_max_depth(1 << 16).unwrap();
        if let Ok(checked) = Checker::new(&limits).check(stream) {
            black_box(checked.value.steps().count());
            let _ = black_box(ParamHeaders::from_schema(checked.value));
            let schema = Checker::new(&limits).check(DEEP_SCHEMA).unwrap();
            let params = ParamHeaders::from_schema(schema.value).unwrap();
            let _ = black_box(params.headers(Some(checked.value)));
        }
    }),
];

/// Asks for parameters that the hostile inputs have at several depths.
const DEEP_SCHEMA: &[u8] =
    br#"{"properties":{"a":{"type":"string","x-mcp-header":"A","properties":{
    "a":{"type":"string","x-mcp-header":"AA","properties":{
    "a":{"type":"string","x-mcp-header":"AAA"}}}}},"key-1":{"type":"string","x-mcp-header":"K"}}}"#;

fn frames(stream: &[u8]) {
    let limits = Limits::default().with_max_depth(1 << 16).unwrap();
    frames_within(&limits, stream);
}

/// With a limit that makes long lines overlong.
fn small_frames(stream: &[u8]) {
    let limits = Limits::default().with_max_frame_bytes(1000).unwrap();
    frames_within(&limits, stream);
}

fn events(limits: &Limits, stream: &[u8]) {
    let mut decoder = SseDecoder::new(limits);
    for mut chunk in stream.chunks(997) {
        while !chunk.is_empty() {
            let _ = black_box(decoder.next_event(&mut chunk));
        }
    }
}

fn frames_within(limits: &Limits, stream: &[u8]) {
    let (mut framer, mut decoder) = (LineFramer::new(limits), Decoder::new(limits));
    for mut chunk in stream.chunks(997) {
        while let Some(line) = framer.next_line(&mut chunk) {
            line.whole().into_iter().for_each(|frame| decode(limits, &mut decoder, frame));
        }
    }
    if let Some(frame) = framer.finish().and_then(|line| line.whole()) {
        decode(limits, &mut decoder, frame);
    }
}

fn decode(limits: &Limits, decoder: &mut Decoder, frame: &[u8]) {
    match decoder.decode(frame) {
        Ok(Frame::Batch(batch)) => {
            batch.elements().for_each(|element| drop(black_box(decoder.decode_element(element))));
        }
        Ok(message) => drop(black_box(message)),
        Err(_) => drop(black_box(recover(frame, Ending::Whole, limits).count())),
    }
}

/// What is counted. Its name is known to the test that starts `valgrind`.
#[inline(never)]
fn hardline_measured_region(body: fn(&[u8]), input: &[u8]) {
    body(black_box(input));
}

/// A name, what runs, and on what.
type Measurement = (String, fn(&[u8]), Vec<u8>);

/// Every measurement, in a fixed order.
fn measurements() -> impl Iterator<Item = Measurement> {
    CASES.iter().flat_map(|(case, make)| {
        PIPELINES.iter().flat_map(move |(pipeline, body)| {
            [SMALL, 2 * SMALL].map(|len| (format!("{case}, {pipeline}"), *body, make(len)))
        })
    })
}

#[test]
fn doubling_hostile_input_at_most_triples_the_work() {
    if env::var_os(COUNTING).is_some() {
        measurements().for_each(|(_, body, input)| hardline_measured_region(body, &input));
        return;
    }
    let work = match instructions() {
        Some(counts) => counts,
        None => {
            eprintln!("no valgrind: time is measured instead of instructions");
            least_times()
        }
    };
    let names: Vec<_> = measurements().map(|(name, ..)| name).collect();
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
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("callgrind");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let region = concat!(module_path!(), "::hardline_measured_region");
    let child = Command::new("valgrind")
        .args(["--tool=callgrind", "--combine-dumps=no"])
        .arg(format!("--toggle-collect={region}"))
        .arg(format!("--dump-after={region}"))
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(env::current_exe().unwrap())
        .args(["--exact", "linear::doubling_hostile_input_at_most_triples_the_work"])
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

/// The least time of many runs of each measurement.
fn least_times() -> Vec<f64> {
    let least = |(_, body, input): Measurement| {
        let time = |_| {
            let start = Instant::now();
            hardline_measured_region(body, &input);
            start.elapsed()
        };
        let least = (0..30).map(time).min().unwrap();
        (least + Duration::from_micros(20)).as_secs_f64()
    };
    measurements().map(least).collect()
}
