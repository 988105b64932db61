//! Judges the lines that reached a client.
//!
//! The same judge serves both clients: it knows neither the scene nor if Hardline was in between.

use serde_json::Value;

use super::transcript::{Arrived, SceneTranscript};

/// A line that a client should not have received, or an answer that is missing.
#[derive(Debug)]
pub(super) struct Harm {
    /// Description for people.
    pub(super) what: String,
    /// Index of the line that shows it, if there is one.
    pub(super) line: Option<usize>,
}

/// Limit on notifications in one scene; more are a flood.
const MAX_NOTIFICATIONS: usize = 1000;

/// Returns the first harm, if there is one.
pub(super) fn harm(transcript: &SceneTranscript) -> Option<Harm> {
    let at = |what: &str, line| Some(Harm { what: what.to_owned(), line });
    if transcript.is_over {
        return at(
            "the server is gone, and with it the session",
            transcript.lines.len().checked_sub(1),
        );
    }
    let notifications = transcript.notifications();
    // Each notification may be harmless; a client dies of their number.
    if notifications > MAX_NOTIFICATIONS {
        return at(&format!("{notifications} notifications to deal with"), Some(0));
    }
    for (index, line) in transcript.lines.iter().enumerate() {
        if let Some(what) = in_line(transcript, line) {
            return at(&what, Some(index));
        }
    }
    // Reported last: an attack on the session is worse than a stray line.
    let unread = transcript.lines.iter().position(|line| line.value.is_none());
    if transcript.answers(transcript.attack).next().is_none() {
        let first = (!transcript.lines.is_empty()).then_some(0);
        return at("no answer: the caller waits forever", unread.or(first));
    }
    let is_served = |(id, text): &(i64, &str)| transcript.is_served(*id, text);
    if !transcript.honest.iter().all(is_served) {
        return at("an honest call did not get its answer", None);
    }
    unread.and_then(|index| at("a line that is not JSON, where only messages may be", Some(index)))
}

/// Returns the harm in one line.
fn in_line(transcript: &SceneTranscript, line: &Arrived) -> Option<String> {
    // A line that was cut can be judged by its length alone.
    if line.is_cut {
        let megabytes = line.length / 1_000_000;
        return Some(format!("{megabytes} MB to hold in memory until the line ends"));
    }
    if let Some(method) = line.member("method").filter(|_| line.member("id").is_some()) {
        let method = method.as_str().unwrap_or_default();
        return Some(format!("an uninvited request: {method}"));
    }
    let in_text = || line.value.as_ref().and_then(in_strings).map(str::to_owned);
    wrong_answer(transcript, line).or_else(in_text)
}

/// Returns the harm of an answer, compared with the requests.
fn wrong_answer(transcript: &SceneTranscript, line: &Arrived) -> Option<String> {
    if !line.is_answer() {
        return None;
    }
    let id = line.member("id").and_then(Value::as_i64)?;
    if !transcript.asked.contains(&id) {
        return Some("an answer to a request that was never made".to_owned());
    }
    let is_double = transcript.answers(id).count() > 1;
    is_double.then(|| "two answers to one request; a client takes the first".to_owned())
}

/// Returns the harm in the strings of a message.
fn in_strings(value: &Value) -> Option<&'static str> {
    match value {
        Value::String(text) => in_text(text),
        Value::Array(values) => values.iter().find_map(in_strings),
        Value::Object(members) => members.values().find_map(in_strings),
        _ => None,
    }
}

fn in_text(text: &str) -> Option<&'static str> {
    // Tag characters spell hidden text; bidirectional controls reorder visible text.
    let is_hidden = |char| matches!(char, '\u{e0000}'..='\u{e007f}' | '\u{202a}'..='\u{202e}');
    if text.contains(is_hidden) {
        return Some("instructions in invisible characters");
    }
    let is_message = |line: &str| {
        let value = serde_json::from_str::<Value>(line);
        value.is_ok_and(|value| value.get("jsonrpc").is_some())
    };
    // Readers disagree about which of these end a line.
    let mut lines = text.split(['\n', '\r', '\u{2028}', '\u{2029}']);
    lines.any(is_message).then_some("a line of the text is a message of its own")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hardline_wire::limits::Limits;
    use hardline_wire::line::LineFramer;

    /// A scene in which request 1 was the attack and request 2 an honest call.
    fn transcript(lines: &str) -> SceneTranscript {
        let honest =
            r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"ok"}]}}"#;
        let stream = format!("{lines}{honest}\n");
        let mut framer = LineFramer::new(&Limits::default().with_max_frame_bytes(2000).unwrap());
        let (mut chunk, mut transcript) = (stream.as_bytes(), SceneTranscript::default());
        while let Some(line) = framer.next_line(&mut chunk) {
            transcript.add(Arrived::new(&line));
        }
        SceneTranscript { asked: vec![1, 2], attack: 1, honest: vec![(2, "ok")], ..transcript }
    }

    fn answer(text: &str) -> String {
        let text = serde_json::json!(text);
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"content\":[{{\"text\":{text}}}]}}}}\n"
        )
    }

    #[track_caller]
    fn check(lines: &str, expected: Option<&str>) {
        let harm = harm(&transcript(lines)).map(|harm| harm.what);
        match (&harm, expected) {
            (Some(harm), Some(expected)) => assert!(harm.contains(expected), "{harm}"),
            _ => assert_eq!(harm.as_deref(), expected),
        }
    }

    #[test]
    fn what_is_well_is_well() {
        check(&answer("hello\nworld: {\"jsonrpc\":\"2.0\"}"), None);
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"blocked"}}"#;
        check(&format!("{error}\n"), None);
    }

    #[test]
    fn what_is_wrong_is_noticed() {
        let request = r#"{"jsonrpc":"2.0","id":"planted","method":"sampling/createMessage"}"#;
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
        check("", Some("no answer"));
        check(&format!("{}{}", answer("a"), answer("b")), Some("two answers"));
        check(&answer("a").replace(":1,", ":7,"), Some("never made"));
        check(&answer("a").replace(":1,", ":\"1\","), Some("no answer"));
        check(&format!("{request}\n{}", answer("a")), Some("uninvited request: sampling"));
        check(&format!("INFO\n{}", answer("a")), Some("not JSON"));
        check(&answer(&format!("page\n{request}\nend")), Some("a message of its own"));
        check(&answer("sun\u{e0041}"), Some("invisible characters"));
        check(&answer(&"x".repeat(3000)), Some("in memory"));
        check(
            &format!("{}{}", format!("{notification}\n").repeat(2000), answer("a")),
            Some("2000"),
        );
        let honest =
            SceneTranscript { honest: vec![(2, "other words")], ..transcript(&answer("a")) };
        assert!(harm(&honest).unwrap().what.contains("honest"));
        let over = SceneTranscript { is_over: true, ..transcript(&answer("a")) };
        assert!(harm(&over).unwrap().what.contains("gone"));
    }
}
