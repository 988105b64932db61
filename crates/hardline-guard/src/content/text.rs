//! What a JSON string stands for, and where each of its characters is written.

use std::borrow::Cow;
use std::ops::Range;

use hardline_wire::json::Value;
use memchr::memchr;

/// A string, unescaped, that remembers where it came from.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    content: Cow<'a, str>,
    /// Where the string's first character is written.
    start: usize,
    /// After each escape: how far it is in `content`, and where it is written. Between two of them,
    /// bytes are written as they are.
    marks: Vec<(usize, usize)>,
}

impl<'a> Text<'a> {
    /// Reads a string of a checked value; `None` for any other value.
    pub(crate) fn read(string: Value<'a>) -> Option<Self> {
        let raw = string.text().strip_prefix('"')?.strip_suffix('"')?;
        let start = string.offset() + 1;
        let Some(first) = memchr(b'\\', raw.as_bytes()) else {
            return Some(Self { content: Cow::Borrowed(raw), start, marks: Vec::new() });
        };
        let mut content = String::with_capacity(raw.len());
        let (mut marks, mut at, mut next) = (Vec::new(), 0, Some(first));
        while let Some(escape) = next {
            content.push_str(raw.get(at..escape)?);
            let (char, length) = unescape(raw.as_bytes().get(escape + 1..)?)?;
            content.push(char);
            at = escape + 1 + length;
            marks.push((content.len(), start + at));
            next = memchr(b'\\', raw.as_bytes().get(at..)?).map(|found| at + found);
        }
        content.push_str(raw.get(at..)?);
        Some(Self { content: Cow::Owned(content), start, marks })
    }

    /// What it stands for.
    pub(crate) fn content(&self) -> &str {
        &self.content
    }

    /// Where a part of the content, from and to the start of a character, is written in the frame.
    pub(crate) fn written(&self, range: &Range<usize>) -> Range<usize> {
        self.written_at(range.start)..self.written_at(range.end)
    }

    fn written_at(&self, at: usize) -> usize {
        let before = self.marks.partition_point(|(content, _)| *content <= at);
        let mark = before.checked_sub(1).and_then(|index| self.marks.get(index));
        let (content, written) = mark.copied().unwrap_or((0, self.start));
        written + (at - content)
    }
}

/// Reads what follows a backslash: the character, and how many bytes it took.
fn unescape(rest: &[u8]) -> Option<(char, usize)> {
    let plain = match rest.first()? {
        b'u' => {
            let unit = hex(rest.get(1..5)?)?;
            if !(0xd800..0xdc00).contains(&unit) {
                return Some((char::from_u32(unit)?, 5));
            }
            // A checked value has no half of a pair.
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
            let text = Text::read(checked.value).unwrap();
            assert_eq!(text.content(), checked.value.as_str().unwrap());
            let content = text.content().to_owned();
            for (at, char) in content.char_indices() {
                let written = json.get(text.written(&(at..at + char.len_utf8()))).unwrap();
                let alone: String = serde_json::from_str(&format!("\"{written}\"")).unwrap();
                assert_eq!(alone, char.to_string(), "{json} at {at}: {written}");
            }
            assert_eq!(text.written(&(0..content.len())), 1..json.len() - 1);
        }
    }
}
