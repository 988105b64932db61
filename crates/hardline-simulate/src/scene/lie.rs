//! Servers whose answers are broken: each writes something that is meant as an answer.

use crate::script::{Asked, Script};

/// Noise that servers print before an answer on the same line.
const PREFIXES: [&str; 24] = [
    "Loading... ",
    "[INFO] ",
    "INFO:root:",
    "2025-01-01T00:00:00Z DEBUG reply=",
    "10%\r20%\r100%\r",
    "[=====>    ] 50%\r",
    "\0",
    "\u{1b}[0m",
    "\u{1b}[2K\r",
    "\u{1b}]0;title\u{7}",
    "\u{8}\u{8}",
    "\u{feff}\u{feff}",
    ">>> ",
    "> ",
    "data: ",
    "null",
    "\"text\" ",
    "[1] ",
    "{} ",
    "{\"level\":\"info\"} ",
    "}",
    "]]",
    "warning: {not json} ",
    "\u{a0}",
];
/// Noise that servers print after an answer on the same line.
const SUFFIXES: [&str; 12] = [
    " done",
    ",",
    ";",
    "}",
    "]",
    "\0",
    "\u{1b}[0m",
    " // ok",
    "null",
    " {\"level\":\"info\"}",
    "\u{feff}",
    "%",
];

/// Makes the client send a request, and the server write what `write` returns for it, among other
/// traffic.
fn tell(script: &mut Script<'_>, write: impl Fn(&mut Script<'_>, &Asked) -> Vec<u8>) {
    let asked = script.ask();
    // With another request open, the relay cannot simply assign the output to the only one.
    let other = script.rng.one_in(3).then(|| script.ask());
    if let Some(other) = other.as_ref().filter(|_| script.rng.one_in(2)) {
        script.answer(other);
    }
    let bytes = write(script, &asked);
    script.say(&bytes, std::slice::from_ref(&asked.id));
    if script.rng.one_in(3) {
        script.hesitate();
        let later = script.ask();
        script.answer(&later);
    }
    // A late cancellation: the relay may have failed the request already.
    if script.rng.one_in(8) {
        script.cancel(&asked);
    }
}

/// Noise before the answer.
pub(super) fn prefix(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let prefix = script.rng.pick(&PREFIXES);
        format!("{prefix}{}\n", script.answer_to(asked)).into_bytes()
    });
}

/// Noise after the answer.
pub(super) fn suffix(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let suffix = script.rng.pick(&SUFFIXES);
        format!("{}{suffix}\n", script.answer_to(asked)).into_bytes()
    });
}

/// Two ids in one answer, of which one belongs to a request.
pub(super) fn two_ids(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let (id, other) =
            (asked.id.as_str(), script.rng.pick(&["99", "\"zz\"", "null", "0", "-1"]));
        let (first, second) = if script.rng.one_in(2) { (id, other) } else { (other, id) };
        let text = match script.rng.below(6) {
            0 => format!(r#"{{"jsonrpc":"2.0","id":{first},"id":{second},"result":{{}}}}"#),
            1 => format!(r#"{{"jsonrpc":"2.0","id":{first},"result":{{"a":1}},"id":{second}"#),
            2 => format!(
                r#"{{"jsonrpc":"2.0","id":{first},"result":{{"a":"b" "c"}},"id":{second}}}"#
            ),
            3 => format!(r#"{{"id":{first},"jsonrpc":"2.0","id":{second},"error":{{"code":1}}"#),
            // Go matches keys in any letter case, so it sees two ids here.
            4 => format!(r#"{{"jsonrpc":"2.0","id":{first},"result":{{}},"ID":{second}}}"#),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{first},"result":{{}}}},"id":{second}}}"#),
        };
        format!("{text}\n").into_bytes()
    });
}

/// The answer in the format in which other languages print maps.
pub(super) fn repr(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let id = asked.id.as_str();
        // Python quotes strings with apostrophes unless they contain one.
        let single = id.replace('"', "'");
        let text = match script.rng.below(6) {
            0..=2 => format!(
                "{{'jsonrpc': '2.0', 'id': {single}, 'result': {{'content': [], 'ok': True, 'next': None}}}}"
            ),
            3 => format!("{{'result': {{'text': \"it's\"}}, 'id': {single}, 'jsonrpc': '2.0'}}"),
            // The `inspect` format of Ruby.
            4 => format!(r#"{{"jsonrpc"=>"2.0", "id"=>{id}, "result"=>{{"content"=>[]}}}}"#),
            _ => format!(
                "{{'jsonrpc': '2.0', 'id': {single}, 'error': {{'code': 1, 'message': 'no'}}}}"
            ),
        };
        format!("{text}\n").into_bytes()
    });
}

/// The answer as a JavaScript literal.
pub(super) fn bare_keys(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let id = asked.id.as_str();
        let text = match script.rng.below(4) {
            0 => format!(r#"{{jsonrpc:"2.0",id:{id},result:{{content:[]}}}}"#),
            1 => format!("{{ jsonrpc: '2.0', id: {}, result: {{}} }}", id.replace('"', "'")),
            2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],}},}}"#),
            _ => format!(r#"{{"jsonrpc":"2.0",/* ok */"id":{id},"result":{{}}}} // done"#),
        };
        format!("{text}\n").into_bytes()
    });
}

/// The answer over many lines.
pub(super) fn pretty(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let answer = script.answer_to(asked);
        let end = script.rng.pick(&["\n", "\n", "\r\n", "\n  ", "\n\t"]);
        let text = match script.rng.below(3) {
            0 => answer.replace('{', &format!("{{{end}")).replace('}', &format!("{end}}}")),
            1 => answer.replace(",\"", &format!(",{end}\"")),
            _ => answer.replacen('{', &format!("{{{end}"), 1).replace(':', &format!(":{end}")),
        };
        format!("{text}\n").into_bytes()
    });
}

/// The answer without its line end, or half of it.
pub(super) fn no_newline(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let answer = script.answer_to(asked).into_bytes();
        match script.rng.below(3) {
            0 => cut(script, &answer),
            1 => [answer, b"\r".to_vec()].concat(),
            _ => answer,
        }
    });
}

/// The answer in UTF-16, or in UTF-8 with NULs.
pub(super) fn utf16(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let text = format!("{}\n", script.answer_to(asked));
        let mark = script.rng.one_in(2).then_some(0xfeff);
        // Programs on Windows may write UTF-16 to a redirected standard output.
        let is_big = script.rng.one_in(2);
        let bytes = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        let mut encoded: Vec<_> =
            mark.into_iter().chain(text.encode_utf16()).flat_map(bytes).collect();
        if !is_big && script.rng.one_in(2) {
            // Some servers write the line end in ASCII.
            encoded.truncate(encoded.len() - 1);
        }
        encoded
    });
}

/// The answer after a header, as in the Language Server Protocol.
pub(super) fn content_length(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let answer = script.answer_to(asked);
        let length = answer.len();
        // The protocol has no line end after the body, but many servers add one.
        let end = script.rng.pick(&["", "\n", "\r\n"]);
        let text = match script.rng.below(3) {
            0 => format!("Content-Length: {length}\r\n\r\n{answer}{end}"),
            1 => format!("Content-Length: {length}\n\n{answer}{end}"),
            _ => format!(
                "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{answer}{end}"
            ),
        };
        text.into_bytes()
    });
}

/// The first part of an answer.
pub(super) fn truncated(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let answer = script.answer_to(asked).into_bytes();
        [cut(script, &answer), b"\n".to_vec()].concat()
    });
}

/// An answer with one wrong byte, outside of its id.
pub(super) fn damage(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let answer = script.answer_to(asked);
        let key = answer.find("\"id\":").unwrap_or_default();
        let end = answer.get(key..).and_then(|it| it.find([',', '}'])).unwrap_or_default();
        let mut bytes = answer.into_bytes();
        let at = script.rng.below(bytes.len());
        // With another id it would answer another request.
        let is_id = (key + 4..=key + end).contains(&at);
        let bad = b"\"\\{}[]:,x0 \0\x1f\x7f\x80\xff";
        let byte = bad.get(script.rng.below(bad.len())).copied().unwrap_or(0);
        if !is_id {
            match script.rng.below(3) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, byte),
                _ => bytes.splice(at..=at, [byte]).for_each(drop),
            }
        }
        bytes.push(b'\n');
        bytes
    });
}

/// The id with another type.
pub(super) fn id_type(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let id = asked.id.as_str();
        let plain = id.trim_matches('"');
        let other = match script.rng.below(4) {
            // Languages whose numbers are all floats print an integer like this.
            0 if !id.starts_with('"') => format!("{id}.0"),
            1 => format!("[{id}]"),
            _ if id.starts_with('"') && plain.starts_with(|it: char| it.is_ascii_digit()) => {
                plain.to_owned()
            }
            _ => format!("\"{plain}\""),
        };
        // The id of another request would answer that request.
        let is_taken = script.author.guesses.contains(&other);
        let other = if is_taken { format!("[{id}]") } else { other };
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{other},\"result\":{{\"content\":[]}}}}\n")
            .into_bytes()
    });
}

/// An answer without an id while only one request waits.
pub(super) fn no_id(script: &mut Script<'_>) {
    // Lets earlier scenes settle, so that exactly one request waits.
    script.pause(1);
    let asked = script.ask();
    let text = script.rng.pick(&[
        r#"{"jsonrpc":"2.0","result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"}}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":{}}"#,
    ]);
    script.say(format!("{text}\n").as_bytes(), std::slice::from_ref(&asked.id));
}

/// JSON that parsers disagree about.
pub(super) fn not_strict(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let id = &asked.id;
        // Deeper than the strict checker allows, but valid JSON.
        let deep = format!("{}{}", "[".repeat(150), "]".repeat(150));
        let value = script.rng.pick(&[
            r#"{"a":1,"a":2}"#,
            r#"{"a":NaN}"#,
            r#"{"a":-Infinity}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"a":"\x41"}"#,
            r#"{"a":01}"#,
            r#"{"a":.5}"#,
            "{\"a\":\"\t\"}",
            "{\"a\":\"\u{1}\"}",
            r#"{"a":undefined}"#,
            r#"{"a" 1}"#,
            r#"{"a":"b""c"}"#,
            &*deep,
        ]);
        let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value}}}"#).into_bytes();
        if script.rng.one_in(10) {
            // Inside of the value, so that the frame around it stays intact.
            let at = text.len() - 3;
            text.insert(at, 0xff);
        }
        text.push(b'\n');
        text
    });
}

/// JSON that is not JSON-RPC.
pub(super) fn not_jsonrpc(script: &mut Script<'_>) {
    tell(script, |script, asked| {
        let id = &asked.id;
        let text = match script.rng.below(9) {
            0 => format!(r#"{{"id":{id},"result":{{"content":[]}}}}"#),
            1 => format!(r#"{{"jsonrpc":"1.0","id":{id},"result":{{}}}}"#),
            2 => format!(r#"{{"jsonrpc":2.0,"id":{id},"result":{{}}}}"#),
            3 => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"error":{{"code":1,"message":""}}}}"#
            ),
            4 => format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#),
            5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"Result":{{}}}}"#),
            6 => format!(r#"{{"JSONRPC":"2.0","ID":{id},"RESULT":{{}}}}"#),
            7 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"no"}}"#),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"method":"x"}}"#),
        };
        format!("{text}\n").into_bytes()
    });
}

/// Two answers on one line.
pub(super) fn concatenated(script: &mut Script<'_>) {
    let asked = [script.ask(), script.ask()];
    let answers: Vec<_> = asked.iter().map(|it| script.answer_to(it)).collect();
    let between = script.rng.pick(&["", "", " ", ",", "\r", "\0", " and "]);
    let meant = asked.map(|it| it.id);
    script.say(format!("{}\n", answers.join(between)).as_bytes(), &meant);
}

/// Answers in a batch, in versions with and without batches.
pub(super) fn batch(script: &mut Script<'_>) {
    let asked = if script.version.has_batches() && script.rng.one_in(2) {
        script.ask_batch(2)
    } else {
        vec![script.ask(), script.ask()]
    };
    let mut answers: Vec<_> = asked.iter().map(|it| script.answer_to(it)).collect();
    if script.rng.one_in(3) {
        answers
            .push(script.rng.pick(&["1", "{}", "null", "{\"jsonrpc\":\"2.0\"", "[]"]).to_owned());
    }
    let meant: Vec<_> = asked.into_iter().map(|it| it.id).collect();
    script.say(format!("[{}]\n", answers.join(",")).as_bytes(), &meant);
}

/// Log lines among proper answers.
pub(super) fn noise(script: &mut Script<'_>) {
    let asked = script.ask();
    for _ in 0..=script.rng.below(3) {
        let line = script.rng.pick(&[
            "starting up",
            r#"{"level":"info","msg":"hello"}"#,
            "{ not json",
            "[2025-01-01] hello",
            "[",
            "]",
            "null",
            "\"",
            "\u{1b}[32mok\u{1b}[0m",
            "  at Object.<anonymous> (index.js:1:1)",
            "{\"id\":5,\"name\":\"x\"}",
        ]);
        script.say(format!("{line}\n").as_bytes(), &[]);
        script.hesitate();
    }
    script.answer(&asked);
}

/// Values that servers print over several lines, plain or in the colors of a terminal.
pub(super) const DUMPS: [&str; 9] = [
    "{\n  \"level\": \"info\",\n  \"data\": {\n    \"a\": \"b\"\n  },\n  \"list\": [\n    1\n  ]\n}",
    "{\n  \"id\": 1,\n  \"name\": \"x\",\n  \"tags\": [\n    {\n      \"id\": 4\n    }\n  ]\n}",
    "[\n  {\n    \"id\": 3,\n    \"name\": \"x\"\n  },\n  {\n    \"name\": \"y\"\n  }\n]",
    "{\"level\":\"info\",\n\"data\":{\"a\":[\n{\"b\":\"c\"}]}}",
    "loaded config: {\n  \"a\": {\n    \"b\": null\n  }\n}",
    "{\n  level: 'info',\n  data: { a: [ 'it' ] },\n  next: [\n    'x' ] }",
    "\u{1b}[32m{\"level\":\"info\",\"data\":[1,{\"a\":2}]}\u{1b}[0m",
    "{\u{1b}[36m\"level\"\u{1b}[0m:\u{1b}[32m\"info\"\u{1b}[0m}",
    "\u{1b}[1;32m[\u{1b}[0m{\"id\":3}\u{1b}[1;32m]\u{1b}[0m",
];

/// Log lines of several lines, or in colors, among proper traffic: they change nothing.
pub(super) fn dump(script: &mut Script<'_>) {
    let asked = script.ask();
    for _ in 0..=script.rng.below(2) {
        let dump = script.rng.pick(&DUMPS);
        script.write(format!("{dump}\n").as_bytes(), &[]);
        script.hesitate();
    }
    let line = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#;
    script.say(format!("{line}\n").as_bytes(), &[]);
    if !script.is_stateless() && script.rng.one_in(2) {
        let number = script.next_number();
        let line = format!(r#"{{"jsonrpc":"2.0","id":"q{number}","method":"ping"}}"#);
        script.say(format!("{line}\n").as_bytes(), &[]);
        script.reply();
    }
    // Longer than the relay holds the request.
    script.pause(1200);
    script.answer(&asked);
}

/// The answer as Node's `console.log` or Python's `pprint` print it, over several lines.
pub(super) fn literal(script: &mut Script<'_>) {
    let asked = script.ask();
    let text = {
        let id = asked.id.replace('"', "'");
        match script.rng.below(4) {
            0 => format!(
                "{{\n  jsonrpc: '2.0',\n  id: {id},\n  result: {{ content: [ [Object] ] }}\n}}"
            ),
            1 => format!(
                "{{\n  result: {{\n    content: [\n      {{ type: 'text', text: \"it's\" }}\n    ]\n  }},\n  jsonrpc: '2.0',\n  id: {id}\n}}"
            ),
            2 => format!(
                "sending {{\n  jsonrpc: '2.0',\n  id: {id},\n  error: {{ code: 1, message: 'no' }}\n}}"
            ),
            _ => format!(
                "{{'id': {id},\n 'jsonrpc': '2.0',\n 'result': {{'content': [],\n            'isError': False}}}}"
            ),
        }
    };
    // Such a value is written at once.
    script.write(format!("{text}\n").as_bytes(), std::slice::from_ref(&asked.id));
    script.hesitate();
    let later = script.ask();
    script.answer(&later);
}

/// Cuts an answer somewhere after its first bytes.
fn cut(script: &mut Script<'_>, answer: &[u8]) -> Vec<u8> {
    const LEAST: usize = 16;
    let most = answer.len().saturating_sub(LEAST + 1).max(1);
    answer.get(..LEAST + script.rng.below(most)).unwrap_or(answer).to_vec()
}
