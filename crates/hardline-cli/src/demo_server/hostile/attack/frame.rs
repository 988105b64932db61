//! Invalid frames: readers disagree about them, or cannot read them.

use std::io;

use hardline_guard::Rule;
use hardline_wire::limits::DEFAULT_FRAME_BYTES;

use super::{Attack, Due, Next};
use crate::demo_server::hostile::call::Call;
use crate::demo_server::hostile::planted;

/// Size of the large frame: over the default limit, also after a cut in half.
const HUGE: usize = 2 * DEFAULT_FRAME_BYTES + DEFAULT_FRAME_BYTES / 2;
const DEEP: usize = 10_000;

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "carriage-return",
        what: "A result with a request between two carriage returns, outside of strings",
        rule: Some(Rule::FrameControlCharacter),
        due: Due::Answer,
        act: |call| {
            let meta =
                // Some readers end a line at a carriage return.
                format!(r#""content":[],"_meta":{{"a":{}{}{}}}"#, '\r', planted::request(), '\r');
            let line = call.result(&meta);
            call.answer_with(&line)
        },
    },
    Attack {
        name: "not-json",
        what: "An answer that is almost JSON: NaN and a comma too many",
        rule: Some(Rule::FrameNotJson),
        due: Due::Error,
        act: |call| call.answer_with(&call.result(r#""content":[],"score":NaN,"#)),
    },
    Attack {
        name: "not-jsonrpc",
        what: "An answer that is both a result and an error",
        rule: Some(Rule::FrameNotJsonrpc),
        due: Due::Error,
        act: |call| add_member(call, r#""error":{"code":1,"message":"no"}"#),
    },
    Attack {
        name: "two-messages",
        what: "The answer and a planted request on one line",
        rule: Some(Rule::FrameConcatenated),
        due: Due::Error,
        act: |call| call.answer_with(&format!("{}{}", call.text("one"), planted::request())),
    },
    Attack {
        name: "duplicate-key",
        what: "An answer with two results: some readers take the first, some the last",
        rule: Some(Rule::FrameDuplicateKey),
        due: Due::Error,
        act: |call| add_member(call, r#""result":{"content":[]}"#),
    },
    Attack {
        name: "case-folded-key",
        what: "An answer with Method beside result: some readers take it for a request",
        rule: Some(Rule::FrameAmbiguousKey),
        due: Due::Error,
        act: |call| add_member(call, r#""Method":"sampling/createMessage""#),
    },
    Attack {
        name: "long-s-key",
        what: "An answer with a second result, spelled with a long s",
        rule: Some(Rule::FrameAmbiguousKey),
        due: Due::Error,
        act: |call| add_member(call, r#""reſult":{"content":[]}"#),
    },
    Attack {
        name: "invalid-utf8",
        what: "An answer with bytes that are not UTF-8",
        rule: Some(Rule::FrameInvalidUtf8),
        due: Due::Error,
        act: |call| write_inside(call, b"caf\xe9 \xc0\xaf"),
    },
    Attack {
        name: "lone-surrogate",
        what: "An answer with half a character in it",
        rule: Some(Rule::FrameLoneSurrogate),
        due: Due::Answer,
        act: |call| write_inside(call, br"half of \ud83d it"),
    },
    Attack {
        name: "control-character",
        what: "An answer with a raw control character in its text",
        rule: Some(Rule::FrameControlCharacter),
        due: Due::Error,
        act: |call| write_inside(call, b"a bell: \x07"),
    },
    Attack {
        name: "bom",
        what: "A byte order mark before the answer",
        rule: Some(Rule::FrameBom),
        due: Due::Answer,
        act: |call| call.answer_with(&format!("\u{feff}{}", call.text("after a mark"))),
    },
    Attack {
        name: "content-length",
        what: "Answers as a language server frames them, with headers between them",
        rule: Some(Rule::FrameContentLength),
        due: Due::Error,
        act: |call| {
            let answer = call.text("framed by its length");
            // Two frames show that the headers separate messages.
            let more = planted::notification("notifications/tools/list_changed");
            let frame = |text: &str| format!("Content-Length: {}\r\n\r\n{text}", text.len());
            call.answer_with(&format!("{}{}", frame(&answer), frame(&more)))
        },
    },
    Attack {
        name: "huge-frame",
        what: "An answer of more than twice the default limit on one line",
        rule: Some(Rule::FrameTooLarge),
        due: Due::Error,
        act: |call| fill(call, "\"", b"x", HUGE, "\""),
    },
    Attack {
        name: "deep-nesting",
        what: "An answer with ten thousand arrays, one inside the other",
        rule: Some(Rule::FrameTooDeep),
        due: Due::Error,
        act: |call| fill(call, "", b"[", DEEP, &"]".repeat(DEEP)),
    },
];

/// Answers with one more member in the envelope.
fn add_member(call: &mut Call<'_>, member: &str) -> io::Result<Next> {
    let line = call.text("one of two");
    let line = line.strip_suffix('}').unwrap_or_default();
    call.answer_with(&format!("{line},{member}}}"))
}

/// Answers with raw bytes in place of the text.
fn write_inside(call: &mut Call<'_>, bytes: &[u8]) -> io::Result<Next> {
    let line = call.text("|");
    let (head, tail) = line.split_once('|').unwrap_or_default();
    call.bytes([head.as_bytes(), bytes, tail.as_bytes(), b"\n"].concat())?;
    Ok(Next::GoOn)
}

/// Answers with one byte repeated `count` times, written in chunks to save memory.
fn fill(
    call: &mut Call<'_>,
    open: &str,
    byte: &[u8; 1],
    count: usize,
    close: &str,
) -> io::Result<Next> {
    let line = call.result(r#""content":[],"filler":|"#);
    let (head, tail) = line.split_once('|').unwrap_or_default();
    call.bytes(format!("{head}{open}"))?;
    let chunk = byte.repeat(64 << 10);
    let mut left = count;
    while let Some(part) = chunk.get(..left.min(chunk.len())).filter(|it| !it.is_empty()) {
        call.bytes(part)?;
        left -= part.len();
    }
    call.answer_with(&format!("{close}{tail}"))
}
