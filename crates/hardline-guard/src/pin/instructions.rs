//! The instructions of a server, which hosts put into the system prompt.

use std::borrow::Cow;

use hardline_wire::json::{Kind, Value};

use super::canonical::Json;
use super::definition::Definition;
use super::fingerprint::Fingerprint;

/// Key of the instructions, in a result and in their stored form.
const KEY: &str = "instructions";

/// The `instructions` of a server, or their absence. They are pinned like a tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Instructions {
    /// An object with the single member `instructions`, or an empty one.
    pub(super) definition: Definition,
}

impl Instructions {
    /// Reads the instructions from a result of `initialize` or `server/discover`. A value that is
    /// not a string counts as its JSON text, because some hosts print it.
    pub fn of_result(result: Value<'_>) -> Self {
        // `null` counts as absent.
        let value = result.get(KEY).filter(|value| value.kind() != Kind::Null);
        let Some(value) = value else { return Self::none() };
        let text = value.as_str().map_or_else(|| value.text().to_owned(), Cow::into_owned);
        Self::of(&Json::Object(vec![(KEY.to_owned(), Json::String(text))]))
    }

    /// Returns the instructions of a server that has none.
    pub fn none() -> Self {
        Self::of(&Json::Object(Vec::new()))
    }

    /// Returns true if the server has no instructions.
    pub fn is_none(&self) -> bool {
        *self == Self::none()
    }

    /// Returns the SHA-256 of the stored form.
    pub fn fingerprint(&self) -> Fingerprint {
        self.definition.fingerprint()
    }

    /// Returns the text, not escaped, if it was short enough to be stored.
    pub fn text(&self) -> Option<String> {
        self.definition.json().get(KEY).and_then(Json::as_str).map(str::to_owned)
    }

    /// Returns the stored form: an object with the single member `instructions`, or an empty one.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    pub(super) fn of(json: &Json) -> Self {
        Self { definition: Definition::named(KEY, json) }
    }

    pub(super) fn of_outline(json: &Json) -> Self {
        Self { definition: Definition::outlined(KEY, json) }
    }
}
