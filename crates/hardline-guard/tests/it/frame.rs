//! Frame rules: one line in, the message or the rule that refuses it out.

use hardline_guard::frame::{FrameJudge, FrameVerdict, Judged, Refused};
use hardline_guard::{Direction, Rule};
use hardline_testkit::generate::{Rng, message, mutate};
use hardline_wire::frame::Frame;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use hardline_wire::recover::Ending;

use Direction::{ClientToServer, ServerToClient};

/// Judges `line` and passes the outcome to `with`.
fn judged<T>(line: &[u8], direction: Direction, with: impl FnOnce(Judged<'_>) -> T) -> T {
    let limits = Limits::default().with_max_frame_bytes(4096).unwrap();
    let limits = limits.with_max_depth(8).unwrap();
    let stream = [line, b"\n"].concat();
    let mut framer = LineFramer::new(&limits);
    let line = framer.next_line(&mut &*stream).unwrap();
    with(FrameJudge::new(direction, &limits).judge(&line))
}

/// Shows the outcome of a line: the kind of a frame, or each finding as `rule@offset+length`, and
/// the ids of requests (`?`) and answers (`!`) on it.
fn show(judged: &Judged<'_>) -> String {
    let mut shown: Vec<_> = judged
        .findings
        .iter()
        .map(|it| format!("{}@{}+{}", it.rule, it.offset, it.length))
        .collect();
    match &judged.verdict {
        FrameVerdict::Blank => shown.push("blank".into()),
        FrameVerdict::Frame(Frame::Message(..)) => shown.push("message".into()),
        FrameVerdict::Frame(Frame::Batch(batch)) => shown.push(format!("batch of {}", batch.len())),
        FrameVerdict::Refused(Refused { requests, responses, owes_anonymous, mended, .. }) => {
            shown.extend(requests.iter().map(|id| format!("{id}?")));
            shown.extend(responses.iter().map(|id| format!("{id}!")));
            shown.extend(owes_anonymous.then(|| "anonymous".to_owned()));
            shown.extend(mended.is_some().then(|| "mended".to_owned()));
        }
    }
    shown.join(" ")
}

#[track_caller]
fn check(line: &str, expected: &str) {
    check_bytes(line.as_bytes(), expected);
}

#[track_caller]
fn check_bytes(line: &[u8], expected: &str) {
    let shown = judged(line, ServerToClient, |it| show(&it));
    assert_eq!(shown, expected, "{}", String::from_utf8_lossy(line));
}

#[track_caller]
fn check_from_client(line: &str, expected: &str) {
    let shown = judged(line.as_bytes(), ClientToServer, |it| show(&it));
    assert_eq!(shown, expected, "{line}");
}

#[test]
fn takes_messages_batches_and_blank_lines() {
    check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "message");
    check(r#"{"jsonrpc":"2.0","method":"x"}"#, "message");
    check(r#"[{"jsonrpc":"2.0","method":"x"},{}]"#, "batch of 2");
    check(r#"[5,{"jsonrpc":"2.0","method":7}]"#, "batch of 2");
    check(" \t", "blank");
    check("\u{feff}", "frame.bom@0+0 blank");
    check("\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\r", "frame.bom@0+0 message");
}

#[test]
fn refuses_what_parsers_read_differently() {
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#, "frame.duplicate-key@40+1 1!");
    check(r#"{"jsonrpc":"2.0","id":1,"Method":"x","result":{}}"#, "frame.ambiguous-key@24+1 1? 1!");
    check(r#"{"jsonrpc":"2.0","id":1,"reſult":{},"result":{}}"#, "frame.ambiguous-key@24+1 1!");
    check_bytes(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}",
        "frame.invalid-utf8@34+1 1!",
    );
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\tb\"}", "frame.control-character@35+1 1!");
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}"#,
        "frame.concatenated@36+36 1! 2!",
    );
    check(r#"{"jsonrpc":"2.0","id":1,"result":{}} 5"#, "frame.concatenated@37+1 1!");
    check(r#"{"a":1}{"b":2}"#, "frame.concatenated@7+7");
}

#[test]
fn refuses_what_is_no_json_or_no_message() {
    check(r#"{"jsonrpc":"2.0","id":1,"result":{},}"#, "frame.not-json@36+1 1!");
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":"#, "frame.not-json@38+0 1!");
    check(r#"{"jsonrpc":"2.0","id":1,"result":nope}"#, "frame.not-json@33+1 1!");
    check(r#"{"jsonrpc":"2.0","id":1,"result":]}"#, "frame.not-json@33+1 1!");
    check(r#"{'jsonrpc': '2.0', 'id': 1}"#, "frame.not-json@1+1");
    check(r#"{"jsonrpc":"2.0","id":1,"result":{}} surplus"#, "frame.not-json@37+7 1!");
    // The second answer is only quoted: the proper one may still arrive.
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{}} sent {"jsonrpc":"2.0","id":2,"result":{}}"#,
        "frame.not-json@37+41 1!",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{}} sent {"jsonrpc":"2.0","id":2,"method":"x"}"#,
        "frame.not-json@37+42 1!",
    );
    check(r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, "frame.not-jsonrpc@11+1 1!");
    check(r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, "frame.not-jsonrpc@22+1");
    check(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, "frame.not-jsonrpc@33+1 1!");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{}}"#, "frame.not-jsonrpc@46+1 1? 1!");
    check(r#"{"jsonrpc":"2.0","id":1}"#, "frame.not-jsonrpc@0+24 1!");
    check(r#"{"id":1,"result":{},"time":3}"#, "frame.not-jsonrpc@0+29 1!");
    check(r#"{"id":1,"method":"x"}"#, "frame.not-jsonrpc@0+21 1?");
    check(&format!("[{}1]", "1,".repeat(300)), "frame.noise@0+603");
    check(&format!("{{\"jsonrpc\":{}", "[".repeat(9)), "frame.too-deep@18+1");
    check(&"[".repeat(9), "frame.too-deep@8+1");
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#, "x".repeat(4096));
    check(&long, &format!("frame.too-large@0+{} 1!", long.len()));
}

#[test]
fn names_no_more_ids_than_may_be_in_flight() {
    let limits = Limits::default().with_max_in_flight(2).unwrap();
    let line = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.repeat(5);
    let judged =
        FrameJudge::new(ServerToClient, &limits).judge_text(line.as_bytes(), Ending::Whole).verdict;
    let FrameVerdict::Refused(refused) = judged else { panic!() };
    assert_eq!(refused.responses.len(), 2);
}

#[test]
fn knows_noise_from_messages() {
    for line in [
        "Server listening on port 3000",
        "[INFO] ready",
        "[12:30:01] ready",
        r#"[12345] {"msg":"x"}"#,
        "2026-11-15 12:00:00 ready",
        "INFO sent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "[server] sent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        r#"{"level":"info","msg":"ready"}"#,
        r#"{"level":"info","level":"warn","msg":"a"}"#,
        r#"{"Level":"info","Error":"no","Id":5}"#,
        r#"{"method":"GET","id":"r-1","path":"/"}"#,
        r#"{"error":"no"}"#,
        r#"{"id":7,"msg":"x"}"#,
        "{\"msg\":\"a\tb\"}",
        "{level: info}",
        "\"text\"",
        "42",
        "null",
        "[]",
        "[1,2]",
        r#"[{"level":"info"},{"id":7}]"#,
        "}",
    ] {
        check(line, &format!("frame.noise@0+{}", line.len()));
    }
    check_bytes(b"caf\xe9 ready", "frame.noise@0+10");
}

#[test]
fn a_client_makes_no_noise() {
    check_from_client("hello", "frame.not-json@0+1 anonymous");
    check_from_client(r#"{"id":7,"msg":"x"}"#, "frame.not-jsonrpc@0+18 7?");
    check_from_client(r#"{"level":"info"}"#, "frame.not-jsonrpc@0+16 anonymous");
    check_from_client("[1]", "batch of 1");
    check_from_client("[]", "frame.not-jsonrpc@0+2 anonymous");
    check_from_client(r#"{"jsonrpc":"2.0","id":7,"result":{},}"#, "frame.not-json@36+1 7!");
    check_from_client(r#"{"jsonrpc":"2.0","id":7,"method":"x",}"#, "frame.not-json@37+1 7?");
}

#[test]
fn knows_headers_of_another_framing() {
    check("Content-Length: 52\r", "frame.content-length@0+1");
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{}}Content-Length: 7"#,
        "frame.content-length@36+17 1!",
    );
    check_from_client("content-type: application/json", "frame.content-length@0+1 anonymous");
}

#[test]
fn mends_surrogates_where_that_is_safe() {
    #[track_caller]
    fn check_mended(line: &str, expected: &str) {
        let mended = judged(line.as_bytes(), ServerToClient, |it| match it.verdict {
            FrameVerdict::Refused(Refused { mended, rule, .. }) => {
                assert_eq!(rule, Rule::FrameLoneSurrogate);
                mended.map(|it| String::from_utf8(it).unwrap())
            }
            other => panic!("{other:?}"),
        });
        assert_eq!(mended.as_deref().unwrap_or("refused"), expected);
    }
    check_mended(
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800\ud83d\ude00"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":"\uFFFD\ud83d\ude00"}}"#,
    );
    check_mended(r#"{"jsonrpc":"2.0","id":"\ud800","result":{}}"#, "refused");
    check_mended(r#"{"jsonrpc":"2.0","method":"\ud800"}"#, "refused");
    check_mended(r#"{"jsonrpc":"2.0","id":1,"result":{"\ud800":1}}"#, "refused");
    check_mended(r#"{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"},"ID":2}"#, "refused");
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"},"Method":2}"#,
        "frame.lone-surrogate@39+6 frame.ambiguous-key@48+1 1?",
    );
}

#[test]
fn judges_each_element_of_a_batch_on_its_own() {
    let line = br#"[{"jsonrpc":"2.0","method":"x"}, {"jsonrpc":"2.0","id":1,"method":7},5]"#;
    let limits = Limits::default();
    let mut judge = FrameJudge::new(ServerToClient, &limits);
    let FrameVerdict::Frame(Frame::Batch(batch)) = judge.judge_text(line, Ending::Whole).verdict
    else {
        panic!()
    };
    let shown: Vec<_> = batch.elements().map(|it| show(&judge.judge_element(it))).collect();
    assert_eq!(shown, ["message", "frame.not-jsonrpc@66+1 1?", "frame.not-jsonrpc@69+1"]);
    let (finding, refused) = judge.refuse_batch(line, Ending::Whole);
    assert_eq!((finding.rule, finding.length), (Rule::FrameNotJsonrpc, line.len()));
    assert_eq!(refused.requests.len(), 1);
}

/// Readers to which every message that passes must look the same.
mod reader {
    use serde_json::value::RawValue;
    use std::collections::HashMap;
    use std::fmt;

    use serde_json::de::SliceRead;

    pub(super) const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
    pub(super) type Envelope = HashMap<&'static str, String>;

    /// All members in order, duplicates included.
    struct Members(Vec<(String, Box<RawValue>)>);

    impl<'de> serde::Deserialize<'de> for Members {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Members;

                fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str("an object")
                }

                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Members, A::Error> {
                    let mut members = Vec::new();
                    while let Some(member) = map.next_entry()? {
                        members.push(member);
                    }
                    Ok(Members(members))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }

    /// Returns the envelope as a reader sees it that compares keys with `same`, and lets the last
    /// or the first of equal keys win.
    pub(super) fn read(text: &[u8], same: fn(&str, &str) -> bool, last_wins: bool) -> Envelope {
        let mut deserializer = serde_json::Deserializer::new(SliceRead::new(text));
        let Members(members) = serde::Deserialize::deserialize(&mut deserializer).unwrap();
        deserializer.end().unwrap();
        let mut envelope = HashMap::new();
        for (key, value) in members {
            let Some(name) = NAMES.into_iter().find(|name| same(&key, name)) else { continue };
            if last_wins || !envelope.contains_key(name) {
                envelope.insert(name, value.get().to_owned());
            }
        }
        envelope
    }

    pub(super) fn exactly(key: &str, name: &str) -> bool {
        key == name
    }

    pub(super) fn ignoring_case(key: &str, name: &str) -> bool {
        key.to_lowercase() == name || key.to_uppercase() == name.to_uppercase()
    }
}

#[test]
fn all_readers_agree_on_the_envelope_of_what_passes() {
    let limits = Limits::default();
    let mut judge = FrameJudge::new(ServerToClient, &limits);
    let (mut passed, mut refused) = (0, 0);
    for seed in 0..60_000 {
        let mut rng = Rng::new(seed);
        let mut text = message(&mut rng).into_bytes();
        if rng.one_in(3) {
            mutate(&mut rng, &mut text);
        }
        let judged = judge.judge_text(&text, Ending::Whole);
        let mended = match judged.verdict {
            FrameVerdict::Frame(Frame::Message(..)) => None,
            FrameVerdict::Refused(Refused { mended: Some(mended), .. }) => Some(mended),
            FrameVerdict::Refused(it) => {
                assert!(judged.findings.iter().any(|found| found.rule == it.rule));
                refused += 1;
                continue;
            }
            _ => continue,
        };
        let text = mended.as_deref().unwrap_or(&text);
        assert!(matches!(
            judge.judge_text(text, Ending::Whole).verdict,
            FrameVerdict::Frame(Frame::Message(..))
        ));
        passed += 1;
        let readers = [
            reader::read(text, reader::exactly, true),
            reader::read(text, reader::exactly, false),
            reader::read(text, reader::ignoring_case, true),
            reader::read(text, reader::ignoring_case, false),
        ];
        for other in &readers {
            assert_eq!(*other, readers[0], "{}", String::from_utf8_lossy(text));
        }
    }
    assert!(4_000 < passed && 4_000 < refused, "{passed} passed, {refused} refused");
}
