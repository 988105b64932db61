//! Order of changes: text that a model reads comes before structure.
//!
//! A list that is shortened must not end before the change that matters. A server chooses the paths
//! of its changes, so the order of the paths says nothing.

use super::canonical::Json;
use super::outline::words;

/// Effect of a changed value on a model. Changes are listed in this order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Rank {
    /// Text that instructs a model: descriptions and instructions.
    Instruction,
    /// Other text that a model reads: titles, names, choices, defaults, unknown members.
    Label,
    /// Everything else.
    Structure,
}

impl Rank {
    /// Number of ranks.
    pub(super) const COUNT: usize = 3;

    /// Returns the position in the order.
    pub(super) fn index(self) -> usize {
        match self {
            Self::Instruction => 0,
            Self::Label => 1,
            Self::Structure => 2,
        }
    }
}

/// Keys of text that instructs a model.
const INSTRUCTIONS: [&str; 2] = ["description", "instructions"];
/// Keys of values that a model reads, of any kind.
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];
/// Keys of objects whose keys are names, such as those of parameters.
const NAMED: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keys whose strings are no text for a model. Strings of all other keys count as labels.
const STRUCTURE: [&str; 14] = [
    "type",
    "format",
    "pattern",
    "required",
    "$ref",
    "$schema",
    "$id",
    "$anchor",
    "contentEncoding",
    "contentMediaType",
    "src",
    "mimeType",
    "sizes",
    "taskSupport",
];

/// Returns the rank of a change of `values` at a path with these keys, outermost first. `is_member`
/// is set if a member was added or removed, so that its key changed too.
pub(super) fn of_change(keys: &[&str], is_member: bool, values: [Option<&Json>; 2]) -> Rank {
    let (last, above) = keys.split_last().map_or(("", &[][..]), |(last, above)| (*last, above));
    let is_name = is_member && above.last().is_some_and(|parent| NAMED.contains(parent));
    let is_value = above.iter().any(|key| VALUES.contains(key));
    let known = if is_name || is_value { Rank::Label } else { Rank::Structure };
    let of_values = values.into_iter().flatten().map(|value| of_value(last, value));
    of_values.min().map_or(known, |rank| rank.min(known))
}

/// Returns the rank of a value, which is that of its most important part.
fn of_value(key: &str, value: &Json) -> Rank {
    match value {
        // A digest stands for text that nobody can see here.
        _ if words(value).is_some() => of_text(key),
        Json::String(_) => of_text(key),
        Json::Word(_) if VALUES.contains(&key) => Rank::Label,
        Json::Word(_) => Rank::Structure,
        Json::Array(elements) => {
            elements.iter().map(|it| of_value(key, it)).min().unwrap_or(Rank::Structure)
        }
        Json::Object(members) => {
            members.iter().map(|(key, it)| of_value(key, it)).min().unwrap_or(Rank::Structure)
        }
    }
}

fn of_text(key: &str) -> Rank {
    if INSTRUCTIONS.contains(&key) {
        Rank::Instruction
    } else if STRUCTURE.contains(&key) {
        Rank::Structure
    } else {
        Rank::Label
    }
}
