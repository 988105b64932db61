//! Decides if an object is a JSON-RPC message, and one that MCP could carry.
//!
//! Keys are compared as the most lenient reader does: escapes decoded, case folded (Go matches keys
//! that way, including `ſ` and the Kelvin sign). If a key occurs twice, both values count, because
//! one reader takes the first and another the last.

/// The envelope of one object, collected while the object is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Members {
    /// Bits of the constants below.
    seen: u16,
}

/// Similarity of an object to a JSON-RPC message.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum MessageClass {
    /// Has a `jsonrpc` member and nothing else of a message.
    Fragment,
    /// A message that MCP could not carry: another protocol's.
    Foreign,
    /// A message that an MCP peer may act on.
    Message,
}

/// A key of the envelope.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Key {
    Jsonrpc,
    Id,
    Method,
    Result,
    Error,
}

const VERSION: u16 = 1;
const OTHER_VERSION: u16 = 1 << 1;
const ID: u16 = 1 << 2;
const MCP_METHOD: u16 = 1 << 3;
const OBJECT_ANSWER: u16 = 1 << 4;
const OTHER_BODY: u16 = 1 << 5;

/// Limit on the length of a key or method that is decoded: every character as an escape.
const MAX_SPELLING: usize = 12 * 64;

impl Members {
    /// Adds a member whose value is a string, given with its escapes.
    pub(super) fn string(&mut self, key: Key, raw: &[u8]) {
        self.seen |= match key {
            // Any other version makes at most a foreign message.
            Key::Jsonrpc if spells(raw, "2.0") => VERSION,
            Key::Jsonrpc => OTHER_VERSION,
            Key::Id => ID,
            Key::Method if is_mcp_method(raw) => MCP_METHOD,
            Key::Method | Key::Result | Key::Error => OTHER_BODY,
        };
    }

    /// Adds a member whose value is not a string.
    pub(super) fn other(&mut self, key: Key, is_object: bool) {
        self.seen |= match key {
            Key::Jsonrpc => OTHER_VERSION,
            Key::Id => ID,
            Key::Result | Key::Error if is_object => OBJECT_ANSWER,
            Key::Method | Key::Result | Key::Error => OTHER_BODY,
        };
    }

    /// Returns the class of the complete object, or `None` if it has no `jsonrpc`.
    pub(super) fn class(self) -> Option<MessageClass> {
        let has = |bits: u16| self.seen & bits != 0;
        if !has(VERSION | OTHER_VERSION) {
            return None;
        }
        if has(VERSION) && has(MCP_METHOD | OBJECT_ANSWER) {
            return Some(MessageClass::Message);
        }
        let is_message = has(MCP_METHOD | OBJECT_ANSWER | OTHER_BODY | ID);
        Some(if is_message { MessageClass::Foreign } else { MessageClass::Fragment })
    }
}

impl Key {
    /// Returns the envelope key that `raw` spells, with its escapes decoded.
    pub(super) fn read(raw: &[u8]) -> Option<Self> {
        // The first letter rules out most keys.
        match raw.first()?.to_ascii_lowercase() {
            b'j' | b'i' | b'm' | b'r' | b'e' | b'\\' | 0x80.. => {}
            _ => return None,
        }
        let (folded, length) = fold(raw)?;
        match folded.get(..length)? {
            b"jsonrpc" => Some(Self::Jsonrpc),
            b"id" => Some(Self::Id),
            b"method" => Some(Self::Method),
            b"result" => Some(Self::Result),
            b"error" => Some(Self::Error),
            _ => None,
        }
    }
}

/// Returns the characters of a short key, folded to lower-case ASCII; `None` if it cannot be a key
/// of the envelope.
fn fold(raw: &[u8]) -> Option<([u8; 8], usize)> {
    let mut folded = [0; 8];
    let mut length = 0;
    if let Some(folded) = folded.get_mut(..raw.len())
        && raw.iter().all(u8::is_ascii_alphabetic)
    {
        folded.copy_from_slice(raw);
        folded.make_ascii_lowercase();
        length = raw.len();
    }
    if length > 0 || raw.len() > MAX_SPELLING {
        return (length > 0).then_some((folded, length));
    }
    for char in Spelled(raw) {
        let byte = match char {
            // Case folding of some readers maps these to ASCII letters.
            '\u{17f}' => b's',
            '\u{131}' | '\u{130}' => b'i',
            _ => u8::try_from(char).ok().filter(u8::is_ascii_alphabetic)?.to_ascii_lowercase(),
        };
        *folded.get_mut(length)? = byte;
        length += 1;
    }
    Some((folded, length))
}

fn spells(raw: &[u8], expected: &str) -> bool {
    raw == expected.as_bytes()
        || raw.contains(&b'\\') && raw.len() <= MAX_SPELLING && Spelled(raw).eq(expected.chars())
}

/// Returns true if an MCP peer may know the method: it is in a table, or in a namespace of one.
fn is_mcp_method(raw: &[u8]) -> bool {
    let mut start = [0; 16];
    let mut length = 0;
    for (to, char) in start.iter_mut().zip(Spelled(raw).skip_while(|it| it.is_whitespace())) {
        *to = u8::try_from(char).unwrap_or_default().to_ascii_lowercase();
        length += 1;
    }
    let start = start.get(..length).unwrap_or_default();
    match start.iter().position(|it| *it == b'/') {
        Some(slash) => start.get(..slash).is_some_and(|it| NAMESPACES.contains(&it)),
        None => matches!(start.trim_ascii_end(), b"initialize" | b"ping"),
    }
}

/// The part before the slash in the methods of MCP.
const NAMESPACES: &[&[u8]] = &[
    b"completion",
    b"elicitation",
    b"logging",
    b"notifications",
    b"prompts",
    b"resources",
    b"roots",
    b"sampling",
    b"server",
    b"subscriptions",
    b"tasks",
    b"tools",
];

/// Decodes a JSON string without its quotes, as the most lenient reader does.
struct Spelled<'a>(&'a [u8]);

impl Iterator for Spelled<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let (&first, rest) = self.0.split_first()?;
        if first != b'\\' {
            if first.is_ascii() {
                self.0 = rest;
                return Some(first.into());
            }
            return Some(self.wide());
        }
        let Some((&kind, rest)) = rest.split_first() else {
            self.0 = rest;
            return Some('\\');
        };
        // `\x` is not JSON, but some lenient readers accept it.
        let digits = match kind {
            b'u' => 4,
            b'x' => 2,
            _ => 0,
        };
        if let Some(code) = rest.get(..digits).filter(|it| !it.is_empty()).and_then(hex) {
            self.0 = rest.get(digits..).unwrap_or_default();
            return Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.0 = rest;
        Some(match kind {
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            _ => kind.into(),
        })
    }
}

impl Spelled<'_> {
    /// Removes a character beyond ASCII from the front. Invalid bytes count one by one.
    fn wide(&mut self) -> char {
        let width = self.0.iter().skip(1).take_while(|it| **it & 0xc0 == 0x80).count().min(3) + 1;
        let (bytes, rest) = self.0.split_at_checked(width).unwrap_or((self.0, &[]));
        self.0 = rest;
        let char = std::str::from_utf8(bytes).ok().and_then(|it| it.chars().next());
        char.unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// Parses hexadecimal digits; `None` if a byte is not one.
#[inline]
pub(super) fn hex(digits: &[u8]) -> Option<u32> {
    let (mut code, mut worst) = (0, 0);
    for digit in digits {
        let value = HEX.get(usize::from(*digit)).copied().unwrap_or(NO_HEX);
        code = code << 4 | u32::from(value);
        // Branch-free: one check at the end instead of one per digit.
        worst |= value;
    }
    (worst < NO_HEX).then_some(code)
}

const NO_HEX: u8 = 16;

/// The value of each hexadecimal digit; [`NO_HEX`] for other bytes.
#[expect(clippy::indexing_slicing, reason = "at build time")]
static HEX: [u8; 256] = {
    let mut values = [NO_HEX; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value as usize];
        values[digit as usize] = value;
        values[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_keys_as_the_most_generous_reader_does() {
        for raw in
            ["jsonrpc", "JsonRPC", r"\u006asonrpc", r"j\u017fonrpc", "jſonrpc", r"\x6asonrpc"]
        {
            assert_eq!(Key::read(raw.as_bytes()), Some(Key::Jsonrpc), "{raw}");
        }
        for raw in ["", "json-rpc", "jsonrpc2", "xjsonrpc", "json\u{0440}pc", r"\u00", "\\"] {
            assert_eq!(Key::read(raw.as_bytes()), None, "{raw}");
        }
    }

    #[test]
    fn knows_every_method_of_the_tables() {
        for method in hardline_wire::method::all() {
            assert!(is_mcp_method(method.name.as_bytes()), "{}", method.name);
        }
    }

    #[test]
    fn knows_the_methods_that_mcp_may_carry() {
        for raw in
            ["tools/call", r"tools\/call", "ping", "initialize", "notifications/x", "Tools/X"]
        {
            assert!(is_mcp_method(raw.as_bytes()), "{raw}");
        }
        for raw in ["eth_call", "textDocument/hover", "toolsx/call", "pingpong", ""] {
            assert!(!is_mcp_method(raw.as_bytes()), "{raw}");
        }
    }
}
