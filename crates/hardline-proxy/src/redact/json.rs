//! Secrets in JSON, by the keys that they stand under.

use std::borrow::Cow;

use hardline_wire::encode::push_json_string;
use hardline_wire::json::{Checker, Kind, Step, Value};
use hardline_wire::limits::Limits;

use super::{Edit, REDACTED, apply, key, text};

/// How often JSON is looked for in a string of JSON.
const MAX_LAYERS: usize = 3;
/// What an object has that describes a value instead of holding one.
const SCHEMA_KEYS: [&str; 8] =
    ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "description", "properties"];

/// Takes secrets out of JSON. `None` if it is none.
pub(super) fn redact(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    redact_layer(line, MAX_LAYERS)
}

fn redact_layer(line: &[u8], layers: usize) -> Option<Cow<'_, [u8]>> {
    let checked = Checker::new(&Limits::default()).check(line).ok()?;
    let mut walk = Walk { levels: Vec::new(), key: None, holder: None, edits: Vec::new(), layers };
    for step in checked.value.steps() {
        walk.step(&step);
    }
    let Walk { mut edits, .. } = walk;
    // What is hidden as a whole is shorter than what is left of it.
    edits.sort_by_key(|edit| (edit.start, edit.with.len()));
    edits.dedup_by_key(|edit| edit.start);
    Some(apply(line, &edits))
}

/// Where a walk is, and what it found.
struct Walk<'a> {
    levels: Vec<Level>,
    /// The key that the next value stands under.
    key: Option<Cow<'a, str>>,
    /// Which of the levels is the outermost object under a secret's key: it decides for all in it.
    holder: Option<usize>,
    edits: Vec<Edit>,
    layers: usize,
}

/// An array or object around the current place.
#[derive(Default)]
struct Level {
    is_object: bool,
    /// Whether all that is in it is secret.
    is_secret: bool,
    /// For an object under a secret's key: what is hidden unless it turns out to be a schema.
    held: Option<Vec<Edit>>,
    is_schema: bool,
    /// Whether its `name` or `key` is that of a secret, and its `value`.
    is_named: bool,
    value: Option<Edit>,
}

impl<'a> Walk<'a> {
    fn step(&mut self, step: &Step<'a>) {
        match step {
            Step::Key(key) => self.enter_member(key.as_str().unwrap_or_default()),
            Step::Enter(kind, _) => self.enter(*kind == Kind::Object),
            Step::Leave(_) => self.leave(),
            Step::Scalar(value) => self.scalar(*value),
        }
    }

    fn enter_member(&mut self, key: Cow<'a, str>) {
        if let Some(level) = self.levels.last_mut()
            && SCHEMA_KEYS.contains(&&*key)
        {
            level.is_schema = true;
        }
        self.key = Some(key);
    }

    fn enter(&mut self, is_object: bool) {
        let key = self.key.take();
        let around = self.levels.last();
        let is_key_secret = key.is_some_and(|key| key::is_secret(key.as_bytes()));
        let is_secret =
            is_key_secret || around.is_some_and(|level| level.is_secret && !level.is_object);
        let is_holder = is_secret && is_object && self.holder.is_none();
        if is_holder {
            self.holder = Some(self.levels.len());
        }
        let held = is_holder.then(Vec::new);
        let is_secret = is_secret && !is_object;
        self.levels.push(Level { is_object, is_secret, held, ..Level::default() });
    }

    fn leave(&mut self) {
        self.key = None;
        let Some(level) = self.levels.pop() else { return };
        self.holder = self.holder.filter(|holder| *holder < self.levels.len());
        self.edits.extend(level.held.filter(|_| !level.is_schema).into_iter().flatten());
        self.edits.extend(level.value.filter(|_| level.is_named));
    }

    fn scalar(&mut self, value: Value<'a>) {
        let key = self.key.take();
        let is_text = value.kind() == Kind::String;
        if !is_text && value.kind() != Kind::Number {
            return;
        }
        let is_top = self.levels.len() <= 1;
        let name = key.as_deref().unwrap_or_default();
        if key::is_opaque(name) || (is_top && (name == "id" || name == "method")) {
            return;
        }
        let is_in_secret = self.levels.last().is_some_and(|level| level.is_secret);
        if is_in_secret || key::is_secret(name.as_bytes()) {
            if !is_directory(name, value) {
                self.edits.extend(hidden(value));
            }
            return;
        }
        if let Some(level) = self.levels.last_mut() {
            match name {
                "name" | "key" | "header" => {
                    let content = value.as_str().unwrap_or_default();
                    level.is_named |= key::is_secret(content.as_bytes());
                }
                "value" => level.value = hidden(value),
                _ => {}
            }
        }
        let holder = self.holder.and_then(|holder| self.levels.get_mut(holder));
        if let Some(held) = holder.and_then(|level| level.held.as_mut()) {
            held.extend(hidden(value));
        }
        if is_text {
            self.edits.extend(self.inside(value));
        }
    }

    /// What is left of a string that is no secret as a whole.
    fn inside(&self, value: Value<'_>) -> Option<Edit> {
        let content = value.as_str()?;
        let bytes = content.as_bytes();
        let is_json = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
        let layer =
            if is_json && 0 < self.layers { redact_layer(bytes, self.layers - 1) } else { None };
        let redacted = layer.unwrap_or_else(|| text::redact(bytes));
        let Cow::Owned(redacted) = redacted else { return None };
        let mut with = String::with_capacity(redacted.len() + 2);
        push_json_string(&mut with, &String::from_utf8_lossy(&redacted));
        Some(edit(value, Cow::Owned(with)))
    }
}

/// The value as a whole, unless there is nothing in it.
fn hidden(value: Value<'_>) -> Option<Edit> {
    let is_nothing = ["\"\"", "\"[redacted]\""].contains(&value.text());
    (!is_nothing).then(|| edit(value, Cow::Owned(format!("\"{REDACTED}\""))))
}

fn edit(value: Value<'_>, with: Cow<'static, str>) -> Edit {
    Edit { start: value.offset(), end: value.offset() + value.text().len(), with }
}

/// Whether it is where somebody works: `PWD` is no password.
fn is_directory(key: &str, value: Value<'_>) -> bool {
    key.eq_ignore_ascii_case("pwd") && value.text().starts_with("\"/")
}
