//! Reads `hardline.lock`.

use hardline_wire::json::{Checker, JsonError, Kind, Value};
use hardline_wire::limits::Limits;
use thiserror::Error;

use super::canonical::{Json, MAX_DEPTH};
use super::definition::{Definition, shown};
use super::lock::Lock;

/// Why a text is no lock file. The doing of whoever wrote, edited or merged it.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("line {line}, column {column}: {}{message}", prefix(key))]
#[non_exhaustive]
pub struct LockError {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// Where in the file, as ``servers.`docs` ``; empty for faults of its syntax.
    pub key: String,
    /// What is wrong, and what to do.
    pub message: String,
}

fn prefix(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}

/// What frames a tool in the file: added to the limits of definitions.
const FRAME_DEPTH: usize = 6;

impl Lock {
    /// Reads the text of `hardline.lock`.
    ///
    /// # Errors
    ///
    /// [`LockError`], which says where the text is no lock file, and what to do.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        Reader { text }.lock()
    }
}

struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn lock(&self) -> Result<Lock, LockError> {
        // Twice the limit leaves room for what frames the tools, and for other spellings.
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
                Some(newer) if Lock::VERSION < newer => {
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
            let [tools] = self.members(value, &key, ["tools"])?;
            self.expect(tools, Kind::Object, &key)?;
            lock.add_server(server.clone().into_owned());
            for (name, value) in tools.members() {
                let key = format!("{key}.tools.{}", shown(&name));
                let definition = self.tool(&name, value, &key)?;
                let outcome = lock.approve(&server, &definition);
                outcome.map_err(|full| self.error(value.offset(), &key, full.to_string()))?;
            }
        }
        Ok(lock)
    }

    fn tool(&self, name: &str, value: Value<'_>, key: &str) -> Result<Definition, LockError> {
        let [sha256, written] = self.members(value, key, ["sha256", "definition"])?;
        self.expect(sha256, Kind::String, key)?;
        self.expect(written, Kind::Object, key)?;
        let definition = match Json::new(written) {
            Some(json) => Definition::of(&json).map_err(|error| error.to_string()),
            None => Err(format!("the definition is nested deeper than {MAX_DEPTH}")),
        };
        let definition =
            definition.map_err(|message| self.error(written.offset(), key, message))?;
        if definition.name() != name {
            let message = format!("the definition is of {}", shown(definition.name()));
            return Err(self.error(written.offset(), key, message));
        }
        if sha256.as_str().as_deref() != Some(&definition.fingerprint().to_string()) {
            let message = "the definition does not match its sha256: one of them was edited, or \
                           merged wrongly; remove the tool here and approve it again with \
                           `hardline pin approve`";
            return Err(self.error(sha256.offset(), key, message.to_owned()));
        }
        Ok(definition)
    }

    /// The members of an object that has these and no others.
    fn members<'a, const N: usize>(
        &self,
        value: Value<'a>,
        key: &str,
        names: [&str; N],
    ) -> Result<[Value<'a>; N], LockError> {
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
        if let Some((_, missing)) = found.iter().zip(names).find(|(it, _)| it.is_none()) {
            let message = format!("`{missing}` is missing");
            return Err(self.error(value.offset(), key, message));
        }
        // All are there: the value itself stands in for none.
        Ok(found.map(|it| it.unwrap_or(value)))
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
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = at - memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1) + 1;
        LockError { line, column, key: key.to_owned(), message }
    }
}
