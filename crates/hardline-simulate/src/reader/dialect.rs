//! JSON readers: the deviations that each accepts, and the messages that each sees.

use std::borrow::Cow;

use super::json::{Json, folded};
use super::quirk::Quirks;

/// A JSON reader in use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    /// A strict reader of RFC 8259 and I-JSON.
    Strict,
    /// Python's `json`.
    Python,
    /// `JSON.parse` on text that was decoded with replacement characters.
    JavaScript,
    /// Go's `encoding/json` into structs: keys match in any letter case.
    Go,
    /// Jackson with its defaults: the rest of a line is ignored.
    Jackson,
    /// A parser whose lookup returns the first of two equal keys, as many in C do.
    FirstKey,
    /// JSON5, Gson's lenient mode and their relatives.
    Lenient,
}

impl Dialect {
    /// All readers.
    pub const ALL: [Self; 7] = [
        Self::Strict,
        Self::Python,
        Self::JavaScript,
        Self::Go,
        Self::Jackson,
        Self::FirstKey,
        Self::Lenient,
    ];

    /// Returns the messages that this reader finds in a value with these quirks.
    pub(super) fn view(self, value: &Json<'_>, quirks: Quirks) -> Vec<String> {
        // A reader that refuses a line sees no message on it.
        if !self.accepted().contains(quirks) {
            return Vec::new();
        }
        let values = match value {
            Json::Array(elements) => elements.as_slice(),
            value => std::slice::from_ref(value),
        };
        let resolved = values.iter().map(|value| self.resolve(value, true));
        resolved.filter(Json::is_message).map(|message| message.to_string()).collect()
    }

    fn accepted(self) -> Quirks {
        use Quirks as Q;
        match self {
            Self::Strict => Q::NONE,
            Self::Python => Q::DUPLICATE | Q::FOLDED | Q::NAN | Q::SURROGATE,
            Self::JavaScript | Self::Go => Q::DUPLICATE | Q::FOLDED | Q::SURROGATE | Q::UTF8,
            Self::Jackson => Q::DUPLICATE | Q::FOLDED | Q::SURROGATE | Q::TRAILING | Q::BOM,
            Self::FirstKey => Q::DUPLICATE | Q::FOLDED | Q::SURROGATE,
            Self::Lenient => Q::ALL,
        }
    }

    /// Resolves equal keys in the way of this reader, at every level.
    fn resolve<'a>(self, value: &Json<'a>, is_envelope: bool) -> Json<'a> {
        match value {
            Json::Array(elements) => {
                Json::Array(elements.iter().map(|it| self.resolve(it, false)).collect())
            }
            Json::Object(members) => {
                let mut kept: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
                for (key, value) in members {
                    // Go folds only the keys of the structs that it decodes into.
                    let fold = if self == Self::Go && is_envelope { folded(key) } else { None };
                    let key = fold.map_or_else(|| key.clone(), Cow::Borrowed);
                    let value = self.resolve(value, false);
                    match kept.iter_mut().find(|(it, _)| *it == key) {
                        // Most readers take the last of several equal keys.
                        Some((_, old)) if self != Self::FirstKey => *old = value,
                        Some(_) => {}
                        None => kept.push((key, value)),
                    }
                }
                Json::Object(kept)
            }
            other => other.clone(),
        }
    }
}
