//! The envelope: the members of the outermost object that JSON-RPC defines, recorded during the
//! check.

use super::string;
use super::value::Value;

/// The members of an object that JSON-RPC defines.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Envelope<'a> {
    /// The member `jsonrpc`.
    pub jsonrpc: Option<Value<'a>>,
    /// The member `id`.
    pub id: Option<Value<'a>>,
    /// The member `method`.
    pub method: Option<Value<'a>>,
    /// The member `params`.
    pub params: Option<Value<'a>>,
    /// The member `result`.
    pub result: Option<Value<'a>>,
    /// The member `error`.
    pub error: Option<Value<'a>>,
    /// Position of the first key that differs from one of the six in case alone. Some parsers take
    /// `Method` for `method`, so such an object means different things to them.
    pub twin_key: Option<usize>,
}

/// Records the members of the outermost object during the check.
#[derive(Debug)]
pub(super) struct EnvelopeReader<'a> {
    text: &'a str,
    field: Field,
    value_start: usize,
    envelope: Envelope<'a>,
}

impl<'a> EnvelopeReader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, field: Field::Other, value_start: 0, envelope: Envelope::default() }
    }

    // Not inlined: it runs once per member of the outermost object, and would bloat the check loop.
    #[inline(never)]
    pub(super) fn key(&mut self, (start, end): (usize, usize), escaped: bool, value_start: usize) {
        self.value_start = value_start;
        let content = self.text.get(start..end).unwrap_or_default();
        // `"\u0069d"` is the key `id` to every parser.
        let key = if escaped { string::unescape(content) } else { content.into() };
        self.field = Field::exact(&key);
        let is_twin = |name| equals_ignoring_case(&key, name);
        if self.field == Field::Other && Field::NAMES.into_iter().any(is_twin) {
            // The first one is reported, with the position of its quote.
            self.envelope.twin_key = self.envelope.twin_key.or(Some(start - 1));
        }
    }

    #[inline(never)]
    pub(super) fn value_ended(&mut self, end: usize) {
        if self.field == Field::Other {
            return;
        }
        let value = Some(Value::proven(self.text, self.value_start, end));
        match self.field {
            Field::Jsonrpc => self.envelope.jsonrpc = value,
            Field::Id => self.envelope.id = value,
            Field::Method => self.envelope.method = value,
            Field::Params => self.envelope.params = value,
            Field::Result => self.envelope.result = value,
            Field::Error => self.envelope.error = value,
            Field::Other => {}
        }
        self.field = Field::Other;
    }

    pub(super) fn finish(self, value: Value<'a>) -> Option<Envelope<'a>> {
        value.text().starts_with('{').then_some(self.envelope)
    }
}

/// The current member of the outermost object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Field {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl Field {
    const NAMES: [&'static str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

    fn exact(key: &str) -> Self {
        match key {
            "jsonrpc" => Self::Jsonrpc,
            "id" => Self::Id,
            "method" => Self::Method,
            "params" => Self::Params,
            "result" => Self::Result,
            "error" => Self::Error,
            _ => Self::Other,
        }
    }
}

/// Returns true if `key` equals the ASCII `name` when case is ignored in any way that a language
/// has: `METHOD`, `reſult`, `İd`, `ıd`.
pub(crate) fn equals_ignoring_case(key: &str, name: &str) -> bool {
    let mut chars = key.chars();
    name.chars().all(|wanted| chars.next().is_some_and(|it| folds_to(it, wanted)))
        && chars.next().is_none()
}

/// Returns true if the ASCII letter `wanted` is the lower case of `char`, or has the same upper
/// case.
fn folds_to(char: char, wanted: char) -> bool {
    char == wanted
        || char.to_lowercase().next() == Some(wanted)
        || char.to_uppercase().eq([wanted.to_ascii_uppercase()])
}
