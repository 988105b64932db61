//! Encoding of replies, each on one line for every line reader.
//!
//! A line ends with `\n` and has no other character that any reader takes for a line end. Newlines
//! between the tokens of a result become spaces; NEL, U+2028, U+2029 and all control characters in
//! strings become equivalent escapes.

use std::fmt::Write;

use crate::id::Id;
use crate::json::Value;
use crate::version::Version;

/// Error codes of JSON-RPC and MCP.
pub mod code {
    /// The line is not strict JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The line is JSON, but not a JSON-RPC message that may be sent here.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The method does not take these parameters.
    pub const INVALID_PARAMS: i64 = -32602;
    /// A failure that the caller did not cause. All of Hardline's own errors use it.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// 2026-07-28: an HTTP header and the body differ.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// 2026-07-28: the client lacks a capability that the request needs.
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// 2026-07-28: the server does not support the version of the request.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
}

/// Addressee of an error reply.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "an id is known, or absent in one of two ways")]
pub enum ReplyTo<'a> {
    /// The request with this id.
    Id(&'a Id<'a>),
    /// A line whose id could not be read, as JSON-RPC 2.0 writes it: `"id":null`.
    Null,
    /// The same, as MCP writes it since 2025-11-25: without the member `id`.
    Omitted,
}

impl ReplyTo<'_> {
    /// Returns the form of a reply to a line without an id, for the negotiated version if there is
    /// one.
    pub fn unknown(version: Option<Version>) -> Self {
        match version {
            Some(version) if version.omits_unknown_ids() => Self::Omitted,
            _ => Self::Null,
        }
    }
}

/// Encodes a successful response.
pub fn response(id: &Id<'_>, result: Value<'_>) -> String {
    let mut line = String::with_capacity(result.text().len() + 64);
    line.push_str(r#"{"jsonrpc":"2.0","id":"#);
    push_id(&mut line, id);
    line.push_str(r#","result":"#);
    push_json_value(&mut line, result);
    line.push_str("}\n");
    line
}

/// Encodes an error response.
pub fn error(to: ReplyTo<'_>, code: i64, message: &str, data: Option<Value<'_>>) -> String {
    let mut line = String::with_capacity(message.len() + 96);
    line.push_str(r#"{"jsonrpc":"2.0","#);
    match to {
        ReplyTo::Id(id) => {
            line.push_str(r#""id":"#);
            push_id(&mut line, id);
            line.push(',');
        }
        ReplyTo::Null => line.push_str(r#""id":null,"#),
        ReplyTo::Omitted => {}
    }
    push(&mut line, format_args!(r#""error":{{"code":{code},"message":"#));
    push_json_string(&mut line, message);
    if let Some(data) = data {
        line.push_str(r#","data":"#);
        push_json_value(&mut line, data);
    }
    line.push_str("}}\n");
    line
}

/// Encodes an error response from Hardline itself. Its data names the rule and the reason:
/// `{"hardline":{"rule":…,"reason":…}}`.
pub fn refusal(id: &Id<'_>, code: i64, rule: &str, reason: &str) -> String {
    // The reason is written twice: for people, and for programs.
    let mut line = String::with_capacity(2 * reason.len() + 128);
    line.push_str(r#"{"jsonrpc":"2.0","id":"#);
    push_id(&mut line, id);
    push(&mut line, format_args!(r#","error":{{"code":{code},"message":"#));
    push_json_string(&mut line, reason);
    line.push_str(r#","data":{"hardline":{"rule":"#);
    push_json_string(&mut line, rule);
    line.push_str(r#","reason":"#);
    push_json_string(&mut line, reason);
    line.push_str("}}}}\n");
    line
}

/// Appends `text` to `line` as a JSON string on one line.
pub fn push_json_string(line: &mut String, text: &str) {
    line.push('"');
    let mut rest = text;
    loop {
        // Long runs without special characters are the common case, so copy them at once.
        let (plain, odd) = rest.split_at(plain_length(rest.as_bytes()));
        line.push_str(plain);
        let mut chars = odd.chars();
        match chars.next() {
            None => break,
            Some('"') => line.push_str("\\\""),
            Some('\\') => line.push_str("\\\\"),
            Some('\n') => line.push_str("\\n"),
            Some('\r') => line.push_str("\\r"),
            Some('\t') => line.push_str("\\t"),
            Some(char) if char.is_control() || matches!(char, '\u{2028}' | '\u{2029}') => {
                push(line, format_args!("\\u{:04x}", u32::from(char)));
            }
            Some(char) => line.push(char),
        }
        rest = chars.as_str();
    }
    line.push('"');
}

/// Returns the number of bytes that need no escape: up to a byte that is escaped, or that begins a
/// character that may be. The returned position is always the start of a character.
fn plain_length(text: &[u8]) -> usize {
    /// Enough for the widest registers.
    const STEP: usize = 64;
    // C1 controls begin with C2; the line and paragraph separators begin with E2.
    let is_odd = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\' | 0x7f | 0xc2 | 0xe2);
    // A fold without an early exit, so that the compiler vectorizes it.
    let is_plain = |chunk: &&[u8]| !chunk.iter().fold(false, |odd, &byte| odd | is_odd(byte));
    let skipped = text.chunks_exact(STEP).take_while(is_plain).count() * STEP;
    let rest = text.get(skipped..).unwrap_or_default();
    skipped + rest.iter().position(|&byte| is_odd(byte)).unwrap_or(rest.len())
}

/// Appends a checked value on one line.
pub fn push_json_value(line: &mut String, value: Value<'_>) {
    push_one_line(line, value.text());
}

/// Appends an id as JSON.
pub fn push_id(line: &mut String, id: &Id<'_>) {
    match id.as_i64() {
        Some(id) => push(line, format_args!("{id}")),
        None => push_one_line(line, &id.to_string()),
    }
}

/// Appends valid JSON without any character that a reader takes for a line end or a command:
/// between tokens they become spaces, in strings equivalent escapes.
fn push_one_line(line: &mut String, json: &str) {
    let breaks_line = |char: char| match char {
        // No reader ends a line at a tab.
        '\t' => false,
        '\u{2028}' | '\u{2029}' => true,
        _ => char.is_control(),
    };
    for part in json.split_inclusive(breaks_line) {
        let plain = part.trim_end_matches(breaks_line);
        line.push_str(plain);
        match part.chars().next_back().filter(|char| breaks_line(*char)) {
            None => {}
            // Valid JSON has raw newlines between tokens only, where a space means the same.
            Some('\n' | '\r') => line.push(' '),
            // The others stand in strings, where an escape means the same.
            Some(char) => push(line, format_args!("\\u{:04x}", u32::from(char))),
        }
    }
}

fn push(line: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = line.write_fmt(arguments);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Checker;
    use crate::limits::Limits;

    #[test]
    fn encodes_whatever_is_inside_as_one_line() {
        let mut checker = Checker::new(&Limits::default());
        let data = "{\r\n  \"a\" :\n[ ] }";
        let data = checker.check(data.as_bytes()).unwrap().value;
        let id = Id::from_string("x\ny");
        let line = error(ReplyTo::Id(&id), -32603, "a\"\\\n\u{0}\u{85}\u{2028}\u{7f}ü", Some(data));
        assert_eq!(
            line,
            concat!(
                r#"{"jsonrpc":"2.0","id":"x\ny","error":{"code":-32603,"message":"#,
                r#""a\"\\\n\u0000\u0085\u2028\u007fü","data":{    "a" : [ ] }}}"#,
                "\n"
            )
        );
        assert!(checker.check(line.as_bytes()).is_ok());
        let result = "{\"a\":\"x\u{2028}\u{85}y\u{9b}\",\t\"\u{2029}\":\"\"}";
        let result = checker.check(result.as_bytes()).unwrap().value;
        let id = Id::salvage("\"\u{2028}\"".as_bytes(), 256).unwrap();
        assert_eq!(
            response(&id, result),
            concat!(
                r#"{"jsonrpc":"2.0","id":"\u2028","result":"#,
                "{\"a\":\"x\\u2028\\u0085y\\u009b\",\t\"\\u2029\":\"\"}}\n"
            )
        );
        assert_eq!(
            response(&Id::from_integer(0), data),
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{    \"a\" : [ ] }}\n"
        );
    }

    #[test]
    fn leaves_an_unknown_id_out_as_the_version_asks() {
        let reply = |version| error(ReplyTo::unknown(version), code::PARSE_ERROR, "no", None);
        let null =
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}\n";
        let without = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no\"}}\n";
        assert_eq!(reply(None), null);
        assert_eq!(reply(Some(Version::V2025_06_18)), null);
        assert_eq!(reply(Some(Version::V2025_11_25)), without);
        assert_eq!(reply(Some(Version::V2026_07_28)), without);
    }
}
