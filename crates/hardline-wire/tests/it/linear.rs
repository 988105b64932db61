//! Twice the input costs at most three times the work, for every hostile input.

use std::hint::black_box;

use hardline_testkit::hostile::CASES;
use hardline_testkit::work::{Case, Otherwise, assert_linear};
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::header::ParamHeaders;
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use hardline_wire::recover::{Ending, recover};
use hardline_wire::sse::SseDecoder;

const SMALL: usize = 40_000;

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

/// Annotates parameters that the hostile inputs have at several depths.
const DEEP_SCHEMA: &[u8] =
    br#"{"properties":{"a":{"type":"string","x-mcp-header":"A","properties":{
    "a":{"type":"string","x-mcp-header":"AA","properties":{
    "a":{"type":"string","x-mcp-header":"AAA"}}}}},"key-1":{"type":"string","x-mcp-header":"K"}}}"#;

fn frames(stream: &[u8]) {
    let limits = Limits::default().with_max_depth(1 << 16).unwrap();
    frames_within(&limits, stream);
}

/// Frames with a limit that makes long lines overlong.
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

#[test]
fn doubling_hostile_input_at_most_triples_the_work() {
    let test = "linear::doubling_hostile_input_at_most_triples_the_work";
    assert_linear(test, Otherwise::Time, || {
        CASES.iter().flat_map(|(case, make)| {
            PIPELINES.iter().map(move |(pipeline, run)| {
                Case::new(format!("{case}, {pipeline}"), *run, SMALL, make)
            })
        })
    });
}
