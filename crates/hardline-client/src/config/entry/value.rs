//! Reads typed values from an entry, and reports values of the wrong type.

use super::Entry;
use crate::config::document::{Member, Node, Value};
use crate::config::error::Place;
use crate::config::template::Template;
use crate::config::{Dialect, Problem};

/// Number of bytes of one key in the path of an error.
const MAX_KEY_BYTES: usize = 100;

/// Limit on the arguments, variables or headers of one server. Each costs memory, and no system would start
/// a program with more.
pub(super) const MAX_ITEMS: usize = 10_000;

impl Entry<'_> {
    /// Reads an object of strings, in text order.
    pub(super) fn map(&mut self, key: &str, node: &Node) -> Vec<(String, Template)> {
        let Some(members) = node.members() else {
            self.wrong_kind(key, node, "an object", "write it as {\"NAME\": \"value\"}");
            return Vec::new();
        };
        if let Some(twice) = node.duplicate() {
            self.report(&join(key, &twice.key), &twice.node, Problem::Duplicate);
        }
        // Reported once; the loop below ignores the excess.
        self.check_count(key, node, members.len());
        let mut values = Vec::new();
        for Member { key: name, node, .. } in members.iter().take(MAX_ITEMS) {
            let key = join(key, name);
            let text = match &node.value {
                Value::String(text) => text.clone(),
                // VS Code accepts numbers, and `null` for a variable that is not to be set.
                Value::Other(text) if text == "null" && self.scope.dialect == Dialect::VsCode => {
                    continue;
                }
                Value::Other(text) if text != "null" => {
                    let found = found(node);
                    if self.scope.dialect != Dialect::VsCode {
                        self.report(&key, node, Problem::Unquoted { found });
                    }
                    text.clone()
                }
                _ => {
                    self.wrong_kind(&key, node, "a string", "put the value in quotes");
                    continue;
                }
            };
            let position = self.document.place(node.range.start);
            let template = self.without_nul(Template { text, key, position });
            values.extend(template.map(|template| (name.clone(), template)));
        }
        values
    }

    pub(super) fn optional(&mut self, node: &Node, key: &str) -> Option<Template> {
        let given = value(node, key)?;
        self.template(&self.path(key), given)
    }

    pub(super) fn template(&mut self, key: &str, node: &Node) -> Option<Template> {
        let text = self.string(key, node)?;
        let position = self.document.place(node.range.start);
        self.without_nul(Template { text, key: key.to_owned(), position })
    }

    pub(super) fn without_nul(&mut self, template: Template) -> Option<Template> {
        if template.text.contains('\0') {
            self.report_at(&template.key, template.position, Problem::Nul);
            return None;
        }
        Some(template)
    }

    pub(super) fn string(&mut self, key: &str, node: &Node) -> Option<String> {
        let text = node.as_str();
        if text.is_none() {
            self.wrong_kind(key, node, "a string", "put the value in quotes");
        }
        text.map(str::to_owned)
    }

    pub(super) fn check_count(&mut self, key: &str, node: &Node, count: usize) {
        if count > MAX_ITEMS {
            self.report(key, node, Problem::TooMany { max: MAX_ITEMS });
        }
    }

    pub(super) fn wrong_kind(
        &mut self,
        key: &str,
        node: &Node,
        expected: &'static str,
        help: &'static str,
    ) {
        self.report(key, node, Problem::Kind { expected, found: found(node), help });
    }

    pub(super) fn path(&self, key: &str) -> String {
        join(&self.key, key)
    }

    pub(super) fn report(&mut self, key: &str, node: &Node, problem: Problem) {
        self.report_at(key, self.document.place(node.range.start), problem);
    }

    pub(super) fn report_at(&mut self, key: &str, position: (usize, usize), problem: Problem) {
        let place = Place {
            file: self.scope.file.clone(),
            position: Some(position),
            server: Some(self.scope.server.clone()),
            key: Some(key.to_owned()),
        };
        // A full list still marks the entry as broken.
        self.is_broken |= self.mistakes.add(place, problem);
    }
}

/// Appends a key to a path of keys. Truncates long keys: every value stores its path, for display only.
pub(in crate::config) fn join(path: &str, key: &str) -> String {
    let key = key.get(..key.floor_char_boundary(MAX_KEY_BYTES)).unwrap_or(key);
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns the type of a value, in words.
pub(in crate::config) fn found(node: &Node) -> &'static str {
    match &node.value {
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::String(_) => "a string",
        Value::Other(text) => match &**text {
            "null" => "null",
            "true" | "false" => "a boolean",
            _ => "a number",
        },
    }
}

/// Returns the value of a key. A `null` counts as absent.
pub(super) fn value<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    let found = node.member(key).map(|member| &member.node);
    found.filter(|node| !matches!(&node.value, Value::Other(text) if text == "null"))
}
