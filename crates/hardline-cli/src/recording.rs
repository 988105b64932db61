//! Parses the lines of a recording, with the position of each recorded byte in the file.
//!
//! `{"time":"2026-11-15T22:22:38.123Z","session":"1","direction":"server-to-client","raw":"…",
//! "verdict":"passed"}`, with `raw_base64` in place of `raw` if the line is not UTF-8, `length` if
//! only its beginning was stored, and `left_out` if lines before it are missing.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use hardline_guard::Direction;
use hardline_proxy::Verdict;
use hardline_wire::json::{Checker, Value};
use hardline_wire::limits::Limits;
use memchr::memchr;

/// A line of a recording.
#[derive(Debug)]
pub(crate) struct Recorded<'a> {
    pub(crate) direction: Direction,
    /// Time since 1970, if the line has one.
    pub(crate) time: Option<Duration>,
    /// Session in the file that the line belongs to.
    #[cfg_attr(not(unix), allow(dead_code, reason = "replays are for Unix"))]
    pub(crate) session: Cow<'a, str>,
    /// Verdict, if the line has one.
    #[cfg_attr(not(unix), allow(dead_code, reason = "replays are for Unix"))]
    pub(crate) verdict: Option<Verdict>,
    /// True if only the beginning was stored.
    #[cfg_attr(not(unix), allow(dead_code, reason = "replays are for Unix"))]
    pub(crate) is_cut: bool,
    /// Number of missing lines before this one.
    #[cfg_attr(not(unix), allow(dead_code, reason = "replays are for Unix"))]
    pub(crate) left_out: u64,
    /// Bytes that the peer sent.
    pub(crate) raw: Cow<'a, [u8]>,
    pub(crate) written: Written,
}

/// Position of the peer's bytes in the line of the file.
#[derive(Clone, Debug)]
pub(crate) enum Written {
    /// Byte for byte, except for escapes.
    Escaped {
        start: usize,
        /// For each escape: the offset after it in the content, and in the written text.
        marks: Vec<(usize, usize)>,
    },
    /// Somewhere in this range; base64 has no byte positions.
    Within(Range<usize>),
}

/// Returns the limits for the lines of a recording whose frames obey `limits`. Escapes make lines
/// longer: twice as long if every character needs one.
pub(crate) fn file_limits(limits: &Limits) -> Limits {
    // A recorded line is longer in the file, because it is escaped.
    let longest = limits.max_frame_bytes().saturating_mul(2).saturating_add(64 << 10);
    let limits = limits.clone();
    // Above the ceiling, the limits stay as they are.
    limits.clone().with_max_frame_bytes(longest).unwrap_or(limits)
}

impl<'a> Recorded<'a> {
    /// Parses a line. Returns `None` if it is not a line of a recording.
    pub(crate) fn read(checker: &mut Checker, line: &'a [u8]) -> Option<Self> {
        // Strict parsing gives the exact position of each value.
        let checked = checker.check(line).ok()?;
        let (mut direction, mut time, mut raw, mut base64) = (None, None, None, None);
        let (mut session, mut verdict, mut is_cut, mut left_out) = (Cow::default(), None, false, 0);
        for (key, value) in checked.value.members() {
            match &*key {
                "direction" => direction = value.as_str(),
                "time" => time = value.as_str().and_then(|it| parse_time(&it)),
                "raw" => raw = Some(value),
                "raw_base64" => base64 = Some(value),
                "session" => session = value.as_str().unwrap_or_default(),
                "verdict" => verdict = value.as_str().and_then(|name| read_verdict(&name)),
                "length" => is_cut = true,
                "left_out" => left_out = value.text().parse().unwrap_or(0),
                // A recorder of a later version may write further members.
                _ => {}
            }
        }
        let sides = [Direction::ClientToServer, Direction::ServerToClient];
        let direction = sides.into_iter().find(|it| Some(it.name()) == direction.as_deref())?;
        let (raw, written) = match (raw, base64) {
            (Some(raw), _) => read_escaped(raw)?,
            (None, base64) => read_base64(base64?)?,
        };
        Some(Self { direction, time, session, verdict, is_cut, left_out, raw, written })
    }
}

impl Written {
    /// Returns the heap size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Escaped { marks, .. } => size_of_val(marks.as_slice()),
            Self::Within(_) => 0,
        }
    }

    /// Returns the position of a range of the peer's bytes in the file's line.
    pub(crate) fn find(&self, range: &Range<usize>) -> Range<usize> {
        match self {
            Self::Escaped { start, marks } => {
                // Between two escapes, content and file advance byte by byte.
                let place = |at: usize| {
                    let before = marks.partition_point(|(content, _)| *content <= at);
                    let mark = before.checked_sub(1).and_then(|index| marks.get(index));
                    let (content, written) = mark.copied().unwrap_or_default();
                    start + written + (at - content)
                };
                place(range.start)..place(range.end)
            }
            Self::Within(range) => range.clone(),
        }
    }
}

fn read_escaped(value: Value<'_>) -> Option<(Cow<'_, [u8]>, Written)> {
    let raw = match value.as_str()? {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    let text = value.text().strip_prefix('"')?.strip_suffix('"')?.as_bytes();
    let (mut marks, mut content, mut at) = (Vec::new(), 0, 0);
    while let Some(plain) = memchr(b'\\', text.get(at..)?) {
        let escape = text.get(at + plain + 1..)?;
        let (written, length) = match escape.first()? {
            b'u' => match u32::from_str_radix(str::from_utf8(escape.get(1..5)?).ok()?, 16).ok()? {
                // `\u0041` is six bytes in the file and one byte of UTF-8.
                ..0x80 => (6, 1),
                0x80..0x800 => (6, 2),
                // A surrogate pair; the checker has refused single surrogates.
                0xd800..0xdc00 => (12, 4),
                _ => (6, 3),
            },
            _ => (2, 1),
        };
        content += plain + length;
        at += plain + written;
        marks.push((content, at));
    }
    Some((raw, Written::Escaped { start: value.offset() + 1, marks }))
}

fn read_base64(value: Value<'_>) -> Option<(Cow<'_, [u8]>, Written)> {
    let raw = STANDARD.decode(value.as_str()?.as_bytes()).ok()?;
    let start = value.offset();
    Some((Cow::Owned(raw), Written::Within(start..start + value.text().len())))
}

fn read_verdict(name: &str) -> Option<Verdict> {
    let all = [Verdict::Passed, Verdict::Sanitized, Verdict::Blocked, Verdict::Answered];
    all.into_iter().find(|verdict| verdict.name() == name)
}

/// Parses an RFC 3339 time in UTC. Returns the time since 1970.
fn parse_time(text: &str) -> Option<Duration> {
    // Recordings are in UTC. Another offset is no time of ours.
    let time = DateTime::parse_from_rfc3339(text.ends_with('Z').then_some(text)?).ok()?;
    time.signed_duration_since(DateTime::UNIX_EPOCH).to_std().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Recorded<'_>> {
        Recorded::read(&mut Checker::new(&Limits::default()), line.as_bytes())
    }

    #[test]
    fn finds_each_character_where_it_is_written() {
        let line = r#"{"time":"x","raw":"a\n\"b\u0041é\u00e9\ud83d\ude00\u2028\/z","direction":"server-to-client"}"#;
        let recorded = read(line).unwrap();
        let raw = str::from_utf8(&recorded.raw).unwrap();
        assert_eq!(raw, "a\n\"bAéé😀\u{2028}/z");
        for (at, char) in raw.char_indices() {
            let written = recorded.written.find(&(at..at + char.len_utf8()));
            let alone: String =
                serde_json::from_str(&format!("\"{}\"", line.get(written).unwrap())).unwrap();
            assert_eq!(alone, char.to_string());
        }
        assert_eq!((recorded.direction, recorded.time), (Direction::ServerToClient, None));
    }

    #[test]
    fn what_is_no_text_comes_as_base64() {
        let line = r#"{"direction":"client-to-server","raw_base64":"/2E="}"#;
        let recorded = read(line).unwrap();
        assert_eq!(&*recorded.raw, b"\xffa");
        assert_eq!(line.get(recorded.written.find(&(1..2))), Some("\"/2E=\""));
        assert_eq!(recorded.direction, Direction::ClientToServer);
    }

    #[test]
    fn says_which_session_and_what_became_of_it() {
        let line = r#"{"session":"a","direction":"client-to-server","raw":"x","verdict":"answered","length":9,"left_out":2}"#;
        let recorded = read(line).unwrap();
        assert_eq!((&*recorded.session, recorded.verdict), ("a", Some(Verdict::Answered)));
        assert!(recorded.is_cut && recorded.left_out == 2);
        let other =
            read(r#"{"direction":"client-to-server","raw":"x","verdict":{"a":1}}"#).unwrap();
        assert_eq!((&*other.session, other.verdict), ("", None));
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            r#"{"direction":"up","raw":"a"}"#,
            r#"{"raw":"a"}"#,
            r#"{"direction":"server-to-client"}"#,
            r#"{"direction":"server-to-client","raw":1}"#,
            r#"{"direction":"server-to-client","raw_base64":"?"}"#,
            r#"{"direction":"server-to-client","raw":"a"} x"#,
            "[]",
        ] {
            assert!(read(line).is_none(), "{line}");
        }
    }

    #[test]
    fn reads_times() {
        #[track_caller]
        fn check(text: &str, expected: Option<u64>) {
            assert_eq!(parse_time(text), expected.map(Duration::from_millis), "{text}");
        }
        check("1970-01-01T00:00:00Z", Some(0));
        check("2000-02-29T12:30:15.500Z", Some(951_827_415_500));
        check("2026-11-15T22:22:38.125Z", Some(1_794_781_358_125));
        check("2100-03-01T00:00:00Z", Some(4_107_542_400_000));
        for text in ["", "now", "2026-11-15", "2026-13-15T22:22:38Z", "2026-11-15T22:22:38+01:00"] {
            check(text, None);
        }
        check("1970-01-01T00:00:NaNZ", None);
    }
}
