//! Decoded JSON strings, with a mapping from each character to its bytes in the frame.

use std::ops::Range;

use hardline_wire::json::Value;
use memchr::memchr;

/// A string of a checked value, unescaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unescaped<'a> {
    content: &'a str,
    /// The source text, without its quotes.
    raw: &'a str,
    /// Offset of `raw` in the frame.
    start: usize,
}

impl<'a> Unescaped<'a> {
    /// Decodes a string, using `buffer` if it has escapes. Returns `None` for any other value.
    pub(crate) fn read<'b: 'a>(string: Value<'b>, buffer: &'a mut String) -> Option<Self> {
        let raw = string.text().strip_prefix('"')?.strip_suffix('"')?;
        let start = string.offset() + 1;
        // Most strings have no escapes and are borrowed.
        let Some(first) = memchr(b'\\', raw.as_bytes()) else {
            return Some(Self { content: raw, raw, start });
        };
        buffer.clear();
        for_each_escape(raw, first, |before, char, _| {
            buffer.push_str(before);
            buffer.extend(char);
        })?;
        Some(Self { content: buffer, raw, start })
    }

    /// Returns the decoded text.
    pub(crate) fn content(&self) -> &'a str {
        self.content
    }

    /// Returns the mapping to the source. Compute it once and use it for all parts.
    pub(crate) fn origin(&self) -> Origin {
        let (mut marks, mut length) = (Vec::new(), 0);
        if self.raw.len() != self.content.len() {
            // Every escape is longer than its character, so equal lengths mean that there are none.
            let first = memchr(b'\\', self.raw.as_bytes()).unwrap_or(self.raw.len());
            for_each_escape(self.raw, first, |before, char, end| {
                length += before.len() + char.map_or(0, char::len_utf8);
                marks.push((length, self.start + end));
            });
        }
        Origin { start: self.start, marks }
    }
}

/// Maps positions in the decoded text to positions in the frame.
#[derive(Debug)]
pub(crate) struct Origin {
    /// Offset of the first character in the frame.
    start: usize,
    /// For each escape, the positions right after it: in the decoded text and in the frame. Between
    /// two escapes, bytes map one to one.
    marks: Vec<(usize, usize)>,
}

impl Origin {
    /// Returns the range in the frame of a part of the decoded text. The part must start and end at
    /// a character boundary.
    pub(crate) fn written(&self, range: &Range<usize>) -> Range<usize> {
        self.written_at(range.start)..self.written_at(range.end)
    }

    fn written_at(&self, at: usize) -> usize {
        // The last escape before the position; from there on, bytes map one to one.
        let before = self.marks.partition_point(|(content, _)| *content <= at);
        let mark = before.checked_sub(1).and_then(|index| self.marks.get(index));
        let (content, written) = mark.copied().unwrap_or((0, self.start));
        written + (at - content)
    }
}

/// Calls `take` for each escape of `raw`, starting with the one at `first`: with the plain text
/// before it, the character, and its end. The rest of the text comes last, without a character.
fn for_each_escape(
    raw: &str,
    first: usize,
    mut take: impl FnMut(&str, Option<char>, usize),
) -> Option<()> {
    let (mut at, mut next) = (0, Some(first));
    while let Some(escape) = next.filter(|it| *it < raw.len()) {
        let (char, length) = unescape(raw.as_bytes().get(escape + 1..)?)?;
        let before = raw.get(at..escape)?;
        at = escape + 1 + length;
        take(before, Some(char), at);
        next = memchr(b'\\', raw.as_bytes().get(at..)?).map(|found| at + found);
    }
    take(raw.get(at..)?, None, raw.len());
    Some(())
}

/// Decodes the escape after a backslash. Returns the character and the length in bytes.
fn unescape(rest: &[u8]) -> Option<(char, usize)> {
    let plain = match rest.first()? {
        b'u' => {
            let unit = hex(rest.get(1..5)?)?;
            if !(0xd800..0xdc00).contains(&unit) {
                return Some((char::from_u32(unit)?, 5));
            }
            // A checked value has no lone surrogates, so the low half follows.
            let low = hex(rest.get(7..11)?)?;
            let code = 0x1_0000 + ((unit - 0xd800) << 10) + low.checked_sub(0xdc00)?;
            return Some((char::from_u32(code)?, 11));
        }
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        other => char::from(*other),
    };
    Some((plain, 1))
}

fn hex(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use hardline_wire::json::Checker;
    use hardline_wire::limits::Limits;

    use super::*;

    #[test]
    fn finds_each_character_where_it_is_written() {
        for json in [
            r#""plain""#,
            r#""""#,
            r#""\n""#,
            r#""a\nb\u0041\/\\c\ud83d\ude00d\"""#,
            r#""\u0000ü\u2028\t""#,
        ] {
            let checked = Checker::new(&Limits::default()).check(json.as_bytes()).unwrap();
            let mut buffer = String::new();
            let text = Unescaped::read(checked.value, &mut buffer).unwrap();
            assert_eq!(text.content(), checked.value.as_str().unwrap());
            let (content, origin) = (text.content(), text.origin());
            for (at, char) in content.char_indices() {
                let written = json.get(origin.written(&(at..at + char.len_utf8()))).unwrap();
                let alone: String = serde_json::from_str(&format!("\"{written}\"")).unwrap();
                assert_eq!(alone, char.to_string(), "{json} at {at}: {written}");
            }
            assert_eq!(origin.written(&(0..content.len())), 1..json.len() - 1);
        }
    }
}
