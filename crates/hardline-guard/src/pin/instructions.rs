//! A server's instructions, which hosts put into the system prompt.

use std::borrow::Cow;

use hardline_wire::json::{Kind, Value};

use super::canonical::Json;
use super::definition::Definition;
use super::fingerprint::Fingerprint;

/// The member of a result that holds them, and of what is kept of them.
const KEY: &str = "instructions";

/// A server's `instructions`, or that it has none: pinned as a tool is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Instructions {
    /// An object with the one member `instructions`, or without any.
    pub(super) definition: Definition,
}

impl Instructions {
    /// Takes those in a result of `initialize` or `server/discover`. A value that is no string counts
    /// as the text that it is written with: some hosts print what they get.
    pub fn of_result(result: Value<'_>) -> Self {
        let value = result.get(KEY).filter(|value| value.kind() != Kind::Null);
        let Some(value) = value else { return Self::none() };
        let text = value.as_str().map_or_else(|| value.text().to_owned(), Cow::into_owned);
        Self::of(&Json::Object(vec![(KEY.to_owned(), Json::String(text))]))
    }

    /// Those of a server that has none.
    pub fn none() -> Self {
        Self::of(&Json::Object(Vec::new()))
    }

    /// Returns true if the server has none.
    pub fn is_none(&self) -> bool {
        *self == Self::none()
    }

    /// The SHA-256 of what is kept.
    pub fn fingerprint(&self) -> Fingerprint {
        self.definition.fingerprint()
    }

    /// The text for people, if it was short enough to be kept: not escaped.
    pub fn text(&self) -> Option<String> {
        self.definition.json().get(KEY).and_then(Json::as_str).map(str::to_owned)
    }

    pub(super) fn of(json: &Json) -> Self {
        Self { definition: Definition::named(KEY, json) }
    }

    pub(super) fn of_outline(json: &Json) -> Self {
        Self { definition: Definition::outlined(KEY, json) }
    }
}
