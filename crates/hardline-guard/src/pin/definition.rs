//! One tool's definition and its fingerprint.

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::{Checker, Kind, Value};
use hardline_wire::limits::Limits;
use thiserror::Error;

use super::canonical::{Json, MAX_DEPTH};
use super::fingerprint::Fingerprint;
use super::outline::outline;

/// Stands before the outlines that are digested. No canonical JSON begins like it.
const OUTLINE_LABEL: &str = "hardline outline\n";

/// A tool as its server defines it: everything of its definition but `_meta`.
///
/// All other members count, known or not: name, title, description, schemas, annotations, icons,
/// `execution` and what versions to come add. `_meta` does not: hosts and servers keep versions,
/// times and caches there, models do not see it, and a pin that alarms at every start is soon
/// ignored. Only the definition's own `_meta` is left out; a property of that name in a schema
/// counts.
///
/// A definition over [`MAX_BYTES`](Self::MAX_BYTES) (a tool with a large icon) is kept as an outline:
/// its short parts as they are, digests of the others. Every change changes the fingerprint all the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Definition {
    name: String,
    /// The canonical JSON, an object with the member `name`; or its outline.
    canonical: String,
    is_outline: bool,
    fingerprint: Fingerprint,
}

impl Definition {
    /// Longest definition that is kept whole, in bytes of canonical JSON.
    ///
    /// Bounds what one tool can put into the lock file. The largest schemas seen in the field have
    /// less than half of that. A longer definition is kept as an outline.
    pub const MAX_BYTES: usize = 256 << 10;

    /// Longest name in bytes.
    ///
    /// Names are the keys of the lock file, and kept whole. MCP recommends 128 characters at most. A
    /// longer one is refused.
    pub const MAX_NAME_BYTES: usize = 1 << 10;

    /// Takes an element of a `tools/list` result.
    ///
    /// # Errors
    ///
    /// [`DefinitionError`] if it is no object with a name, or over a limit.
    pub fn new(value: Value<'_>) -> Result<Self, DefinitionError> {
        if value.kind() != Kind::Object {
            return Err(DefinitionError::NotAnObject);
        }
        let mut json = Json::new(value).ok_or(DefinitionError::TooDeep { limit: MAX_DEPTH })?;
        if let Json::Object(members) = &mut json {
            members.retain(|(key, _)| key != "_meta");
        }
        Self::of(&json)
    }

    /// Its name, as the server writes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The SHA-256 of the canonical JSON; of a definition that is too long to be kept, that of its
    /// outline behind a label.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The definition as canonical JSON, or its outline.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Returns true if it was too long to be kept whole.
    pub fn is_outline(&self) -> bool {
        self.is_outline
    }

    /// Takes a definition whose `_meta` is gone.
    pub(super) fn of(json: &Json) -> Result<Self, DefinitionError> {
        let name = name(json)?;
        Ok(Self::named(name, json))
    }

    /// Takes an outline as the lock file has it.
    pub(super) fn of_outline(json: &Json) -> Result<Self, DefinitionError> {
        let name = name(json)?;
        Ok(Self::outlined(name, json))
    }

    /// Takes an object under a name of ours.
    pub(super) fn named(name: &str, json: &Json) -> Self {
        let canonical = json.to_text();
        if Self::MAX_BYTES < canonical.len() {
            return Self::outlined(name, &outline(json));
        }
        let fingerprint = Fingerprint::of(&canonical);
        Self { name: name.to_owned(), canonical, is_outline: false, fingerprint }
    }

    /// Takes an outline under a name of ours.
    pub(super) fn outlined(name: &str, outline: &Json) -> Self {
        let canonical = outline.to_text();
        let fingerprint = Fingerprint::labelled(OUTLINE_LABEL, &canonical);
        Self { name: name.to_owned(), canonical, is_outline: true, fingerprint }
    }

    /// The definition as a value.
    pub(super) fn json(&self) -> Json {
        let limits = Limits::default();
        let checked = Checker::new(&limits).check(self.canonical.as_bytes()).ok();
        // It was made from a checked value within the same limits, so it is one.
        checked.and_then(|it| Json::new(it.value)).unwrap_or(Json::Object(Vec::new()))
    }
}

/// Why a value is no definition that can be pinned. Always the server's doing.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum DefinitionError {
    /// It is no object.
    #[error("a tool's definition is no object")]
    NotAnObject,
    /// It has no `name`, or one that is no string.
    #[error("a tool's definition has no name")]
    NoName,
    /// It is nested too deeply.
    #[error("a tool's definition is nested deeper than {limit}")]
    TooDeep {
        /// The limit in force.
        limit: usize,
    },
    /// Its name is too long.
    #[error("a tool's name is longer than {limit} bytes")]
    TooLong {
        /// The limit in force.
        limit: usize,
    },
}

fn name(json: &Json) -> Result<&str, DefinitionError> {
    let name = json.get("name").and_then(Json::as_str).ok_or(DefinitionError::NoName)?;
    let limit = Definition::MAX_NAME_BYTES;
    if limit < name.len() { Err(DefinitionError::TooLong { limit }) } else { Ok(name) }
}

/// A name that a server gave, in backquotes, escaped and shortened.
pub(super) fn shown(name: &str) -> String {
    format!("`{}`", Excerpt::new(name.as_bytes(), 80))
}
