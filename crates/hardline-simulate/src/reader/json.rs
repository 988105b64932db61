//! A JSON parser that accepts everything that any modeled reader accepts, and records each
//! deviation from the standard.

use std::borrow::Cow;
use std::fmt;

use super::quirk::Quirks;

/// Limit on the nesting depth.
const MAX_DEPTH: usize = 200;
/// Keys of a JSON-RPC envelope.
const ENVELOPE: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// A JSON value with all its members, including equal keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(Cow<'a, str>),
    /// A string, with its escapes decoded.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object, in the order of the text.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Returns the last member with this key, if this is an object that has one.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(it, _)| it == key).map(|(_, value)| value)
    }

    /// Returns the text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the members, if this is an object.
    pub fn members(&self) -> &[(Cow<'a, str>, Json<'a>)] {
        if let Self::Object(members) = self { members } else { &[] }
    }

    /// Returns true for an object that some reader takes for a JSON-RPC message.
    pub fn is_message(&self) -> bool {
        let is_known = |key: &str| matches!(key, "jsonrpc" | "method" | "result" | "error");
        self.members().iter().any(|(key, _)| is_known(key) || folded(key).is_some_and(is_known))
    }
}

/// Writes the value in a canonical form, independent of its escapes and white space.
impl fmt::Display for Json<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Number(text) => out.write_str(text),
            Self::String(text) => write!(out, "{text:?}"),
            Self::Array(elements) => out.debug_list().entries(elements.iter().map(Plain)).finish(),
            Self::Object(members) => {
                out.debug_map().entries(members.iter().map(|(key, it)| (key, Plain(it)))).finish()
            }
        }
    }
}

struct Plain<'a, 'b>(&'a Json<'b>);

impl fmt::Debug for Plain<'_, '_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, out)
    }
}

/// Returns the envelope key that equals `key` if letter case is ignored, but differs from it.
pub(super) fn folded(key: &str) -> Option<&'static str> {
    let fold = |char: char| match char {
        // These two fold to ASCII letters in Unicode, and so in Go's `encoding/json`.
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        char => char.to_ascii_lowercase(),
    };
    let is_same = |name: &&&str| **name != key && key.chars().map(fold).eq(name.chars());
    ENVELOPE.iter().find(is_same).copied()
}

/// Parses a line. Returns `None` if no reader accepts it.
pub fn parse(line: &[u8]) -> Option<(Json<'_>, Quirks)> {
    let mut parser = Parser { text: line, at: 0, quirks: Quirks::NONE };
    if let Some(rest) = line.strip_prefix(b"\xef\xbb\xbf") {
        parser.text = rest;
        parser.quirks.add(Quirks::BOM);
    }
    parser.space();
    // A message or a batch: other values are no concern of any reader.
    if !matches!(parser.peek(), Some(b'{' | b'[')) {
        return None;
    }
    let value = parser.value(0)?;
    parser.space();
    if parser.at < parser.text.len() {
        parser.quirks.add(Quirks::TRAILING);
    }
    if std::str::from_utf8(line).is_err() {
        parser.quirks.add(Quirks::UTF8);
    }
    // Only the keys of an envelope matter, not those deeper in the message.
    let envelopes = match &value {
        Json::Array(elements) => elements.as_slice(),
        value => std::slice::from_ref(value),
    };
    let has_folded = envelopes.iter().flat_map(Json::members).any(|(key, _)| folded(key).is_some());
    if has_folded {
        parser.quirks.add(Quirks::FOLDED);
    }
    Some((value, parser.quirks))
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    quirks: Quirks,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    /// Skips white space and comments.
    fn space(&mut self) {
        loop {
            let skipped = match self.rest() {
                // White space of the standard; everything below is a deviation.
                [b' ' | b'\t' | b'\n' | b'\r', ..] => {
                    self.at += 1;
                    continue;
                }
                [0x0b | 0x0c, ..] => 1,
                [0xc2, 0x85 | 0xa0, ..] => 2,
                [0xe2, 0x80, 0xa8 | 0xa9, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
                [b'/', b'*', rest @ ..] => match rest.windows(2).position(|it| it == b"*/") {
                    Some(length) => length + 4,
                    None => return,
                },
                [b'/', b'/', ..] | [b'#', ..] => self.rest().len(),
                _ => return,
            };
            self.quirks.add(Quirks::LOOSE);
            self.at += skipped;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            quote @ (b'"' | b'\'') => self.string(quote).map(Json::String),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut elements = Vec::new();
        loop {
            self.space();
            if self.eat(b']') {
                // A comma before the closing bracket.
                if !elements.is_empty() {
                    self.quirks.add(Quirks::LOOSE);
                }
                return Some(Json::Array(elements));
            }
            elements.push(self.value(depth + 1)?);
            self.space();
            if self.eat(b']') {
                return Some(Json::Array(elements));
            }
            if !self.eat(b',') {
                return None;
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json<'a>> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.space();
            if self.eat(b'}') {
                // A comma before the closing brace.
                if !members.is_empty() {
                    self.quirks.add(Quirks::LOOSE);
                }
                return Some(self.finish(members));
            }
            let key = match self.peek()? {
                quote @ (b'"' | b'\'') => self.string(quote)?,
                _ => {
                    self.quirks.add(Quirks::LOOSE);
                    self.bare()?
                }
            };
            self.space();
            if !self.eat(b':') {
                return None;
            }
            self.space();
            members.push((key, self.value(depth + 1)?));
            self.space();
            if self.eat(b'}') {
                return Some(self.finish(members));
            }
            if !self.eat(b',') {
                return None;
            }
        }
    }

    fn finish(&mut self, members: Vec<(Cow<'a, str>, Json<'a>)>) -> Json<'a> {
        let mut rest = members.as_slice();
        while let [(key, _), others @ ..] = rest {
            if others.iter().any(|(it, _)| it == key) {
                self.quirks.add(Quirks::DUPLICATE);
            }
            rest = others;
        }
        Json::Object(members)
    }

    /// Reads a run of letters, digits and the signs of numbers.
    fn bare(&mut self) -> Option<Cow<'a, str>> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$+-.".contains(byte);
        let length = self.rest().iter().take_while(|it| is_part(it)).count();
        let text = self.text.get(self.at..self.at + length).filter(|it| !it.is_empty())?;
        self.at += length;
        Some(String::from_utf8_lossy(text))
    }

    fn word(&mut self) -> Option<Json<'a>> {
        let word = self.bare()?;
        Some(match &*word {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "NaN" | "Infinity" | "-Infinity" => {
                self.quirks.add(Quirks::NAN);
                Json::Number(word)
            }
            // Lenient readers accept bare words. Only their text matters here, not their type.
            _ => {
                if !is_number(word.as_bytes()) {
                    self.quirks.add(Quirks::LOOSE);
                }
                Json::Number(word)
            }
        })
    }

    fn string(&mut self, quote: u8) -> Option<Cow<'a, str>> {
        if quote != b'"' {
            self.quirks.add(Quirks::LOOSE);
        }
        self.at += 1;
        let start = self.at;
        let is_end = |byte: &u8| *byte == quote || *byte == b'\\' || *byte < 0x20;
        let plain = self.rest().iter().position(is_end)?;
        self.at += plain;
        let text = self.text.get(start..self.at).unwrap_or_default();
        // Most strings have no escapes and are borrowed.
        if self.eat(quote) {
            return Some(String::from_utf8_lossy(text));
        }
        let mut bytes = text.to_vec();
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'\\' => self.escape(&mut bytes)?,
                _ if byte == quote => break,
                _ => {
                    if byte < 0x20 {
                        self.quirks.add(Quirks::LOOSE);
                    }
                    bytes.push(byte);
                }
            }
        }
        Some(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        let char = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => self.unicode()?,
            // Lenient readers drop the backslash of an unknown escape.
            _ => {
                self.quirks.add(Quirks::LOOSE);
                char::from(byte)
            }
        };
        bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        Some(())
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if let Some(char) = char::from_u32(first) {
            return Some(char);
        }
        let before = self.at;
        if first < 0xdc00 && self.rest().starts_with(b"\\u") {
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                return char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
        }
        // Half a pair: the next escape is read again on its own.
        self.at = before;
        self.quirks.add(Quirks::SURROGATE);
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }
}

/// Returns true if the text is a number as the standard writes them.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|it| it.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || whole > 1 && rest.starts_with(b"0") {
        return false;
    }
    rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            exponent => exponent,
        };
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use hardline_testkit::generate::{Rng, message, mutate};

    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str, quirks: Quirks) {
        let (value, found) = parse(line.as_bytes()).unwrap();
        assert_eq!((value.to_string().as_str(), found), (expected, quirks), "{line}");
    }

    #[test]
    fn reads_strict_and_loose_json() {
        check(
            r#" { "a" : [ 1 , -2.5E+3 , true , null ] , "b" : "\u00e9\ud83d\ude00\n" } "#,
            r#"{"a": [1, -2.5E+3, true, null], "b": "é😀\n"}"#,
            Quirks::NONE,
        );
        check("{'a': None}", r#"{"a": None}"#, Quirks::LOOSE);
        check("{a:1,}//x", r#"{"a": 1}"#, Quirks::LOOSE);
        check("[NaN]", "[NaN]", Quirks::NAN);
        check("[01]", "[01]", Quirks::LOOSE);
        check("[\"a\u{1}\"]", r#"["a\u{1}"]"#, Quirks::LOOSE);
        check("[1]]", "[1]", Quirks::TRAILING);
        assert!(parse(b"{\"a\":1").is_none());
        assert!(parse(b"log {}").is_none());
        assert!(parse("[".repeat(10_000).as_bytes()).is_none());
    }

    #[test]
    fn calls_strict_what_another_strict_parser_accepts() {
        let mut rng = Rng::new(15);
        let limits = hardline_wire::limits::Limits::default();
        let mut checker = hardline_wire::json::Checker::new(&limits);
        let mut strict = 0;
        for _ in 0..20_000 {
            let mut text = message(&mut rng).into_bytes();
            if rng.one_in(2) {
                mutate(&mut rng, &mut text);
            }
            let quirks = parse(&text).map(|(_, quirks)| quirks);
            let is_accepted = checker.check(&text).is_ok();
            let is_strict = quirks.is_some_and(|it| Quirks::FOLDED.contains(it));
            let is_structure = matches!(text.trim_ascii().first(), Some(b'{' | b'['));
            strict += usize::from(is_strict);
            assert_eq!(is_strict, is_accepted && is_structure, "{}", text.escape_ascii());
        }
        assert!(strict > 5_000, "{strict}");
    }
}
