//! Reads configurations in the simplest possible way, to check the edits of `install`.

use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

/// The expected form of wrapped entries.
pub(super) struct Wrapped {
    pub(super) program: &'static str,
    /// Paths of keys to the objects that contain servers; `*` matches any key.
    pub(super) places: &'static [&'static [&'static str]],
}

/// Reads JSON with comments and trailing commas, or TOML.
pub(super) fn parse(text: &str, is_toml: bool) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    if is_toml {
        return of_table(text, DeTable::parse(text).unwrap().get_ref());
    }
    let plain = without_comments(text).replace("\\ud83d\"", "\\ufffd\"");
    match plain.trim() {
        "" => Value::Null,
        plain => serde_json::from_str(plain).unwrap(),
    }
}

impl Wrapped {
    /// Unwraps every entry, and returns their number.
    pub(super) fn undo(&self, value: &mut Value) -> usize {
        let entries = self.places.iter().flat_map(|keys| entries(value, keys)).collect::<Vec<_>>();
        let mut count = 0;
        for path in entries {
            let mut entry = path.iter().fold(&mut *value, |value, key| &mut value[key]);
            let name = path.last().unwrap();
            let mut key = "command";
            if entry["command"].is_object() {
                (entry, key) = (&mut entry["command"], "path");
            }
            if entry[key] == self.program {
                unwrap(entry, key, name);
                count += 1;
            }
        }
        count
    }
}

/// Removes empty `args`: without a backup, `uninstall` cannot know that there was no list.
pub(super) fn forget_empty_args(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("args") == Some(&json!([])) {
                members.remove("args");
            }
            members.values_mut().for_each(forget_empty_args);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_empty_args),
        _ => {}
    }
}

fn unwrap(entry: &mut Value, key: &str, name: &str) {
    let args = entry["args"].as_array().unwrap().clone();
    let mut ours = match name {
        "" => vec![json!("wrap")],
        _ if name.starts_with('-') => {
            vec![json!("wrap"), json!(format!("--name={name}"))]
        }
        _ => vec![json!("wrap"), json!("--name"), json!(name)],
    };
    // Each entry names the directories of policy and state.
    for option in ["--config-dir", "--state-dir"] {
        let path = args[ours.len() + 1].clone();
        assert!(path.as_str().unwrap().starts_with('/'), "{args:?}");
        ours.extend([json!(option), path]);
    }
    ours.push(json!("--"));
    assert_eq!(args[..ours.len()], ours);
    entry[key] = args[ours.len()].clone();
    entry["args"] = args[ours.len() + 1..].into();
}

fn entries(value: &Value, keys: &[&str]) -> Vec<Vec<String>> {
    let Some(object) = value.as_object() else { return Vec::new() };
    let is_last = keys.is_empty();
    let found = object.iter().filter(|(key, _)| is_last || keys[0] == "*" || keys[0] == **key);
    found
        .flat_map(|(key, value)| {
            let below = if is_last {
                if value["command"].is_null() { vec![] } else { vec![vec![]] }
            } else {
                entries(value, &keys[1..])
            };
            below.into_iter().map(move |rest| [vec![key.clone()], rest].concat())
        })
        .collect()
}

fn of_table(text: &str, table: &DeTable<'_>) -> Value {
    let members = table.iter().map(|(key, value)| {
        (key.get_ref().to_string(), of_value(text, value.get_ref(), &value.span()))
    });
    Value::Object(members.collect::<Map<_, _>>())
}

fn of_value(text: &str, value: &DeValue<'_>, span: &std::ops::Range<usize>) -> Value {
    match value {
        DeValue::String(string) => json!(string),
        DeValue::Array(array) => {
            array.iter().map(|it| of_value(text, it.get_ref(), &it.span())).collect()
        }
        DeValue::Table(table) => of_table(text, table),
        _ => json!({ "as written": text[span.clone()] }),
    }
}

fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let length = match char {
            '"' => {
                let mut end = 1;
                while !rest[end..].starts_with('"') {
                    end += if rest[end..].starts_with('\\') {
                        2
                    } else {
                        rest[end..].chars().next().unwrap().len_utf8()
                    };
                }
                plain.push_str(&rest[..=end]);
                end + 1
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' => rest.find("*/").unwrap() + 2,
            ']' | '}' => {
                // Drops a trailing comma and the whitespace before the bracket.
                let end = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(end);
                plain.push(char);
                1
            }
            _ => {
                plain.push(char);
                char.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    plain
}
