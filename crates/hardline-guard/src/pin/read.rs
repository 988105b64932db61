//! Parses lock files.

use hardline_wire::json::{Checker, JsonError, Kind, Value};
use hardline_wire::limits::Limits;
use thiserror::Error;

use super::canonical::{Json, MAX_DEPTH};
use super::definition::{Definition, DefinitionError, shown};
use super::fingerprint::Fingerprint;
use super::instructions::Instructions;
use super::lock::{Lock, ServerPins};

/// Error returned when a text is not a valid lock file. Its author, or the merge of two versions,
/// caused it.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("line {line}, column {column}: {}{message}", prefix(key))]
#[non_exhaustive]
pub struct LockError {
    /// Line number, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// Path in the file, such as ``servers.`docs` ``; empty for a syntax error.
    pub key: String,
    /// Description of the fault, and the next step.
    pub message: String,
}

fn prefix(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}

/// Depth of the syntax around a tool in the file, added to the depth limit of definitions.
const FRAME_DEPTH: usize = 6;

impl Lock {
    /// Parses the text of a lock file.
    ///
    /// # Errors
    ///
    /// [`LockError`] with the place of the first fault, and the next step.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        Reader { text }.lock()
    }
}

/// A value as it is stored in the file.
enum StoredValue {
    Whole(Json),
    Outline(Json),
}

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn lock(&self) -> Result<Lock, LockError> {
        // Twice the limit leaves room for the syntax around the tools, and for other formatting.
        let limits = Limits::default()
            .with_max_frame_bytes(2 * Lock::MAX_BYTES)
            .and_then(|limits| limits.with_max_depth(MAX_DEPTH + FRAME_DEPTH))
            .unwrap_or_default();
        let mut checker = Checker::new(&limits);
        let checked = checker.check(self.text.as_bytes()).map_err(|error| self.syntax(error))?;

        let top = checked.value;
        let [version, servers] = self.members(top, "", ["version", "servers"])?;
        if version.as_i64() != Some(Lock::VERSION) {
            let message = match version.as_i64() {
                Some(newer) if newer > Lock::VERSION => {
                    format!("version {newer} is from a newer Hardline: update this one")
                }
                _ => format!("expected {}, the version of the format", Lock::VERSION),
            };
            return Err(self.error(version.offset(), "version", message));
        }

        let mut lock = Lock::new();
        self.expect(servers, Kind::Object, "servers")?;
        for (server, value) in servers.members() {
            let key = format!("servers.{}", shown(&server));
            lock.add_server(server.into_owned(), self.server(value, &key)?);
        }
        Ok(lock)
    }

    fn server(&self, value: Value<'_>, key: &str) -> Result<ServerPins, LockError> {
        let [instructions, tools] = self.optional(value, key, ["instructions", "tools"])?;
        if instructions.is_none() && tools.is_none() {
            return Err(self.error(value.offset(), key, "`tools` is missing".to_owned()));
        }
        let instructions = instructions.map(|value| {
            let key = format!("{key}.instructions");
            self.pin(value, &key, |kept| {
                Ok(match kept {
                    StoredValue::Whole(json) => Instructions::of(&json).definition,
                    StoredValue::Outline(json) => Instructions::of_outline(&json).definition,
                })
            })
        });
        let instructions = instructions.transpose()?.map(|definition| Instructions { definition });
        let Some(tools) = tools else { return Ok(ServerPins::read(instructions, None)) };
        self.expect(tools, Kind::Object, key)?;
        let mut read = Vec::new();
        for (name, value) in tools.members() {
            let key = format!("{key}.tools.{}", shown(&name));
            read.push(self.tool(&name, value, &key)?);
        }
        Ok(ServerPins::read(instructions, Some(read)))
    }

    fn tool(&self, name: &str, value: Value<'_>, key: &str) -> Result<Definition, LockError> {
        let definition = self.pin(value, key, |kept| match kept {
            StoredValue::Whole(json) => Definition::of(&json),
            StoredValue::Outline(json) => Definition::of_outline(&json),
        })?;
        if definition.name() != name {
            let message = format!("the definition is of {}", shown(definition.name()));
            return Err(self.error(value.offset(), key, message));
        }
        Ok(definition)
    }

    /// Parses the stored definition of a tool or of instructions, and compares it with its digest.
    fn pin(
        &self,
        value: Value<'_>,
        key: &str,
        make: impl Fn(StoredValue) -> Result<Definition, DefinitionError>,
    ) -> Result<Definition, LockError> {
        let [sha256, whole, outline] =
            self.optional(value, key, ["sha256", "definition", "outline"])?;
        let missing = |name: &str| self.error(value.offset(), key, format!("`{name}` is missing"));
        let sha256 = sha256.ok_or_else(|| missing("sha256"))?;
        self.expect(sha256, Kind::String, key)?;
        let written = whole.or(outline).ok_or_else(|| missing("definition"))?;
        if whole.is_some() && outline.is_some() {
            let message = "`definition` and `outline` exclude each other".to_owned();
            return Err(self.error(value.offset(), key, message));
        }
        self.expect(written, Kind::Object, key)?;
        let Some(json) = Json::new(written) else {
            let message = format!("the definition is nested deeper than {MAX_DEPTH}");
            return Err(self.error(written.offset(), key, message));
        };
        // An uppercase digest does not match: the file is written in one form only.
        let sha256_text = sha256.as_str().unwrap_or_default();
        // Older versions stored definitions up to four times as long whole.
        let is_old = whole.is_some() && Fingerprint::of(&json.to_text()).to_string() == sha256_text;
        let kept =
            if whole.is_some() { StoredValue::Whole(json) } else { StoredValue::Outline(json) };
        let definition =
            make(kept).map_err(|error| self.error(written.offset(), key, error.to_string()))?;
        if !is_old && sha256_text != definition.fingerprint().to_string() {
            let message = "the definition does not match its sha256: one of them was edited, or \
                           merged wrongly; remove it here and approve it again with \
                           `hardline pin approve`";
            return Err(self.error(sha256.offset(), key, message.to_owned()));
        }
        Ok(definition)
    }

    /// Returns the members of an object that has exactly these.
    fn members<'a, const N: usize>(
        &self,
        value: Value<'a>,
        key: &str,
        names: [&str; N],
    ) -> Result<[Value<'a>; N], LockError> {
        let found = self.optional(value, key, names)?;
        if let Some((_, missing)) = found.iter().zip(names).find(|(it, _)| it.is_none()) {
            let message = format!("`{missing}` is missing");
            return Err(self.error(value.offset(), key, message));
        }
        // None is missing here, so the fallback is never used.
        Ok(found.map(|it| it.unwrap_or(value)))
    }

    /// Returns the members of an object that may have these and no others.
    fn optional<'a, const N: usize>(
        &self,
        value: Value<'a>,
        key: &str,
        names: [&str; N],
    ) -> Result<[Option<Value<'a>>; N], LockError> {
        self.expect(value, Kind::Object, key)?;
        let mut found = [None; N];
        for (name, member) in value.members() {
            let slot = names.iter().position(|it| *it == name);
            let Some(slot) = slot.and_then(|index| found.get_mut(index)) else {
                let message = format!("no such member: {}", shown(&name));
                return Err(self.error(member.offset(), key, message));
            };
            *slot = Some(member);
        }
        Ok(found)
    }

    fn expect(&self, value: Value<'_>, kind: Kind, key: &str) -> Result<(), LockError> {
        if value.kind() == kind {
            return Ok(());
        }
        let wanted = if kind == Kind::Object { "an object" } else { "a string" };
        Err(self.error(value.offset(), key, format!("expected {wanted}")))
    }

    fn syntax(&self, error: JsonError) -> LockError {
        let at = self.text.get(..error.offset).map_or(0, str::len);
        // A merge conflict is the usual cause of a syntax error, so it gets its own message.
        let is_conflict = |line: &str| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>");
        let message = if self.text.lines().any(is_conflict) {
            "the file has conflict markers: resolve the merge first".to_owned()
        } else if self.text.trim().is_empty() {
            "the file is empty".to_owned()
        } else {
            error.reason.to_string()
        };
        self.error(at, "", message)
    }

    fn error(&self, at: usize, key: &str, message: String) -> LockError {
        // Errors are rare, so lines are counted only for them.
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = at - memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1) + 1;
        LockError { line, column, key: key.to_owned(), message }
    }
}
