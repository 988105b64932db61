//! Generated texts, valid and damaged, compared with `serde_json` and with simple models.

use hardline_testkit::fuzz;
use hardline_testkit::generate::{Rng, message, mutate, value};
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;

/// Runs `body` on `cases` seeds, and names the seed that fails.
fn each_seed(cases: u64, mut body: impl FnMut(&mut Rng)) {
    for seed in 0..cases {
        let guard = NameSeed(seed);
        body(&mut Rng::new(seed));
        std::mem::forget(guard);
    }
}

struct NameSeed(u64);

impl Drop for NameSeed {
    fn drop(&mut self) {
        eprintln!("failed at seed {}", self.0);
    }
}

#[test]
fn agrees_with_serde_json_on_200_000_texts() {
    let mut checker = Checker::new(&Limits::default());
    let (mut accepted, mut total) = (0, 0);
    each_seed(100_000, |rng| {
        let text = if rng.one_in(2) { message(rng) } else { value(rng, 5) };
        let mut text = text.into_bytes();
        accepted += u32::from(fuzz::json_differs(&mut checker, &text));
        mutate(rng, &mut text);
        accepted += u32::from(fuzz::json_differs(&mut checker, &text));
        total += 2;
    });
    assert_eq!(total, 200_000);
    // The comparison is meaningful only if both outcomes are common.
    assert!((50_000..150_000).contains(&accepted), "{accepted} accepted");
}

#[test]
fn recovers_no_id_that_was_not_sent_from_100_000_lines() {
    each_seed(100_000, |rng| {
        let mut line = [0; 2].map(|_: u8| u8::try_from(rng.below(256)).unwrap()).to_vec();
        for _ in 0..=rng.below(2) {
            line.extend_from_slice(message(rng).as_bytes());
        }
        if rng.one_in(2) {
            mutate(rng, &mut line);
        }
        fuzz::recover(&line);
    });
}

#[test]
fn cuts_batches_as_serde_json_does() {
    each_seed(20_000, |rng| {
        let elements: Vec<_> = (0..rng.below(5)).map(|_| message(rng)).collect();
        let mut text = format!("[{}]", elements.join(rng.pick(&[",", " , "]))).into_bytes();
        if rng.one_in(2) {
            mutate(rng, &mut text);
        }
        fuzz::batch(&text);
    });
}

#[test]
fn frames_lines_and_events_alike_in_every_chunking() {
    const PIECES: [&[u8]; 14] = [
        b"\n",
        b"\r",
        b"\r\n",
        b"\xef\xbb\xbf",
        b"{\"id\":1}",
        b"data: x",
        b"id: 7",
        b"event: e",
        b"retry: 5",
        b": c",
        b"\n\n",
        b"0123456789abcdef",
        b"\0",
        b"\xff",
    ];
    each_seed(50_000, |rng| {
        let mut stream = Vec::new();
        for _ in 0..2 + rng.below(20) {
            stream.extend_from_slice(rng.pick(&PIECES));
        }
        fuzz::line(&stream);
        fuzz::sse(&stream);
    });
}

#[test]
fn makes_headers_that_agree_with_their_body() {
    each_seed(20_000, |rng| {
        let schema = rng.pick(&[
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"properties":{"id":{"type":"integer","x-mcp-header":"I"}}}}}"#,
            r#"{"properties":{"name":{"type":["null","boolean"],"x-mcp-header":"N"}}}"#,
        ]);
        let text = format!(r#"{{"schema":{schema},"arguments":{}}}"#, value(rng, 3));
        fuzz::header(text.as_bytes());
        fuzz::header(message(rng).as_bytes());
        fuzz::header(value(rng, 1).as_bytes());
    });
}
