//! Attacks from a seed: texts, and frames with such texts in every possible place.

mod encode;
mod place;

pub use encode::{ENCODERS, Encode, base64, json_string, unicode};
pub use place::{FROM_CLIENT, OPAQUE, TEXTS, fill};

use crate::generate::{Rng, message, mutate, value};

/// Pieces that rules, encodings and line readers react to.
const PARTS: &[&str] = &[
    "\n",
    "\r",
    "\r\n",
    "\u{2028}",
    "\u{2029}",
    "\u{85}",
    "\0",
    "\x0b",
    "\x0c",
    "\t",
    " ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\\"",
    "\\n",
    "\\u007b",
    "\\u0022",
    "jsonrpc",
    "\"jsonrpc\":\"2.0\"",
    "\"j\\u0073onrpc\":\"2.0\"",
    "'jsonrpc':'2.0'",
    ",",
    ":",
    "\"id\":1",
    "\"method\":",
    "\"tools/call\"",
    "\"result\":{}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"",
    "\",\"method\":\"ping\"}",
    "&quot;",
    "&#123;",
    "&#10;",
    "&amp;",
    "&lbrace;",
    "%7B",
    "%22",
    "%25",
    "%0A",
    "+",
    "text",
    "a longer piece of text without anything in it. ",
    "é",
    "א",
    "ا",
    "😀",
    "👩\u{200d}🚀",
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{fe0f}",
    "\u{e0100}",
    "字\u{e0101}",
    "字\u{e0150}",
    "🏴\u{e0061}\u{e0062}\u{e0063}\u{e0064}\u{e0065}\u{e007f}",
    "\u{200f}",
    "\u{61c}",
    "\u{2060}",
    "\u{2003}",
    "\u{2800}",
    "\u{3164}",
    "\u{180e}",
    "\u{fdd0}",
    "\u{e061}",
    "\u{202b}",
    "\u{2066}",
    "\u{202a}",
    "\u{202e}",
    "\u{202c}",
    "\u{2067}",
    "\u{2069}",
    "\u{e0061}",
    "\u{e007f}",
    "\u{ad}",
    "\u{feff}",
    "\u{fffd}",
    "\x1b[0m",
    "\x1b]0;x\x07",
    "\u{9b}2J",
    "\x7f",
    "Content-Length: 5",
    "ZXlKcWMyOXVjbkJqSWpv",
    "eyJqc29ucnBjIjoiMi4wIiwiaWQiOjEsIm1ldGhvZCI6InBpbmcifQ==",
    "/*",
    "*/",
    "//",
    "#",
    "'",
    "NaN",
    "<U+200B>",
    "<U+",
    "blocked by hardline: ",
    "(removed by hardline)",
];

/// Messages that a reader might attribute to the peer.
const MESSAGES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"rm","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a \"b\""}]}}"#,
    r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    r#"{"method":"ping", "id":0, "jsonrpc":"2.0"}"#,
    r#"[{"jsonrpc":"2.0","id":1,"result":{}},1]"#,
    r#"{"\u006asonrpc":"2.0","id":1,"method":"tools\/list"}"#,
    r#"{jsonrpc:'2.0',id:1,method:'ping',}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":[]}"#,
    r#"{"a":{"jsonrpc":"2.0","id":1,"result":{}}}"#,
    r#"{"jsonrpc":"2.0"}"#,
];

/// Returns a text with an attack in it, or nearly so.
pub fn text(rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..rng.below(10) {
        if rng.is_spent() {
            break;
        }
        match rng.below(12) {
            0 => text.push_str(rng.pick(MESSAGES)),
            1 => {
                let message = rng.pick(MESSAGES);
                text.push_str(&encoded(rng, message));
            }
            2 => text.push_str(&String::from_utf8_lossy(&rng.bytes(24))),
            3 => {
                // A damaged message.
                let mut bytes = rng.pick(MESSAGES).as_bytes().to_vec();
                mutate(rng, &mut bytes);
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
            4 => {
                let part = rng.pick(PARTS);
                text.push_str(&part.repeat(1 + rng.below(5)));
            }
            5 if rng.one_in(8) => text.push_str(&message(rng)),
            // Encodes everything so far, so encodings can nest.
            6 if rng.one_in(4) => text = encoded(rng, &text),
            _ => text.push_str(rng.pick(PARTS)),
        }
    }
    text
}

/// Returns a line with an attack in a string, or with keys that readers disagree about.
pub fn frame(rng: &mut Rng) -> Vec<u8> {
    let mut frame = match rng.below(8) {
        0 => message(rng),
        1 => envelope(rng),
        2 => {
            let elements: Vec<_> = (0..1 + rng.below(2)).map(|_| planted(rng)).collect();
            format!("[{}]", elements.join(","))
        }
        _ => planted(rng),
    };
    if rng.one_in(16) {
        frame.push_str(rng.pick(&[" ", "\r", "{}", "\t", "\u{feff}", "x"]));
    }
    let mut bytes = frame.into_bytes();
    if rng.one_in(8) {
        mutate(rng, &mut bytes);
    }
    bytes
}

/// Returns a message whose envelope has keys twice, in other cases, escaped, or equal after case
/// folding.
pub fn envelope(rng: &mut Rng) -> String {
    const KEYS: &[&str] = &[
        "jsonrpc",
        "id",
        "method",
        "params",
        "result",
        "error",
        "Method",
        "ID",
        "iD",
        "JSONRPC",
        "PARAMS",
        "Result",
        "m\\u0065thod",
        "\\u006dethod",
        "\\u0069d",
        "\\u0069\\u0064",
        "res\\u0075lt",
        "jſonrpc",
        "paramſ",
        "reſult",
        "re\\u017fult",
        "param\\u017f",
        "i\\u0064",
        "ıd",
        "İd",
        "id\\u0000",
        "id ",
        "\\ufeffid",
        "ｉｄ",
        "K",
        "code",
        "message",
    ];
    const VALUES: &[&str] = &[
        "\"2.0\"",
        "\"\\u0032.0\"",
        "\"1.0\"",
        "1",
        "2",
        "\"1\"",
        "null",
        "\"ping\"",
        "\"tools/call\"",
        "\"tools\\/call\"",
        "{}",
        "[]",
        "{\"a\":1}",
        "{\"code\":1,\"message\":\"m\"}",
        "{\"id\":1,\"ID\":2}",
        "{\"a\":{\"b\":1,\"b\":2}}",
        "{\"a\":1,\"\\u0061\":2}",
        "{\"ſ\":1,\"s\":2,\"K\":3,\"k\":4}",
    ];
    // Mostly a proper message with further members.
    let mut members: Vec<String> = match rng.below(5) {
        0 => vec![],
        1 => vec![r#""jsonrpc":"2.0""#.into(), r#""id":1"#.into(), r#""result":{}"#.into()],
        2 => vec![r#""jsonrpc":"2.0""#.into(), r#""method":"ping""#.into()],
        3 => vec![
            r#""jsonrpc":"2.0""#.into(),
            r#""id":"a""#.into(),
            r#""error":{"code":1,"message":"m"}"#.into(),
        ],
        _ => vec![
            r#""jsonrpc":"2.0""#.into(),
            r#""id":1"#.into(),
            r#""method":"tools/call""#.into(),
            r#""params":{"name":"a"}"#.into(),
        ],
    };
    for _ in 0..rng.below(4) {
        let value = if rng.one_in(4) { value(rng, 2) } else { rng.pick(VALUES).to_owned() };
        let key = if rng.one_in(8) {
            format!("{:?}", rng.pick(&["x", "name", "extra", "\u{e9}"]))
        } else {
            format!("\"{}\"", rng.pick(KEYS))
        };
        members.insert(rng.below(members.len() + 1), format!("{key}:{value}"));
    }
    format!("{{{}}}", members.join(rng.pick(&[",", ",", " , ", ",\t"])))
}

/// Returns `text` as a JSON string, in one of many spellings.
pub fn spelled(rng: &mut Rng, text: &str) -> String {
    match rng.below(5) {
        0 => format!("\"{}\"", unicode(text)),
        1 => json_string(text).replace('/', "\\/"),
        2 => json_string(text).replace('{', "\\u007B").replace('o', "\\u006f"),
        _ => json_string(text),
    }
}

fn planted(rng: &mut Rng) -> String {
    let text = text(rng);
    let mut string = spelled(rng, &text);
    if rng.one_in(16) {
        string =
            format!("\"{}{}", rng.pick(&["\\ud800", "\\udc00"]), string.trim_start_matches('"'));
        // An empty text has lost its closing quote above.
        if string == "\"\\ud800" || string == "\"\\udc00" {
            string.push('"');
        }
    }
    let place = match rng.below(8) {
        0 | 1 => rng.pick(OPAQUE),
        2 => rng.pick(FROM_CLIENT),
        _ => rng.pick(TEXTS),
    };
    fill(place, &string)
}

fn encoded(rng: &mut Rng, text: &str) -> String {
    let encode = ENCODERS.get(rng.below(ENCODERS.len())).copied().unwrap_or(json_string);
    encode(text)
}
