//! Readable differences between two definitions.

use std::cmp::Ordering;
use std::fmt;

use hardline_wire::excerpt::Excerpt;

use super::canonical::Json;
use super::definition::Definition;
use super::outline::{outline, words};

/// The differences between two definitions of a tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Diff {
    /// The changes, in the order of the canonical form; at most [`Diff::MAX_CHANGES`].
    pub changes: Vec<Change>,
    /// Number of changes that are not listed. All changes inside one of their members count as one.
    pub more: usize,
}

/// One change.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// Path of the value, such as `inputSchema.properties.path`.
    pub path: String,
    /// Kind of the change.
    pub kind: ChangeKind,
}

/// Kind of a change. Values are JSON, escaped and shortened, safe to print on a terminal.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The value is new.
    Added(String),
    /// The value was removed.
    Removed(String),
    /// The value changed.
    Changed {
        /// The old value.
        before: String,
        /// The new value.
        after: String,
    },
    /// A list has the same elements in another order.
    Reordered,
}

impl Diff {
    /// Limit on listed changes; further ones are only counted.
    ///
    /// Bounds the output if a server changes everything.
    pub const MAX_CHANGES: usize = 50;

    /// Returns the differences between two definitions.
    pub fn between(before: &Definition, after: &Definition) -> Self {
        let mut diff = Self::default();
        if before.fingerprint() != after.fingerprint() {
            let (mut old, mut new) = (before.json(), after.json());
            // Compares outlines with outlines: otherwise, equal long parts would look changed.
            if before.is_outline() && !after.is_outline() {
                new = outline(&new);
            } else if after.is_outline() && !before.is_outline() {
                old = outline(&old);
            }
            diff.compare("", &old, &new);
            // No stored part differs, so only the fingerprints can show the change.
            if diff.is_empty() {
                let whole = |it: &Definition| format!("SHA-256 {}", it.fingerprint());
                let kind = ChangeKind::Changed { before: whole(before), after: whole(after) };
                diff.push("definition", kind);
            }
        }
        diff
    }

    /// Returns true if nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    fn compare(&mut self, path: &str, before: &Json, after: &Json) {
        match (before, after) {
            _ if before == after || self.count_if_full() => {}
            // A mark would look like an object with a changed digest.
            _ if words(before).is_some() || words(after).is_some() => {
                let (before, after) = (excerpt(before), excerpt(after));
                self.push(path, ChangeKind::Changed { before, after });
            }
            (Json::Object(old), Json::Object(new)) => self.compare_members(path, old, new),
            (Json::Array(old), Json::Array(new)) => {
                if old.iter().chain(new).all(is_scalar) {
                    self.compare_sets(path, old, new);
                } else {
                    self.compare_lists(path, old, new);
                }
            }
            (Json::String(old), Json::String(new)) => {
                let start = start_of_difference(old, new);
                let (before, after) = (excerpt_from(old, start), excerpt_from(new, start));
                self.push(path, ChangeKind::Changed { before, after });
            }
            _ => {
                let (before, after) = (excerpt(before), excerpt(after));
                self.push(path, ChangeKind::Changed { before, after });
            }
        }
    }

    /// Compares objects, whose members are sorted.
    fn compare_members(&mut self, path: &str, old: &[(String, Json)], new: &[(String, Json)]) {
        let by_key = |(one, _): &(String, Json), (other, _): &(String, Json)| {
            one.encode_utf16().cmp(other.encode_utf16())
        };
        for pair in pairs(old, new, by_key) {
            match pair {
                (Some((_, before)), Some((_, after))) if before == after => {}
                _ if self.count_if_full() => {}
                (Some((key, before)), Some((_, after))) => {
                    self.compare(&member(path, key), before, after);
                }
                (Some((key, value)), None) => {
                    self.push(&member(path, key), ChangeKind::Removed(excerpt(value)));
                }
                (None, Some((key, value))) => {
                    self.push(&member(path, key), ChangeKind::Added(excerpt(value)));
                }
                (None, None) => {}
            }
        }
    }

    /// Compares lists of plain values (`required`, `enum`) as sets, and reports removed and added
    /// values.
    fn compare_sets(&mut self, path: &str, old: &[Json], new: &[Json]) {
        let sorted = |list: &[Json]| {
            let mut texts: Vec<_> = list.iter().map(Json::to_text).collect();
            texts.sort();
            texts
        };
        let (old, new) = (sorted(old), sorted(new));
        if old == new {
            return self.push(path, ChangeKind::Reordered);
        }
        let shown = |text: &String| Excerpt::of_json(text, MAX_EXCERPT).to_string();
        for pair in pairs(&old, &new, Ord::cmp) {
            match pair {
                (Some(text), None) => self.push(path, ChangeKind::Removed(shown(text))),
                (None, Some(text)) => self.push(path, ChangeKind::Added(shown(text))),
                _ => {}
            }
        }
    }

    /// Compares lists by position, after removing equal elements at both ends.
    fn compare_lists(&mut self, path: &str, old: &[Json], new: &[Json]) {
        // One inserted element must not make all later ones look changed.
        let same_start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let (old, new) =
            (old.get(same_start..).unwrap_or_default(), new.get(same_start..).unwrap_or_default());
        let same_end =
            old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
        let (old, new) = (
            old.get(..old.len() - same_end).unwrap_or_default(),
            new.get(..new.len() - same_end).unwrap_or_default(),
        );
        for index in 0..old.len().max(new.len()) {
            let path = format!("{path}[{}]", same_start + index);
            match (old.get(index), new.get(index)) {
                (Some(before), Some(after)) => self.compare(&path, before, after),
                (Some(value), None) => self.push(&path, ChangeKind::Removed(excerpt(value))),
                (None, Some(value)) => self.push(&path, ChangeKind::Added(excerpt(value))),
                (None, None) => {}
            }
        }
    }

    /// Counts a change that cannot be listed, if the list is full. Returns true if it was, so that
    /// the caller need not describe the change.
    fn count_if_full(&mut self) -> bool {
        let is_full = self.changes.len() == Self::MAX_CHANGES;
        self.more += usize::from(is_full);
        is_full
    }

    fn push(&mut self, path: &str, kind: ChangeKind) {
        if !self.count_if_full() {
            self.changes.push(Change { path: path.to_owned(), kind });
        }
    }
}

impl fmt::Display for Diff {
    /// Writes one change per line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, change) in self.changes.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            change.fmt(formatter)?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(formatter, "\nand {more} more"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.kind {
            ChangeKind::Added(value) => write!(formatter, "{path}: added {value}"),
            ChangeKind::Removed(value) => write!(formatter, "{path}: removed {value}"),
            ChangeKind::Changed { before, after } => {
                write!(formatter, "{path}: {before} → {after}")
            }
            ChangeKind::Reordered => write!(formatter, "{path}: in another order"),
        }
    }
}

/// Limit on the bytes of a value that are shown.
const MAX_EXCERPT: usize = 120;
/// Limit on the bytes of a key that are shown.
const MAX_KEY: usize = 60;
/// Number of bytes shown before a difference in a long string.
const CONTEXT: usize = 20;

/// Merges two sorted lists; equal elements come together.
fn pairs<'a, T>(
    old: &'a [T],
    new: &'a [T],
    order: impl Fn(&T, &T) -> Ordering,
) -> impl Iterator<Item = (Option<&'a T>, Option<&'a T>)> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some(one), Some(other)) => order(one, other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let removed = if order.is_le() { old.next() } else { None };
        let added = if order.is_ge() { new.next() } else { None };
        Some((removed, added))
    })
}

fn is_scalar(json: &Json) -> bool {
    matches!(json, Json::Word(_) | Json::String(_))
}

fn excerpt(json: &Json) -> String {
    if let Some(words) = words(json) {
        return words;
    }
    Excerpt::of_json(&json.to_text(), MAX_EXCERPT).to_string()
}

/// Returns the offset from which two strings are shown: a little before the difference, if that is
/// far in.
fn start_of_difference(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    if same <= 2 * CONTEXT { 0 } else { one.floor_char_boundary(same - CONTEXT) }
}

/// Returns a quoted string from `start` on.
fn excerpt_from(string: &str, start: usize) -> String {
    let rest = string.get(start..).unwrap_or_default();
    let dots = if start == 0 { "" } else { "…" };
    let quoted = Json::String(rest.to_owned()).to_text();
    // The excerpt includes the closing quote, so a shortened string has none.
    let inner = quoted.strip_prefix('"').unwrap_or(&quoted);
    format!("\"{dots}{}", Excerpt::of_json(inner, MAX_EXCERPT))
}

/// Returns the path of a member; a key with special characters is written in brackets.
fn member(path: &str, key: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-$".contains(char);
    if key.is_empty() || key.len() > MAX_KEY || !key.chars().all(is_plain) {
        return format!("{path}[\"{}\"]", Excerpt::new(key.as_bytes(), MAX_KEY));
    }
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
