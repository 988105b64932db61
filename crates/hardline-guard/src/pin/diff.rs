//! Readable differences between two definitions.
//!
//! A short diff fits into a finding: at most [`Diff::MAX_CHANGES`] changes with shortened values,
//! those that a model reads first. A whole diff is what a person approves: all changes, with whole
//! values.

use std::cmp::Ordering;
use std::fmt;

use hardline_wire::excerpt::Excerpt;

use super::canonical::Json;
use super::definition::Definition;
use super::layout;
use super::outline::{outline, words};
use super::rank::{self, Rank};

/// The differences between two definitions of a tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Diff {
    /// The changes: text that a model reads first, each group in the order of the canonical form.
    pub changes: Vec<Change>,
    /// Number of changes that are not listed.
    pub more: usize,
    /// Set if a value is shortened.
    pub is_shortened: bool,
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

/// Kind of a change. Values are JSON, escaped, safe to print on a terminal. In a short diff they are
/// shortened; in a whole one, long values have several lines.
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
    /// Limit on the changes of a short diff; further ones are only counted.
    ///
    /// Bounds a finding if a server changes everything.
    pub const MAX_CHANGES: usize = 50;

    /// Returns the differences between two definitions in short, for findings.
    pub fn between(before: &Definition, after: &Definition) -> Self {
        diff(before, after, Extent::Short)
    }

    /// Returns all differences between two definitions, with whole values.
    ///
    /// The definitions bound the length of the result: no part of them is in two changes, and
    /// values at a path over 256 bytes are shown as one.
    pub fn whole(before: &Definition, after: &Definition) -> Self {
        diff(before, after, Extent::Whole)
    }

    /// Returns true if nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl fmt::Display for Diff {
    /// Writes one change per line, or more lines for a long value of a whole diff.
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
            ChangeKind::Added(value) if is_long(value) => {
                write!(formatter, "{path}: added")?;
                value.lines().try_for_each(|line| write!(formatter, "\n  + {line}"))
            }
            ChangeKind::Added(value) => write!(formatter, "{path}: added {value}"),
            ChangeKind::Removed(value) if is_long(value) => {
                write!(formatter, "{path}: removed")?;
                value.lines().try_for_each(|line| write!(formatter, "\n  - {line}"))
            }
            ChangeKind::Removed(value) => write!(formatter, "{path}: removed {value}"),
            ChangeKind::Changed { before, after } if is_long(before) || is_long(after) => {
                write!(formatter, "{path}:")?;
                write_lines(formatter, before, after)
            }
            ChangeKind::Changed { before, after } => {
                write!(formatter, "{path}: {before} → {after}")
            }
            ChangeKind::Reordered => write!(formatter, "{path}: in another order"),
        }
    }
}

/// Limit on the bytes of a value in a short diff.
const MAX_EXCERPT: usize = 120;
/// Limit on the bytes of a key in a short diff.
const MAX_KEY: usize = 60;
/// Limit on the bytes of a path in a short diff. The middle of a longer one is left out.
const MAX_SHORT_PATH: usize = 300;
/// Number of bytes shown before a difference in a long string.
const CONTEXT: usize = 20;
/// Limit on the bytes of a path whose parts are compared in a whole diff.
///
/// Each change repeats its path, so that this bounds the whole diff. Values at longer paths are
/// shown whole, with everything in them.
const MAX_WHOLE_PATH: usize = 256;

/// Extent of a diff.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Extent {
    /// At most [`Diff::MAX_CHANGES`] changes, with excerpts of values.
    Short,
    /// Everything.
    Whole,
}

/// A step from a value to a part of it.
#[derive(Clone, Copy, Debug)]
enum Step<'j> {
    Key(&'j str),
    Index(usize),
}

/// A change before it is put into words.
#[derive(Clone, Copy, Debug)]
enum RawChange<'j> {
    Added(&'j Json),
    Removed(&'j Json),
    Changed(&'j Json, &'j Json),
    Reordered(&'j Json, &'j Json),
}

/// Compares two values and collects their differences.
struct Comparison<'j> {
    extent: Extent,
    /// Path of the values that are compared now.
    path: Vec<Step<'j>>,
    /// The changes by rank. In a short diff, at most [`Diff::MAX_CHANGES`] of each.
    changes: [Vec<Change>; Rank::COUNT],
    /// Number of changes, listed or not.
    total: usize,
    is_shortened: bool,
}

fn diff(before: &Definition, after: &Definition, extent: Extent) -> Diff {
    if before.fingerprint() == after.fingerprint() {
        return Diff::default();
    }
    let (mut old, mut new) = (before.json(), after.json());
    let mut is_elided = false;
    // Compares outlines with outlines: otherwise, equal long parts would look changed.
    if before.is_outline() && !after.is_outline() {
        let outline = outline(&new);
        is_elided = outline != new;
        new = outline;
    } else if after.is_outline() && !before.is_outline() {
        old = outline(&old);
    }
    let mut comparison = Comparison::new(extent);
    comparison.compare(&old, &new);
    let mut diff = comparison.finish();
    if is_elided && extent == Extent::Whole {
        // The digests stand for parts that are known here.
        let (path, kind) = ("whole definition".to_owned(), ChangeKind::Added(after.to_lines()));
        diff.changes.push(Change { path, kind });
    }
    // No stored part differs, so only the fingerprints can show the change.
    if diff.is_empty() {
        let digest = |it: &Definition| format!("SHA-256 {}", it.fingerprint());
        let kind = ChangeKind::Changed { before: digest(before), after: digest(after) };
        diff.changes.push(Change { path: "definition".to_owned(), kind });
    }
    diff
}

impl<'j> Comparison<'j> {
    fn new(extent: Extent) -> Self {
        let changes = Default::default();
        Self { extent, path: Vec::new(), changes, total: 0, is_shortened: false }
    }

    fn finish(self) -> Diff {
        let max = self.max_changes();
        let changes: Vec<_> = self.changes.into_iter().flatten().take(max).collect();
        let more = self.total - changes.len();
        Diff { changes, more, is_shortened: self.is_shortened }
    }

    fn max_changes(&self) -> usize {
        match self.extent {
            Extent::Short => Diff::MAX_CHANGES,
            Extent::Whole => usize::MAX,
        }
    }

    fn compare(&mut self, before: &'j Json, after: &'j Json) {
        match (before, after) {
            _ if before == after => {}
            // A mark would look like an object with a changed digest.
            _ if words(before).is_some() || words(after).is_some() || self.is_far() => {
                self.push(RawChange::Changed(before, after));
            }
            (Json::Object(old), Json::Object(new)) => self.compare_members(old, new),
            (Json::Array(old), Json::Array(new)) => {
                if old.iter().chain(new).all(is_scalar) {
                    self.compare_sets((before, old), (after, new));
                } else {
                    self.compare_lists(old, new);
                }
            }
            _ => self.push(RawChange::Changed(before, after)),
        }
    }

    /// Compares two values one step further.
    fn compare_at(&mut self, step: Step<'j>, before: Option<&'j Json>, after: Option<&'j Json>) {
        self.path.push(step);
        match (before, after) {
            (Some(before), Some(after)) => self.compare(before, after),
            (Some(value), None) => self.push(RawChange::Removed(value)),
            (None, Some(value)) => self.push(RawChange::Added(value)),
            (None, None) => {}
        }
        self.path.pop();
    }

    /// Compares objects, whose members are sorted.
    fn compare_members(&mut self, old: &'j [(String, Json)], new: &'j [(String, Json)]) {
        let by_key = |(one, _): &(String, Json), (other, _): &(String, Json)| {
            one.encode_utf16().cmp(other.encode_utf16())
        };
        for (before, after) in pairs(old, new, by_key) {
            let Some((key, _)) = before.or(after) else { continue };
            let (before, after) = (before.map(|(_, it)| it), after.map(|(_, it)| it));
            self.compare_at(Step::Key(key), before, after);
        }
    }

    /// Compares lists of plain values (`required`, `enum`) as sets, and reports removed and added
    /// values.
    fn compare_sets(&mut self, old: (&'j Json, &'j [Json]), new: (&'j Json, &'j [Json])) {
        let sorted = |list: &'j [Json]| {
            let mut texts: Vec<_> = list.iter().map(|it| (it.to_text(), it)).collect();
            texts.sort_by(|(one, _), (other, _)| one.cmp(other));
            texts
        };
        let (before, after) = (sorted(old.1), sorted(new.1));
        let by_text = |(one, _): &(String, &Json), (other, _): &(String, &Json)| one.cmp(other);
        let mut is_same = true;
        for pair in pairs(&before, &after, by_text) {
            match pair {
                (Some((_, value)), None) => self.push(RawChange::Removed(value)),
                (None, Some((_, value))) => self.push(RawChange::Added(value)),
                _ => continue,
            }
            is_same = false;
        }
        if is_same {
            self.push(RawChange::Reordered(old.0, new.0));
        }
    }

    /// Compares lists by position, after removing equal elements at both ends.
    fn compare_lists(&mut self, old: &'j [Json], new: &'j [Json]) {
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
            self.compare_at(Step::Index(same_start + index), old.get(index), new.get(index));
        }
    }

    fn push(&mut self, found: RawChange<'j>) {
        self.total += 1;
        let rank = self.rank(found);
        let has_room = |list: &Vec<Change>| list.len() < self.max_changes();
        if !self.changes.get(rank.index()).is_some_and(has_room) {
            return;
        }
        let (path, kind) = (self.path_text(), self.describe(found));
        if let Some(list) = self.changes.get_mut(rank.index()) {
            list.push(Change { path, kind });
        }
    }

    fn rank(&self, found: RawChange<'j>) -> Rank {
        let is_key = |step: &Step<'j>| match step {
            Step::Key(key) => Some(*key),
            Step::Index(_) => None,
        };
        let keys: Vec<&str> = self.path.iter().filter_map(is_key).collect();
        let ends_with_key = matches!(self.path.last(), Some(Step::Key(_)));
        match found {
            RawChange::Added(value) | RawChange::Removed(value) => {
                rank::of_change(&keys, ends_with_key, [Some(value), None])
            }
            RawChange::Changed(before, after) => {
                rank::of_change(&keys, false, [Some(before), Some(after)])
            }
            // No text is new.
            RawChange::Reordered(..) => Rank::Structure,
        }
    }

    fn describe(&mut self, found: RawChange<'j>) -> ChangeKind {
        match found {
            RawChange::Added(value) => ChangeKind::Added(self.value(value)),
            RawChange::Removed(value) => ChangeKind::Removed(self.value(value)),
            RawChange::Reordered(..) if self.extent == Extent::Short => ChangeKind::Reordered,
            RawChange::Changed(Json::String(old), Json::String(new))
                if self.extent == Extent::Short =>
            {
                let start = start_of_difference(old, new);
                let (before, after) =
                    (self.excerpt_from(old, start), self.excerpt_from(new, start));
                ChangeKind::Changed { before, after }
            }
            RawChange::Changed(before, after) | RawChange::Reordered(before, after) => {
                ChangeKind::Changed { before: self.value(before), after: self.value(after) }
            }
        }
    }

    fn value(&mut self, json: &Json) -> String {
        if self.extent == Extent::Whole {
            return layout::value(json);
        }
        match words(json) {
            Some(words) => words,
            None => self.excerpt(&json.to_text()),
        }
    }

    fn excerpt(&mut self, text: &str) -> String {
        self.is_shortened |= text.len() > MAX_EXCERPT;
        Excerpt::of_json(text, MAX_EXCERPT).to_string()
    }

    /// Returns a quoted string from `start` on.
    fn excerpt_from(&mut self, string: &str, start: usize) -> String {
        let rest = string.get(start..).unwrap_or_default();
        let dots = if start == 0 { "" } else { "…" };
        self.is_shortened |= start > 0;
        let quoted = Json::String(rest.to_owned()).to_text();
        // The excerpt includes the closing quote, so a shortened string has none.
        let inner = quoted.strip_prefix('"').unwrap_or(&quoted);
        format!("\"{dots}{}", self.excerpt(inner))
    }

    /// Returns true if the values are too deep to compare their parts in a whole diff.
    fn is_far(&self) -> bool {
        self.extent == Extent::Whole && self.path_text().len() > MAX_WHOLE_PATH
    }

    fn path_text(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            match (step, self.extent) {
                (Step::Index(index), _) => text.push_str(&format!("[{index}]")),
                (Step::Key(key), Extent::Short) => push_short_key(&mut text, key),
                (Step::Key(key), Extent::Whole) => text = layout::member(&text, key),
            }
        }
        if self.extent == Extent::Short && text.len() > MAX_SHORT_PATH {
            let start = text.get(..text.floor_char_boundary(MAX_KEY)).unwrap_or_default();
            let end = text.ceil_char_boundary(text.len() - (MAX_SHORT_PATH - MAX_KEY));
            return format!("{start}…{}", text.get(end..).unwrap_or_default());
        }
        text
    }
}

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

/// Returns the offset from which two strings are shown: a little before the difference, if that is
/// far in.
fn start_of_difference(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    if same <= 2 * CONTEXT { 0 } else { one.floor_char_boundary(same - CONTEXT) }
}

/// Appends a key to a path; a key with special characters is written in brackets.
fn push_short_key(path: &mut String, key: &str) {
    if key.len() > MAX_KEY || !layout::is_plain(key) {
        // Quotes in a key are escaped, so that no key looks like a path.
        let quoted = Json::String(key.to_owned()).to_text();
        let inner = quoted.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let shown = Excerpt::of_json(inner.unwrap_or(&quoted), MAX_KEY);
        return path.push_str(&format!("[\"{shown}\"]"));
    }
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

fn is_long(value: &str) -> bool {
    value.contains('\n')
}

/// Writes two texts line by line. The lines that are equal at both ends are written once.
fn write_lines(formatter: &mut fmt::Formatter<'_>, before: &str, after: &str) -> fmt::Result {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - start;
    let ends = old.iter().rev().zip(new.iter().rev()).take(rest);
    let end = ends.take_while(|(old, new)| old == new).count();
    let part = |lines: &[&str], from: usize, to: usize, mark: &str| {
        lines
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .map(|line| format!("\n  {mark} {line}"))
            .collect::<String>()
    };
    formatter.write_str(&part(&old, 0, start, " "))?;
    formatter.write_str(&part(&old, start, old.len() - end, "-"))?;
    formatter.write_str(&part(&new, start, new.len() - end, "+"))?;
    formatter.write_str(&part(&new, new.len() - end, new.len(), " "))
}
