//! Answers of servers that build JSON by hand: a document is inserted without any escaping.

/// Template of an answer. `@` stands for the document, `#` for the id of the request.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Text, without its line end.
    pub text: &'static str,
    /// True if the text itself is the answer. Otherwise the answer follows on a line of its own.
    pub is_answer: bool,
}

const fn answer(text: &'static str) -> Template {
    Template { text, is_answer: true }
}

const fn before_answer(text: &'static str) -> Template {
    Template { text, is_answer: false }
}

/// All templates.
pub const TEMPLATES: [Template; 26] = [
    answer(r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":"@"}]}}"#),
    answer(
        r#"{"jsonrpc": "2.0", "id": #, "result": {"content": [{"type": "text", "text": "@"}]}}"#,
    ),
    answer(
        r#"{"id":#,"jsonrpc":"2.0","result":{"content":[{"text":"@","type":"text"}],"isError":false}}"#,
    ),
    answer(r#"{"result":{"content":[{"type":"text","text":"@"}]},"id":#,"jsonrpc":"2.0"}"#),
    answer(r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"@"}]},"id":#}"#),
    answer(
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":[],"structuredContent":{"body":"@","n":1}}}"#,
    ),
    answer(r#"{"jsonrpc":"2.0","id":#,"error":{"code":-32000,"message":"@"}}"#),
    answer(r#"{"jsonrpc":"2.0","id":#,"error":{"code":-32000,"message":"no","data":"@"}}"#),
    answer(
        "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": #,\n  \"result\": {\n    \"content\": [\n      {\n        \"type\": \"text\",\n        \"text\": \"@\"\n      }\n    ]\n  }\n}",
    ),
    answer(
        "{\"jsonrpc\":\"2.0\",\n\t\"id\":#,\n\t\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"@\"}]}}",
    ),
    answer(
        "{\n\"result\":{\"content\":[{\"type\":\"text\",\n\"text\":\"@\"}]},\n\"jsonrpc\":\"2.0\",\"id\":#}",
    ),
    answer(r#"[{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":"@"}]}}]"#),
    answer(r#"[INFO] {"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":"@"}]}}"#),
    answer(
        "Loading: 100%\r{\"jsonrpc\":\"2.0\",\"id\":#,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"@\"}]}}",
    ),
    answer(
        "Content-Length: 120\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":#,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"@\"}]}}",
    ),
    answer(r#"data: {"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":"@"}]}}"#),
    answer(
        r#"{"jsonrpc":"2.0","id":#,"result":{"tools":[{"name":"t","description":"@","inputSchema":{"type":"object"}}]}}"#,
    ),
    answer(
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":"@"},{"type":"text","text":"@"}]}}"#,
    ),
    answer(
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":"@"}],"isError":true}}"#,
    ),
    answer(
        r#"{"jsonrpc":"2.0","id":#,"result":{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":"@"}]}}"#,
    ),
    answer(
        r#"{"jsonrpc":"2.0","id":#,"result":{"messages":[{"role":"user","content":{"type":"text","text":"@"}}],"description":"p"}}"#,
    ),
    answer("{'jsonrpc': '2.0', 'id': #, 'result': {'content': [{'type': 'text', 'text': '@'}]}}"),
    answer(
        r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":"{\"body\":\"@\"}"}]}}"#,
    ),
    before_answer(
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"@"}}"#,
    ),
    before_answer(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"@"}}"#,
    ),
    before_answer(
        r#"{"jsonrpc":"2.0","id":"t1","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"@"}}],"maxTokens":9}}"#,
    ),
];

impl Template {
    /// Writes the answer to the request `id` with a document in it.
    pub fn fill(&self, id: &str, document: &str) -> String {
        self.text.replace('#', id).replace('@', document)
    }

    /// Returns the text after the first place of the document. A document that contains it ends the
    /// answer itself.
    pub fn rest(&self, id: &str) -> String {
        let rest = self.text.split_once('@').map_or("", |(_, rest)| rest);
        // Not with two places: the same document would be inserted twice, and end nothing.
        rest.replace('#', id).replace('@', "b")
    }
}

/// Kind of a line that content begins, for the rest of an answer to complete.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// A log line in JSON.
    Log,
    /// A log line in JSON, printed on several lines.
    Dump,
    /// A log line in JSON behind words.
    Words,
    /// A notification.
    Notification,
    /// A request.
    Request,
}

/// All kinds.
pub const OPENINGS: [Opening; 5] =
    [Opening::Log, Opening::Dump, Opening::Words, Opening::Notification, Opening::Request];

/// Returns the start of a line that `rest`, the end of an answer, completes: as many brackets as the rest
/// closes, and a string that it ends. Returns `None` for a rest that closes fewer than two.
pub fn opening(kind: Opening, rest: &str) -> Option<String> {
    let mut closed: Vec<char> = brackets_behind_string(rest)?;
    // The outermost two are those of the message and of its parameters.
    let (outer, inner) = (closed.pop()?, closed.pop()?);
    if (outer, inner) != ('}', '}') {
        return None;
    }
    let mut text = String::from(match kind {
        Opening::Log => r#"{"level":"info","data":{"#,
        Opening::Dump => "{\n  \"level\": \"info\",\n  \"data\": {",
        Opening::Words => r#"INFO fetched {"level":"info","data":{"#,
        Opening::Notification => {
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","#
        }
        Opening::Request => {
            r#"{"jsonrpc":"2.0","id":"d1","method":"sampling/createMessage","params":{"maxTokens":9,"#
        }
    });
    let mut is_object = true;
    for bracket in closed.into_iter().rev() {
        text.push_str(if is_object { r#""a":"# } else { "" });
        is_object = bracket == '}';
        text.push(if is_object { '{' } else { '[' });
    }
    text.push_str(if is_object { r#""a":""# } else { "\"" });
    Some(text)
}

/// Returns the brackets that a text closes behind the string in which it begins, innermost first. `None`
/// if it does not begin in a string.
fn brackets_behind_string(rest: &str) -> Option<Vec<char>> {
    let (mut closed, mut depth, mut inside) = (Vec::new(), 0_u32, true);
    for char in rest.chars() {
        match char {
            '"' => inside = !inside,
            _ if inside => {}
            '{' | '[' => depth += 1,
            '}' | ']' if depth > 0 => depth -= 1,
            '}' | ']' => closed.push(char),
            _ => {}
        }
    }
    (!inside && rest.starts_with('"')).then_some(closed)
}

/// Returns an end that closes the same brackets as `rest`, and may have other members.
pub fn other_rest(rest: &str, member: &str) -> Option<String> {
    let closed = brackets_behind_string(rest)?;
    let (last, inner) = closed.split_last()?;
    let inner: String = inner.iter().collect();
    Some(format!("\"{inner}{member}{last}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Quirks, parse};

    #[test]
    fn a_rest_completes_what_content_has_begun() {
        let rest = TEMPLATES[2].rest("3");
        for kind in OPENINGS {
            let text = format!("{}b{rest}", opening(kind, &rest).unwrap());
            let (value, quirks) =
                parse(text.trim_start_matches("INFO fetched ").as_bytes()).unwrap();
            assert!(quirks.is_empty(), "{text}: {quirks}");
            let is_message = matches!(kind, Opening::Notification | Opening::Request);
            assert_eq!(value.is_message(), is_message, "{text}");
        }
        assert_eq!(other_rest(&rest, ",\"x\":1").unwrap(), r#""}]},"x":1}"#);
        assert!(opening(Opening::Log, "'}]}}").is_none());
    }

    #[test]
    fn every_template_without_noise_is_an_answer_when_its_document_is_plain() {
        let mut plain = 0;
        for template in TEMPLATES {
            let text = template.fill("3", "hello");
            let text = text.get(text.find(['{', '[']).unwrap()..).unwrap();
            let Some((value, quirks)) = parse(text.trim_start_matches("[INFO] ").as_bytes()) else {
                panic!("{text}")
            };
            plain += usize::from(quirks.is_empty());
            assert!(Quirks::LOOSE.contains(quirks), "{text}: {quirks}");
            assert!(value.is_message() || text.starts_with('['), "{text}");
        }
        assert!(plain >= 20, "{plain}");
    }
}
