//! Servers that escape properly, with deceptive texts.

use hardline_testkit::plant::json_string;

use crate::hidden::{hide, spread};
use crate::plan::Part;
use crate::script::Script;

/// Results and requests with a string that a person or a model reads, marked `@`. `#` is the id.
const READ: [&str; 20] = [
    r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"resource","resource":{"uri":"file:///a","text":@}}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"resource_link","uri":"file:///a","name":"a","title":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"content":[],"structuredContent":{"a":[{"b":@}]}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"error":{"code":-32000,"message":@}}"#,
    r#"{"jsonrpc":"2.0","id":#,"error":{"code":-32000,"message":"no","data":{"a":@}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"messages":[{"role":"user","content":{"type":"text","text":@}}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"prompts":[{"name":"p","description":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"prompts":[{"name":"p","arguments":[{"name":"a","description":@}]}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"contents":[{"uri":"file:///a","text":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resources":[{"uri":"file:///a","name":"a","description":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resourceTemplates":[{"uriTemplate":"file:///{a}","name":"a","title":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":"t","description":@,"inputSchema":{"type":"object"}}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":"t","annotations":{"title":@},"inputSchema":{"type":"object"}}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","description":@}}}}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","title":@}}]}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":@}}"#,
    r#"{"jsonrpc":"2.0","id":"h1","method":"elicitation/create","params":{"message":@,"requestedSchema":{"type":"object","properties":{}}}}"#,
    r#"{"jsonrpc":"2.0","id":"h2","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"t","description":@}}}}}"#,
    r#"{"jsonrpc":"2.0","id":"h3","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":@}}],"maxTokens":9}}"#,
];
/// The same where a program compares the string, so that nothing may edit it.
const COMPARED: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":#,"result":{"content":[],"structuredContent":{@:1}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resources":[{"uri":"file:///a","name":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"prompts":[{"name":@}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":@,"inputSchema":{"type":"object"}}]}}"#,
];
/// Answers with a list of many strings. The part between two `|` is repeated for each string, as `@`,
/// with its number as `%`.
const MANY: [&str; 7] = [
    r#""result":{"content":[|{"type":"text","text":@}|]}"#,
    r#""result":{"content":[],"structuredContent":{"rows":[|@|]}}"#,
    r#""result":{"contents":[|{"uri":"file:///a","text":@}|]}"#,
    r#""result":{"prompts":[|{"name":"p%","description":@}|]}"#,
    r#""result":{"resources":[|{"uri":"file:///%","name":"a%","description":@}|]}"#,
    r#""result":{"tools":[|{"name":"t%","description":@,"inputSchema":{"type":"object"}}|]}"#,
    r#""error":{"code":-32000,"message":"no","data":[|{"a":@}|]}"#,
];

/// Text that people do not see, in every place where they or a model read.
pub(super) fn hidden(script: &mut Script<'_>) {
    if script.rng.one_in(8) {
        return spread_out(script);
    }
    let asked = script.ask();
    let secret = match script.rng.below(6) {
        0 => script.rng.pick(&["\u{1b}[8m", "\u{1b}]8;;x\u{7}", "\u{1b}[2J"]).to_owned(),
        _ => hide(script.rng),
    };
    let text = match script.rng.below(3) {
        0 => secret,
        1 => format!("Reads a file.{secret}"),
        _ => format!("{secret} 漢字 and more text"),
    };
    // Escaped or raw, the text means the same to a JSON parser.
    let text = if script.rng.one_in(3) {
        format!("\"{}\"", hardline_testkit::plant::unicode(&text))
    } else {
        json_string(&text)
    };
    let is_compared = script.rng.one_in(5);
    let place = script.rng.pick(if is_compared { &COMPARED } else { &READ });
    let line = place.replacen('#', &asked.id, 1).replacen('@', &text, 1);
    let is_answer = !place.contains("\"method\"");
    script.say(
        format!("{line}\n").as_bytes(),
        if is_answer { std::slice::from_ref(&asked.id) } else { &[] },
    );
    if !is_answer {
        script.reply();
        script.answer(&asked);
    }
}

/// Text that people do not see, one bit in each of many strings.
fn spread_out(script: &mut Script<'_>) {
    let asked = script.ask();
    let id = &asked.id;
    let mut parts = script.rng.pick(&MANY).split('|');
    let mut next = || parts.next().unwrap_or_default();
    let (start, each, end) = (next(), next(), next());
    let fill = |(number, text): (usize, String)| {
        each.replacen('%', &number.to_string(), 1).replacen('@', &json_string(&text), 1)
    };
    let list: Vec<_> = spread().into_iter().enumerate().map(fill).collect();
    let list = list.join(",");
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{start}{list}{end}}}\n");
    script.say(line.as_bytes(), std::slice::from_ref(id));
}

/// A file that the client reads and writes back, whole or in part.
pub(super) fn round_trip(script: &mut Script<'_>) {
    let asked = script.ask();
    let mut lines = Vec::new();
    for _ in 0..1 + script.rng.below(4) {
        let line = match script.rng.below(6) {
            0 => script.author.message(script.rng),
            1 => hide(script.rng),
            2 => format!("a{}b", script.rng.pick(&["\u{200b}", "\u{1b}[0m", "\u{202e}", "\u{85}"])),
            // Text that looks like a mark of the sanitizer must survive as well.
            3 => {
                script.rng.pick(&["blocked by hardline: x", "<U+200B>", "\u{feff}", ""]).to_owned()
            }
            _ => script.rng.pick(&["plain text", "    indented", "{\"a\": 1}", "漢字"]).to_owned(),
        };
        lines.push(line);
    }
    let document = lines.join("\n");
    let (id, text) = (&asked.id, json_string(&document));
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}]}}}}"#
    );
    script.say(format!("{answer}\n").as_bytes(), std::slice::from_ref(&asked.id));
    script.hesitate();
    let line = script.rng.below(lines.len());
    let part = match script.rng.below(8) {
        0..3 => Part::All,
        3..5 => Part::Line(line),
        5 => Part::Within(line),
        6 => Part::Changed(line),
        _ => {
            let start = script.rng.below(document.len() + 1);
            Part::Cut(start, start + script.rng.below(100))
        }
    };
    let has_returns = script.rng.one_in(6);
    script.echo(part, has_returns, &document);
}
