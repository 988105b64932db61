//! Whether an object is a JSON-RPC message, and one that MCP could carry.
//!
//! Keys are compared as the most generous reader does: escapes read, case folded (Go matches keys
//! that way, `ſ` and the Kelvin sign included). Of a key that stands twice both values count, since
//! one reader takes the first and another the last.

/// What the members of one object say, gathered while it is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Members {
    /// Bits of the constants below.
    seen: u16,
}

/// How much of a JSON-RPC message an object is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Class {
    /// It has a `jsonrpc` and no more of a message.
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

/// The longest spelling of a key or a method that is looked at: every character as an escape.
const MAX_SPELLING: usize = 12 * 64;

impl Members {
    /// Takes a member whose value is a string, given with its escapes.
    pub(super) fn string(&mut self, key: Key, raw: &[u8]) {
        self.seen |= match key {
            Key::Jsonrpc if spells(raw, "2.0") => VERSION,
            Key::Jsonrpc => OTHER_VERSION,
            Key::Id => ID,
            Key::Method if is_mcp_method(raw) => MCP_METHOD,
            Key::Method | Key::Result | Key::Error => OTHER_BODY,
        };
    }

    /// Takes a member whose value is no string.
    pub(super) fn other(&mut self, key: Key, is_object: bool) {
        self.seen |= match key {
            Key::Jsonrpc => OTHER_VERSION,
            Key::Id => ID,
            Key::Result | Key::Error if is_object => OBJECT_ANSWER,
            Key::Method | Key::Result | Key::Error => OTHER_BODY,
        };
    }

    /// What the object is, now that it is complete.
    pub(super) fn class(self) -> Option<Class> {
        let has = |bits: u16| self.seen & bits != 0;
        if !has(VERSION | OTHER_VERSION) {
            return None;
        }
        if has(VERSION) && has(MCP_METHOD | OBJECT_ANSWER) {
            return Some(Class::Message);
        }
        let is_message = has(MCP_METHOD | OBJECT_ANSWER | OTHER_BODY | ID);
        Some(if is_message { Class::Foreign } else { Class::Fragment })
    }
}

impl Key {
    /// The key that `raw` spells, escapes and all.
    pub(super) fn read(raw: &[u8]) -> Option<Self> {
        // Most keys are none of these, and their first letter tells.
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

/// The characters of a short key, folded to lower-case ASCII; none if it is no key of the envelope.
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

/// Whether a peer of MCP may know the method: it is in a table, or in a namespace of one there.
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

/// What stands before the slash in methods of MCP.
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

/// The characters that a JSON string without its quotes spells, for the most generous reader.
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
    /// Takes a character beyond ASCII off the front; bytes that are none count one by one.
    fn wide(&mut self) -> char {
        let width = self.0.iter().skip(1).take_while(|it| **it & 0xc0 == 0x80).count().min(3) + 1;
        let (bytes, rest) = self.0.split_at_checked(width).unwrap_or((self.0, &[]));
        self.0 = rest;
        let char = std::str::from_utf8(bytes).ok().and_then(|it| it.chars().next());
        char.unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// The number that hexadecimal digits write; none if one of them is none.
#[inline]
pub(super) fn hex(digits: &[u8]) -> Option<u32> {
    let (mut code, mut worst) = (0, 0);
    for digit in digits {
        let value = HEX.get(usize::from(*digit)).copied().unwrap_or(NO_HEX);
        code = code << 4 | u32::from(value);
        worst |= value;
    }
    (worst < NO_HEX).then_some(code)
}

const NO_HEX: u8 = 16;

/// The value of each hexadecimal digit, [`NO_HEX`] for other bytes.
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
