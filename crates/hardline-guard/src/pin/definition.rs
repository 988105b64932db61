//! One tool's definition and its fingerprint.

use std::fmt;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::{Checker, Kind, Value};
use hardline_wire::limits::Limits;
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::canonical::{Json, MAX_DEPTH};

/// A tool as its server defines it: everything of its definition but `_meta`.
///
/// All other members count, known or not: name, title, description, schemas, annotations, icons,
/// `execution` and what versions to come add. `_meta` does not: hosts and servers keep versions,
/// times and caches there, models do not see it, and a pin that alarms at every start is soon
/// ignored. Only the definition's own `_meta` is left out; a property of that name in a schema
/// counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Definition {
    name: String,
    /// The canonical JSON, an object with the member `name`.
    canonical: String,
    fingerprint: Fingerprint,
}

impl Definition {
    /// Longest definition in bytes of canonical JSON.
    ///
    /// Bounds what one tool can put into the lock file. The largest schemas seen in the field have
    /// a tenth of that. A longer definition is refused.
    pub const MAX_BYTES: usize = 1 << 20;

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

    /// The SHA-256 of the canonical JSON.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The definition as canonical JSON.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Takes a definition whose `_meta` is gone.
    pub(super) fn of(json: &Json) -> Result<Self, DefinitionError> {
        let name = json.get("name").and_then(Json::as_str).ok_or(DefinitionError::NoName)?;
        let canonical = json.to_text();
        if Self::MAX_BYTES < canonical.len() {
            return Err(DefinitionError::TooLong { limit: Self::MAX_BYTES });
        }
        let fingerprint = Fingerprint(Sha256::digest(&canonical).into());
        Ok(Self { name: name.to_owned(), canonical, fingerprint })
    }

    /// The definition as a value.
    pub(super) fn json(&self) -> Json {
        let limits = Limits::default();
        let checked = Checker::new(&limits).check(self.canonical.as_bytes()).ok();
        // It was made from a checked value within the same limits, so it is one.
        checked.and_then(|it| Json::new(it.value)).unwrap_or(Json::Object(Vec::new()))
    }
}

/// A SHA-256, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
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
    /// It is too long.
    #[error("a tool's definition is longer than {limit} bytes")]
    TooLong {
        /// The limit in force.
        limit: usize,
    },
}

/// A name that a server gave, in backquotes, escaped and shortened.
pub(super) fn shown(name: &str) -> String {
    format!("`{}`", Excerpt::new(name.as_bytes(), 80))
}
