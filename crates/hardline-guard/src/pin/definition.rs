//! The definition of one tool and its fingerprint.

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::{Checker, Kind, Value};
use hardline_wire::limits::Limits;
use thiserror::Error;

use super::canonical::{Json, MAX_DEPTH};
use super::fingerprint::Fingerprint;
use super::layout;
use super::outline::outline;

/// Prefix of outlines before hashing. No canonical JSON starts with it.
const OUTLINE_LABEL: &str = "hardline outline\n";

/// The definition of a tool: everything that its server lists except `_meta`.
///
/// All other members count, known or not: name, title, description, schemas, annotations, icons,
/// `execution` and the members of future versions. `_meta` does not count: hosts and servers store
/// versions, times and caches there, models do not see it, and users soon ignore a pin that raises
/// an alarm at every start. Only the definition's own `_meta` is left out; a property of that name
/// in a schema counts.
///
/// A definition over [`MAX_BYTES`](Self::MAX_BYTES) (a tool with a large icon) is stored as an
/// outline: its short parts unchanged, and digests of the others. Every change still changes the
/// fingerprint.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Definition {
    name: String,
    /// The canonical JSON, an object with the member `name`; or its outline.
    canonical: String,
    is_outline: bool,
    fingerprint: Fingerprint,
}

impl Definition {
    /// Limit on a definition that is stored whole, in bytes of canonical JSON.
    ///
    /// Bounds the space that one tool can take in the lock file. The largest schemas seen in the
    /// field have less than half of it. A longer definition is stored as an outline.
    pub const MAX_BYTES: usize = 256 << 10;

    /// Limit on a name in bytes; a longer one is refused.
    ///
    /// Names are the keys of the lock file, and stored whole. MCP recommends at most 128
    /// characters.
    pub const MAX_NAME_BYTES: usize = 1 << 10;

    /// Creates a definition from an element of a `tools/list` result.
    ///
    /// # Errors
    ///
    /// [`DefinitionError`] if it is not an object with a name, or exceeds a limit.
    pub fn new(value: Value<'_>) -> Result<Self, DefinitionError> {
        if value.kind() != Kind::Object {
            return Err(DefinitionError::NotAnObject);
        }
        let mut json = Json::new(value).ok_or(DefinitionError::TooDeep { limit: MAX_DEPTH })?;
        if let Json::Object(members) = &mut json {
            // Only the top level: a property of that name in a schema counts.
            members.retain(|(key, _)| key != "_meta");
        }
        Self::of(&json)
    }

    /// Returns the name, as the server writes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the SHA-256 of the canonical JSON. For an outline, it is the SHA-256 of a label and
    /// the outline.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the definition as canonical JSON, or its outline.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Returns the whole definition for people, escaped, safe to print on a terminal: a line or more
    /// for each member, the name, title and description first. Of an outline, long parts are
    /// digests.
    pub fn to_lines(&self) -> String {
        layout::definition(&self.json())
    }

    /// Returns true if the definition was too long to be stored whole.
    pub fn is_outline(&self) -> bool {
        self.is_outline
    }

    /// Creates a definition from an object without `_meta`.
    pub(super) fn of(json: &Json) -> Result<Self, DefinitionError> {
        let name = name(json)?;
        Ok(Self::named(name, json))
    }

    /// Creates a definition from an outline of the lock file.
    pub(super) fn of_outline(json: &Json) -> Result<Self, DefinitionError> {
        let name = name(json)?;
        Ok(Self::outlined(name, json))
    }

    /// Creates a definition from an object, under a name that the caller chooses.
    pub(super) fn named(name: &str, json: &Json) -> Self {
        let canonical = json.to_text();
        if canonical.len() > Self::MAX_BYTES {
            return Self::outlined(name, &outline(json));
        }
        let fingerprint = Fingerprint::of(&canonical);
        Self { name: name.to_owned(), canonical, is_outline: false, fingerprint }
    }

    /// Creates a definition from an outline, under a name that the caller chooses.
    pub(super) fn outlined(name: &str, outline: &Json) -> Self {
        let canonical = outline.to_text();
        // The label keeps an outline from having the fingerprint of a whole definition with the
        // same text.
        let fingerprint = Fingerprint::labelled(OUTLINE_LABEL, &canonical);
        Self { name: name.to_owned(), canonical, is_outline: true, fingerprint }
    }

    /// Returns the definition as a value.
    pub(super) fn json(&self) -> Json {
        let limits = Limits::default();
        let checked = Checker::new(&limits).check(self.canonical.as_bytes()).ok();
        // Never `None`: the text was written from a checked value within the same limits.
        checked.and_then(|it| Json::new(it.value)).unwrap_or(Json::Object(Vec::new()))
    }
}

/// Error returned when a value cannot be pinned. Only the server causes it.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum DefinitionError {
    /// The value is not an object.
    #[error("a tool's definition is not an object")]
    NotAnObject,
    /// `name` is missing or not a string.
    #[error("a tool's definition has no name")]
    NoName,
    /// The value is nested too deeply.
    #[error("a tool's definition is nested deeper than {limit}")]
    TooDeep {
        /// The limit in force.
        limit: usize,
    },
    /// The name is too long.
    #[error("a tool's name is longer than {limit} bytes")]
    TooLong {
        /// The limit in force.
        limit: usize,
    },
}

fn name(json: &Json) -> Result<&str, DefinitionError> {
    let name = json.get("name").and_then(Json::as_str).ok_or(DefinitionError::NoName)?;
    let limit = Definition::MAX_NAME_BYTES;
    if name.len() > limit { Err(DefinitionError::TooLong { limit }) } else { Ok(name) }
}

/// Quotes a name that a server gave in backquotes, escaped and shortened.
pub(super) fn shown(name: &str) -> String {
    format!("`{}`", Excerpt::new(name.as_bytes(), 80))
}
