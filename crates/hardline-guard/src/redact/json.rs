//! Secrets in JSON, recognized by their keys.

use std::borrow::Cow;

use hardline_wire::encode::push_json_string;
use hardline_wire::json::{Checker, Kind, Step, Value};
use hardline_wire::limits::Limits;

use super::program::Command;
use super::value::{is_placeholder, looks_random};
use super::{Edit, REDACTED, apply, key, text};

/// Limit on the depth of JSON inside strings of JSON.
const MAX_LAYERS: usize = 3;
/// Keys of objects whose members are schemas.
const SCHEMA_PLACES: [&str; 9] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
    "inputSchema",
    "input_schema",
    "outputSchema",
    "requestedSchema",
];
/// Keys of a schema that describe a value, besides `type`.
const SCHEMA_KEYS: [&str; 9] =
    ["$ref", "anyOf", "oneOf", "allOf", "not", "enum", "properties", "items", "pattern"];
/// Keys of a schema whose values are descriptions or names.
const SCHEMA_WORDS: [&str; 12] = [
    "type",
    "description",
    "title",
    "format",
    "enum",
    "required",
    "examples",
    "pattern",
    "$ref",
    "$comment",
    "$schema",
    "contentEncoding",
];
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];
/// Keys of arrays in which names and values alternate.
const HEADERS: [&str; 4] = ["headers", "rawHeaders", "raw_headers", "http_headers"];
/// Keys of arrays of names, in which no element is the value of another.
const NAMES: [&str; 10] = [
    "required", "enum", "fields", "columns", "keys", "names", "include", "exclude", "scopes",
    "tags",
];
/// Keys under which an object gives the name of its `value`.
const NAME_KEYS: [&str; 10] = [
    "name",
    "key",
    "header",
    "field",
    "label",
    "variable",
    "parameter",
    "option",
    "element",
    "selector",
];
/// Shortest secret in an array of tokens, which may also be the tokens of a text.
const MIN_TOKEN_BYTES: usize = 10;
/// Shortest value that counts as a secret by its looks beside the name of a secret.
const MIN_NAMED_BYTES: usize = 6;

/// Redacts JSON. Returns `None` if the line is not strict JSON.
pub(super) fn redact(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    redact_layer(line, MAX_LAYERS)
}

fn redact_layer(line: &[u8], layers: usize) -> Option<Cow<'_, [u8]>> {
    // Strict, so that every reader agrees on the keys found here.
    let checked = Checker::new(&Limits::default()).check(line).ok()?;
    let mut walk = Walk {
        levels: Vec::new(),
        key: None,
        held: Vec::new(),
        holders: 0,
        edits: Vec::new(),
        layers,
    };
    for step in checked.value.steps() {
        walk.step(&step);
    }
    let Walk { mut edits, .. } = walk;
    // Of two edits of one value, the one that hides all of it is shorter and wins.
    edits.sort_by_key(|edit| (edit.start, edit.with.len()));
    edits.dedup_by_key(|edit| edit.start);
    Some(apply(line, &edits))
}

/// State of a walk through a document.
struct Walk<'a> {
    levels: Vec<Level>,
    /// Key of the next value.
    key: Option<Cow<'a, str>>,
    /// Edits in objects under secret keys. They apply unless the object turns out to be a schema.
    held: Vec<Held>,
    /// Number of objects around the current position that are under a secret key.
    holders: usize,
    edits: Vec<Edit>,
    layers: usize,
}

struct Held {
    edit: Edit,
    /// True if the value is hidden in a schema as well.
    is_hidden_in_schema: bool,
}

/// An array or object around the current position.
#[derive(Default)]
struct Level {
    is_object: bool,
    /// Secrecy of its elements.
    secrecy: Secrecy,
    /// True if its members are schemas.
    is_schema_place: bool,
    /// For an object under a secret key: start of its edits in `held`.
    held_from: Option<usize>,
    schema: Schema,
    pair: Pair,
    list: List,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Secrecy {
    #[default]
    Open,
    /// Secret if it looks random.
    Doubtful,
    Secret,
}

/// Signs that an object is a schema.
#[derive(Default)]
struct Schema {
    is_in_place: bool,
    has_type: bool,
    has_words: bool,
    has_others: bool,
}

/// State of an object that may have a name and a value.
#[derive(Default)]
struct Pair {
    /// True if its name is that of a secret.
    is_named: bool,
    value: Option<Edit>,
}

/// State of an array of words.
#[derive(Default)]
struct List {
    command: Command,
    turns: Turns,
    length: usize,
    /// True if the previous word is the name of a secret.
    is_named: bool,
    /// Edit of the second word, if the first is the name of a secret.
    value: Option<Edit>,
}

/// Possible meaning of an array that contains the name of a secret.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Turns {
    /// A list of names.
    #[default]
    Never,
    /// A pair, if the value looks random.
    Perhaps,
    /// A pair in a list of pairs.
    Once,
    /// A sequence of pairs.
    Always,
}

impl Schema {
    fn is_one(&self) -> bool {
        self.is_in_place && (self.has_type || (self.has_words && !self.has_others))
    }
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
            && level.held_from.is_some()
        {
            let schema = &mut level.schema;
            schema.has_type |= SCHEMA_KEYS.contains(&&*key);
            if SCHEMA_WORDS.contains(&&*key) {
                // An ordinary object may have a `type` too, so this word alone proves nothing.
                schema.has_words |= key != "type";
            } else {
                schema.has_others = true;
            }
        }
        self.key = Some(key);
    }

    fn enter(&mut self, is_object: bool) {
        let key = self.key.take();
        let name = key.as_deref().unwrap_or_default();
        let mut level = Level { is_object, ..Level::default() };
        let mut secrecy = secrecy_of(name);
        if let Some(around) = self.levels.last_mut() {
            // `"type": ["string", "null"]` is a list of types.
            around.schema.has_type |= around.is_object && !is_object && name == "type";
            level.schema.is_in_place = around.is_schema_place;
            // An array, and a `value` beside a secret name, take their secrecy from around them.
            if !around.is_object || (around.pair.is_named && name == "value") {
                let inherited = if around.is_object { Secrecy::Secret } else { around.secrecy };
                secrecy = inherited;
            }
            around.list.length += 1;
            around.list.value = None;
            level.list.turns = if !around.is_object {
                Turns::Once
            } else if HEADERS.contains(&name) {
                Turns::Always
            } else if NAMES.contains(&name) {
                Turns::Never
            } else {
                Turns::Perhaps
            };
        }
        if is_object {
            level.is_schema_place = SCHEMA_PLACES.contains(&name);
            if secrecy == Secrecy::Secret {
                level.held_from = Some(self.held.len());
                self.holders += 1;
            }
        } else {
            level.secrecy = secrecy;
        }
        self.levels.push(level);
    }

    fn leave(&mut self) {
        self.key = None;
        let Some(level) = self.levels.pop() else { return };
        if let Some(from) = level.held_from {
            self.holders = self.holders.saturating_sub(1);
            if !level.schema.is_one() {
                self.edits.extend(self.held.drain(from.min(self.held.len())..).map(|it| it.edit));
            // Inside another secret object, the outer one decides.
            } else if self.holders == 0 {
                let hidden = self.held.drain(..).filter(|it| it.is_hidden_in_schema);
                self.edits.extend(hidden.map(|it| it.edit));
            }
        }
        self.edits.extend(level.pair.value.filter(|_| level.pair.is_named));
        self.edits.extend(level.list.value.filter(|_| level.list.length == 2));
    }

    fn scalar(&mut self, value: Value<'a>) {
        let key = self.key.take();
        let is_text = value.kind() == Kind::String;
        if !is_text && value.kind() != Kind::Number {
            return;
        }
        let is_top = self.levels.len() <= 1;
        let name = key.as_deref().unwrap_or_default();
        // Peers match answers by these values, so they must stay readable.
        if key::is_opaque(name) || (is_top && (name == "id" || name == "method")) {
            return;
        }
        let content = if is_text { value.as_str().unwrap_or_default() } else { Cow::Borrowed("") };
        let bytes = content.as_bytes();
        let in_list = self.levels.last().filter(|level| !level.is_object);
        let is_secret = match in_list.map_or_else(|| secrecy_of(name), |level| level.secrecy) {
            Secrecy::Secret => !is_directory(name, value),
            Secrecy::Doubtful => looks_random(bytes, MIN_TOKEN_BYTES),
            Secrecy::Open => false,
        };
        if is_secret {
            self.edits.extend(hidden(value));
            return;
        }
        if self.holders > 0
            && let Some(edit) = hidden(value)
        {
            let is_hidden_in_schema = !SCHEMA_WORDS.contains(&name)
                && in_list.is_none()
                && looks_random(bytes, MIN_NAMED_BYTES);
            self.held.push(Held { edit, is_hidden_in_schema });
        }
        if let Some(level) = self.levels.last_mut() {
            if level.is_object {
                level.member(name, &content, value);
            } else {
                self.edits.extend(level.list.word(&content, value));
            }
        }
        if is_text {
            self.edits.extend(self.inside(value, &content));
        }
    }

    /// Redacts a string that is not a secret as a whole.
    fn inside(&self, value: Value<'_>, content: &str) -> Option<Edit> {
        let bytes = content.as_bytes();
        // Strings and numbers inside of strings need no JSON parser.
        let is_json = matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['));
        let layer =
            if is_json && self.layers > 0 { redact_layer(bytes, self.layers - 1) } else { None };
        let redacted = layer.unwrap_or_else(|| text::redact(bytes));
        let Cow::Owned(redacted) = redacted else { return None };
        let mut with = String::with_capacity(redacted.len() + 2);
        push_json_string(&mut with, &String::from_utf8_lossy(&redacted));
        Some(edit(value, Cow::Owned(with)))
    }
}

impl Level {
    /// Examines a member of an object that may be a pair or a schema.
    fn member(&mut self, key: &str, content: &str, value: Value<'_>) {
        let bytes = content.as_bytes();
        match key {
            "type" => self.schema.has_type |= TYPES.contains(&content),
            "value" => self.pair.value = hidden(value),
            "text" | "content" if looks_random(bytes, MIN_NAMED_BYTES) => {
                self.pair.value = hidden(value);
            }
            _ if NAME_KEYS.contains(&key) => self.pair.is_named |= key::is_secret(bytes),
            _ => {}
        }
    }
}

impl List {
    /// Examines an element. Returns its edit if that is certain now; other edits follow at the end
    /// of the list.
    fn word(&mut self, content: &str, value: Value<'_>) -> Option<Edit> {
        let (index, bytes) = (self.length, content.as_bytes());
        self.length += 1;
        self.value = None;
        let is_name = key::is_secret(bytes);
        // In a list of names and values, names stand at even positions.
        let is_value = std::mem::replace(&mut self.is_named, is_name && index % 2 == 0);
        let secret = self.command.word(content);
        // `--token $TOKEN` shows a command, not a secret.
        if is_placeholder(bytes) {
            return None;
        }
        if is_value && !is_name {
            match self.turns {
                Turns::Always => return hidden(value),
                Turns::Once if index == 1 => self.value = hidden(value),
                Turns::Perhaps if index == 1 && looks_random(bytes, MIN_NAMED_BYTES) => {
                    self.value = hidden(value);
                }
                _ => {}
            }
        }
        let mut with = String::new();
        push_json_string(&mut with, &[content.get(..secret?)?, REDACTED].concat());
        Some(edit(value, Cow::Owned(with)))
    }
}

fn secrecy_of(key: &str) -> Secrecy {
    match key.as_bytes() {
        key if key::is_secret(key) => Secrecy::Secret,
        key if key::is_doubtful(key) => Secrecy::Doubtful,
        _ => Secrecy::Open,
    }
}

/// Returns the edit that hides a whole value, unless the value is empty or hidden already.
fn hidden(value: Value<'_>) -> Option<Edit> {
    let is_nothing = ["\"\"", "\"[redacted]\""].contains(&value.text());
    (!is_nothing).then(|| edit(value, Cow::Borrowed("\"[redacted]\"")))
}

fn edit(value: Value<'_>, with: Cow<'static, str>) -> Edit {
    Edit { start: value.offset(), end: value.offset() + value.text().len(), with }
}

/// Returns true for a working directory: `PWD` is not a password.
fn is_directory(key: &str, value: Value<'_>) -> bool {
    key.eq_ignore_ascii_case("pwd") && value.text().starts_with("\"/")
}
