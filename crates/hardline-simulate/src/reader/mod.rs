//! Models of the readers in use: the lines that each finds in a stream, and the JSON that each
//! finds on a line.
//!
//! A frame has one meaning if every combination of a line reader and a JSON reader finds the same
//! messages in it. Most frames contain no byte that line readers disagree about and no JSON that
//! parsers disagree about; one pass over the bytes and one parse prove that.

mod dialect;
mod json;
mod line;
mod quirk;

pub use dialect::Dialect;
pub use json::{Json, parse};
pub use line::LineReader;
pub use quirk::Quirks;

/// Messages of one frame, as the readers see them.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Messages that every reader sees. If readers disagree, those that any of them sees.
    pub messages: Vec<Json<'a>>,
    /// Description of the first pair of readers that see different messages.
    pub disagreement: Option<String>,
}

/// Reads a frame, given without its line end, with every reader.
pub fn read(frame: &[u8]) -> Seen<'_> {
    // Nearly all frames take this path, which reads the frame once instead of nine times.
    if !line::is_contested(frame) {
        return read_line(frame);
    }
    let mut seen = Seen { messages: Vec::new(), disagreement: None };
    let mut first: Option<(LineReader, Vec<String>)> = None;
    for reader in LineReader::ALL {
        let mut messages = Vec::new();
        for line in reader.split(frame) {
            let on_line = read_line(line);
            seen.disagreement = seen.disagreement.or(on_line.disagreement);
            messages.extend(on_line.messages);
        }
        let found: Vec<_> = messages.iter().map(Json::to_string).collect();
        match &first {
            None => {
                first = Some((reader, found));
                seen.messages = messages;
            }
            // Messages that only one reader sees count too: an attacker needs only that one.
            Some((other, before)) if *before != found => {
                seen.messages.extend(messages);
                seen.disagreement.get_or_insert_with(|| {
                    format!(
                        "{other:?} and {reader:?} see different messages ({} and {})",
                        before.len(),
                        found.len()
                    )
                });
            }
            Some(_) => {}
        }
    }
    seen
}

/// Reads one line with every JSON reader.
fn read_line(line: &[u8]) -> Seen<'_> {
    let Some((value, quirks)) = parse(line) else {
        return Seen { messages: Vec::new(), disagreement: None };
    };
    // All readers agree on strict JSON.
    if quirks.is_empty() {
        return Seen { messages: messages(value), disagreement: None };
    }
    let mut disagreement = None;
    let mut first: Option<(Dialect, Vec<String>)> = None;
    for dialect in Dialect::ALL {
        let found = dialect.view(&value, quirks);
        match &first {
            None => first = Some((dialect, found)),
            Some((other, messages)) if *messages != found => {
                disagreement
                    .get_or_insert_with(|| format!("{other:?} and {dialect:?} disagree: {quirks}"));
            }
            Some(_) => {}
        }
    }
    Seen { messages: messages(value), disagreement }
}

/// Returns the messages of a line: the value itself, or the elements of a batch.
fn messages(value: Json<'_>) -> Vec<Json<'_>> {
    match value {
        Json::Array(elements) => elements.into_iter().filter(Json::is_message).collect(),
        value if value.is_message() => vec![value],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks how many messages the readers see together, and whether they agree.
    #[track_caller]
    fn check(frame: &str, messages: usize, agrees: bool) {
        let seen = read(frame.as_bytes());
        assert_eq!(seen.disagreement.is_none(), agrees, "{frame}: {:?}", seen.disagreement);
        let mut distinct: Vec<_> = seen.messages.iter().map(Json::to_string).collect();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), messages, "{frame}: {distinct:?}");
    }

    #[test]
    fn readers_agree_about_ordinary_frames() {
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":[1,2.5e3,null,"é\n😀"]}}"#, 1, true);
        check(r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"method":"x"}]"#, 2, true);
        check("{\"jsonrpc\":\"2.0\",\t\"id\":1, \"result\":{}}", 1, true);
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r", 1, true);
        check("plain text", 0, true);
        check(r#"{"level":"info"}"#, 0, true);
        check("", 0, true);
    }

    #[test]
    fn readers_disagree_about_line_ends_inside_a_frame() {
        let nested = r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":@{"method":"x"}@}}"#;
        for end in ["\r", "\u{2028}", "\u{b}", "\u{1c}"] {
            let seen = read(nested.replace('@', end).leak().as_bytes());
            assert!(seen.disagreement.is_some(), "{end:?}");
            let is_planted = |it: &Json<'_>| it.get("method").is_some();
            assert!(seen.messages.iter().any(is_planted), "{end:?}");
        }
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\u{85}\"}}", 1, false);
        check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\u{2029}\"}}", 1, false);
        check("{\"method\":\"x\"}\n{\"method\":\"y\"}", 2, true);
    }

    #[test]
    fn readers_disagree_about_json_that_is_not_strict() {
        for frame in [
            r#"{"jsonrpc":"2.0","id":1,"id":2,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
            r#"{"jsonrpc":"2.0","id":1,"Result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"reſult":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}} trailing"#,
            r#"{'jsonrpc':'2.0','id':1,'result':{}}"#,
            r#"{jsonrpc:"2.0",id:1,result:{},}"#,
            r#"/* a */ {"jsonrpc":"2.0","id":1,"result":{}}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        ] {
            check(frame, 1, false);
        }
        let invalid = read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"}}");
        assert!(invalid.disagreement.is_some());
    }
}
