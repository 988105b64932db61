//! Detects the kind of a file from its beginning.

use hardline_wire::limits::Limits;
use hardline_wire::recover::{Ending, recover};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Kind of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Text,
    /// Not readable as text, such as an image.
    Binary,
    /// One JSON-RPC message per line, of either side.
    Transcript,
    /// Written by `hardline wrap --record`: a line, its sender and its time.
    Recording,
}

/// Kind of a line that is not plain text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Line {
    Message,
    Recorded,
}

/// Members that identify a line. Its validity is judged later.
#[derive(Deserialize)]
struct Members {
    jsonrpc: Option<IgnoredAny>,
    direction: Option<Side>,
    raw: Option<IgnoredAny>,
    raw_base64: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Side {
    ClientToServer,
    ServerToClient,
}

impl Kind {
    /// Detects the kind of a file from its first bytes; `is_whole` if there are no more. A
    /// transcript has on every line that is not blank a JSON object with `jsonrpc`, or a line of a
    /// recording.
    pub(super) fn of(head: &[u8], is_whole: bool) -> Self {
        let mut kind = None;
        for (line, is_line_whole) in lines(head, is_whole) {
            let line = Line::of(line, is_line_whole).or_else(|| {
                // The recorder may have been killed while it wrote the last line.
                let is_last = kind == Some(Self::Recording) && head.ends_with(line);
                Line::of_beginning(line).filter(|_| is_last)
            });
            let Some(line) = line else {
                // Text does not contain NUL.
                let is_binary = memchr::memchr(0, head).is_some();
                return if is_binary { Self::Binary } else { Self::Text };
            };
            // The first line decides between the two kinds of files with lines.
            kind.get_or_insert(line.kind());
        }
        kind.unwrap_or(Self::Text)
    }

    /// Detects the kind of a file that the user calls a transcript.
    pub(super) fn of_transcript(head: &[u8], is_whole: bool) -> Self {
        // The first line decides: the user has said that the file consists of messages.
        let first = lines(head, is_whole).next();
        let line = first.and_then(|(line, is_whole)| Line::of(line, is_whole));
        line.map_or(Self::Transcript, Line::kind)
    }

    /// Returns the name in singular and plural.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Text => ("text", "texts"),
            Self::Binary => ("binary file", "binary files"),
            Self::Transcript => ("transcript", "transcripts"),
            Self::Recording => ("recording", "recordings"),
        }
    }
}

/// Returns the lines that are not blank, and if each is whole. The last one is skipped if there are
/// others and it may continue.
fn lines(head: &[u8], is_whole: bool) -> impl Iterator<Item = (&[u8], bool)> {
    head.split_inclusive(|byte| *byte == b'\n').filter_map(move |line| {
        let is_line_whole = is_whole || line.ends_with(b"\n");
        // A single cut line is all there is, so it must decide.
        let is_told = is_line_whole || line.len() == head.len();
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        (is_told && !line.is_empty()).then_some((line, is_line_whole))
    })
}

impl Line {
    fn of(line: &[u8], is_whole: bool) -> Option<Self> {
        // A text that quotes a message is no transcript.
        if line.first() != Some(&b'{') {
            return None;
        }
        if !is_whole {
            return Self::of_beginning(line);
        }
        let members: Members = serde_json::from_slice(line).ok()?;
        if members.jsonrpc.is_some() {
            return Some(Self::Message);
        }
        let has_raw = members.raw.is_some() || members.raw_base64.is_some();
        (has_raw && members.direction.is_some()).then_some(Self::Recorded)
    }

    /// Detects the kind of a very long line from its beginning.
    fn of_beginning(line: &[u8]) -> Option<Self> {
        if [&b"{\"time\":\""[..], b"{\"direction\":\""].iter().any(|it| line.starts_with(it)) {
            return Some(Self::Recorded);
        }
        // A cut line is not valid JSON, so its envelope is recovered.
        let mut messages = recover(line, Ending::Cut, &Limits::default());
        let message = messages.next()?;
        let is_message = message.has_jsonrpc || message.id.is_some();
        (is_message && messages.next().is_none()).then_some(Self::Message)
    }

    fn kind(self) -> Kind {
        match self {
            Self::Message => Kind::Transcript,
            Self::Recorded => Kind::Recording,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &str, expected: Kind) {
        assert_eq!(Kind::of(head.as_bytes(), true), expected, "{head}");
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    const RECORDED: &str =
        r#"{"time":"2026-01-01T00:00:00Z","direction":"server-to-client","raw":"x"}"#;

    #[test]
    fn a_transcript_has_messages_on_all_its_lines() {
        check(PING, Kind::Transcript);
        check(&format!("\u{feff}{PING}\r\n\n  \n{PING}\n"), Kind::Transcript);
        check(&format!("{PING}\nhello\n"), Kind::Text);
        check(&format!("{PING}{PING}\n"), Kind::Text);
        check(&format!("[{PING}]\n"), Kind::Text);
        check("", Kind::Text);
        check("\n\n", Kind::Text);
        check("{\"a\":1}\n", Kind::Text);
        // An invalid message is still a message here; the scan reports it.
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":"\ud800"}}"#, Kind::Transcript);
    }

    #[test]
    fn a_recording_has_lines_with_a_direction() {
        check(RECORDED, Kind::Recording);
        check(&RECORDED.replace("raw", "raw_base64"), Kind::Recording);
        check(&format!("{RECORDED}\n{PING}\n"), Kind::Recording);
        let (cut, _) = RECORDED.split_at(50);
        check(&format!("{RECORDED}\n{cut}"), Kind::Recording);
        check(&format!("{RECORDED}\n{cut}\n"), Kind::Text);
        check(&RECORDED.replace("server-to-client", "up"), Kind::Text);
        check(&RECORDED.replace("raw", "line"), Kind::Text);
        assert_eq!(Kind::of_transcript(RECORDED.as_bytes(), true), Kind::Recording);
        assert_eq!(Kind::of_transcript(b"hello\n", true), Kind::Transcript);
    }

    #[test]
    fn a_line_that_is_cut_is_told_by_its_beginning() {
        let cut = |head: &str| Kind::of(head.as_bytes(), false);
        assert_eq!(cut(&format!("{PING}\n{{\"jso")), Kind::Transcript);
        assert_eq!(cut(r#"{"jsonrpc":"2.0","id":1,"result":{"text":"aaa"#), Kind::Transcript);
        assert_eq!(cut(r#"{"id":1,"result":{"text":"aaa"#), Kind::Transcript);
        assert_eq!(
            cut(r#"{"time":"2026","direction":"server-to-client","raw":"aaa"#),
            Kind::Recording
        );
        assert_eq!(cut(r#"{"name":"a package","version":"aaa"#), Kind::Text);
        assert_eq!(cut("plain text"), Kind::Text);
    }

    #[test]
    fn bytes_that_nobody_reads_are_binary() {
        check("\u{89}PNG\r\n\0\0", Kind::Binary);
    }
}
