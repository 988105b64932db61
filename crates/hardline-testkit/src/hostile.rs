//! Inputs of any size, designed to cost more than they should.

/// Name of an input, and a function that returns it with about `len` bytes.
pub type Case = (&'static str, fn(usize) -> Vec<u8>);

/// All inputs. Each is one stream of lines; not all lines are valid.
pub const CASES: &[Case] = &[
    ("blank lines", |len| vec![b'\n'; len]),
    ("carriage returns", |len| vec![b'\r'; len]),
    ("spaces", |len| vec![b' '; len]),
    ("spaces behind an answer", |len| {
        [br#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_vec(), vec![b' '; len]].concat()
    }),
    ("spaces before letters", |len| [vec![b' '; len / 2], vec![b'a'; len / 2]].concat()),
    ("open arrays", |len| vec![b'['; len]),
    ("open objects", |len| repeat(b"{\"a\":", len)),
    ("open and close", |len| repeat(b"[]}", len)),
    ("closing brackets", |len| vec![b']'; len]),
    ("broken escapes", |len| repeat(b"\"\\u", len)),
    ("backslashes", |len| quoted(&vec![b'\\'; len / 2 * 2])),
    ("lone surrogates", |len| quoted(&repeat(b"\\ud800", len / 6 * 6))),
    ("quotes", |len| vec![b'"'; len]),
    ("one long string", |len| quoted(&vec![b'a'; len])),
    ("one long number", |len| vec![b'7'; len]),
    ("one long key", |len| [b"{".to_vec(), quoted(&vec![b'k'; len]), b":1}".to_vec()].concat()),
    ("many keys", |len| object(len, |index| format!("key-{index}"))),
    ("keys alike at both ends", |len| object(len, |index| format!("aaaaaaaa{index:08}aaaaaaaa"))),
    ("escaped keys", |len| object(len, |index| format!("\\u0061{index}"))),
    ("long escaped keys", |len| object(len, |index| format!("{}{index}", "\\u0061".repeat(200)))),
    ("long escaped keys alike at both ends", |len| {
        let middle = "\\u0061".repeat(len / 200);
        object(len, |index| format!("aaaaaaaa{index:02}{middle}aaaaaaaa"))
    }),
    ("nested properties", |len| {
        let count = len / 19;
        ["{\"properties\":{\"a\":".repeat(count), "1".into(), "}}".repeat(count)]
            .concat()
            .into_bytes()
    }),
    ("nested objects", |len| {
        let count = len / 6;
        ["{\"a\":".repeat(count), "1".into(), "}".repeat(count)].concat().into_bytes()
    }),
    ("the same key", |len| object(len, |_| "a".to_owned())),
    ("many wide objects", |len| {
        let one = object(400, |index| index.to_string());
        let count = len / (one.len() + 1);
        [b"[".to_vec(), vec![one; count].join(&b','), b"]".to_vec()].concat()
    }),
    ("a wide object, then narrow ones", |len| {
        let wide = object(len / 2, |index| index.to_string());
        let narrow = repeat(b",{\"a\":1}", len / 2);
        [b"[".to_vec(), wide, narrow, b"]".to_vec()].concat()
    }),
    ("empty objects", |len| repeat(b"{}", len)),
    ("messages without a comma", |len| repeat(b"{\"id\":1}", len)),
    ("batch of nothing", |len| [b"[".to_vec(), vec![b','; len], b"]".to_vec()].concat()),
    ("batch of small values", |len| [b"[".to_vec(), repeat(b"1,", len), b"1]".to_vec()].concat()),
    ("top-level ids", |len| [b"{".to_vec(), repeat(b"\"id\":1,", len), b"}".to_vec()].concat()),
    ("envelope twins", |len| object(len, |index| format!("METHOD{index}"))),
    ("event stream fields", |len| repeat(b"data:\n", len)),
    ("event stream comments", |len| repeat(b":\n", len)),
    ("event stream ids", |len| repeat(b"id:1\n\n", len)),
    ("invalid UTF-8", |len| quoted(&vec![0xff; len])),
    ("annotated properties", |len| {
        let one =
            |index| format!("\"p{index}\":{{\"properties\":{{}},\"x-mcp-header\":\"h{index}\"}}");
        let members: Vec<_> = (0..len / 50).map(one).collect();
        format!("{{\"properties\":{{{}}}}}", members.join(",")).into_bytes()
    }),
];

/// Parts of expensive texts, each to be repeated.
pub const TEXTS: &[&str] = &[
    "\n",
    "\r",
    " ",
    "{",
    "[",
    "{\"",
    "{\"a\":",
    "[{\"jsonrpc\":",
    "{\"jsonrpc\":\"2.0\",",
    "jsonrpc",
    "jsonrpc\n",
    "{\"jsonrpc\r",
    "{\u{2028}\"jsonrpc\0{\u{85}",
    "\"jsonrpc\\\"",
    "\\u",
    "\\u005c",
    "\\u007b",
    "\\\\",
    "\\\"jsonrpc",
    "&#",
    "&#38;",
    "&amp;",
    "&#123;&quot;jsonrpc",
    "%",
    "%25",
    "%2525",
    "%7B%22jsonrpc",
    "\\u0026%26&#37;\\\\jsonrpc{\"",
    "\\u0026%26&#37;\\\\jsonrpc{\" text\n",
    "a",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
    "ZXlKcWMyOXVjbkJqSWpvaU1pNHdJaXdpYldWMGFHOWsi\n",
    "{/*jsonrpc",
    "{//jsonrpc",
    "{'jsonrpc",
    "content-length: ",
    "h:",
    "\u{200b}",
    "a\u{200b}",
    "\u{e0061}",
    "\u{202e}",
    "א\u{2067}a\u{2069}",
    "א\u{2067}",
    "a\u{fe0f}",
    "\0",
    "\x1b[0m",
    "\u{ad}a",
    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\r",
    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\n",
    "x {\"jsonrpc\":\"2.0\",\"method\":\"ping\"} ",
    "{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"ping\\\"}\n",
    "👩\u{200d}🚀",
];

fn repeat(unit: &[u8], len: usize) -> Vec<u8> {
    unit.iter().copied().cycle().take(len).collect()
}

fn quoted(content: &[u8]) -> Vec<u8> {
    [b"\"", content, b"\""].concat()
}

fn object(len: usize, key: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = b"{".to_vec();
    let mut index = 0;
    while text.len() < len {
        let comma = if index == 0 { "" } else { "," };
        text.extend_from_slice(format!("{comma}\"{}\":{index}", key(index)).as_bytes());
        index += 1;
    }
    text.push(b'}');
    text
}
