//! Compares two messages, value by value.
//!
//! The order of members, whitespace, escapes and the notation of numbers do not matter; types do. A
//! redacted secret matches any value. Lists whose elements have names are compared by name; others
//! by position, from both ends if their lengths differ.
//!
//! Invariants:
//! - At most `max` changes are collected.
//! - Recursion is as deep as the messages, which the decoder bounds.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use hardline_guard::redact::REDACTED;
use hardline_wire::json::{Kind, Value};

use super::path::{Path, Pattern, Step};
use super::show::ShownValue;

/// Kind of a change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum What {
    Changed,
    /// Only in the recording.
    Missing,
    /// Only in the replay.
    Extra,
    /// The same elements in another order.
    Order,
}

/// A change of one value.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) path: Path,
    /// Name of the enclosing element, if it has one.
    pub(super) name: Option<String>,
    pub(super) what: What,
    pub(super) recorded: Option<ShownValue>,
    pub(super) replayed: Option<ShownValue>,
}

/// Members that are not compared: the id may differ, and it has already matched the answer to its
/// request.
const ENVELOPE: [&str; 2] = ["jsonrpc", "id"];
/// Members that identify the elements of a list, if all elements have them.
const NAMES: [&str; 3] = ["name", "uri", "uriTemplate"];

/// Returns the changes between two messages, at most `max`.
pub(super) fn changes(
    recorded: Value<'_>,
    replayed: Value<'_>,
    ignore: &[Pattern],
    max: usize,
) -> Vec<Change> {
    // An ignored root means that anything may differ.
    let mut differ = Differ::new(ignore, max, Path::default());
    if !differ.is_ignored() {
        differ.compare_members(recorded, replayed, &ENVELOPE);
    }
    differ.found
}

/// Returns true if two messages are equal.
pub(super) fn is_same(recorded: Value<'_>, replayed: Value<'_>, ignore: &[Pattern]) -> bool {
    // One change is enough to differ.
    changes(recorded, replayed, ignore, 1).is_empty()
}

struct Differ<'a> {
    ignore: &'a [Pattern],
    max: usize,
    path: Path,
    /// Name of the innermost element that has one.
    name: Option<String>,
    found: Vec<Change>,
}

impl<'a> Differ<'a> {
    fn new(ignore: &'a [Pattern], max: usize, path: Path) -> Self {
        Self { ignore, max, path, name: None, found: Vec::new() }
    }

    fn is_ignored(&self) -> bool {
        self.ignore.iter().any(|pattern| pattern.matches(&self.path))
    }

    /// Compares the values at a step from here; one of them may be missing.
    fn at(&mut self, step: Step, recorded: Option<Value<'_>>, replayed: Option<Value<'_>>) {
        if self.found.len() >= self.max {
            return;
        }
        self.path.0.push(step);
        if !self.is_ignored() {
            match (recorded, replayed) {
                (Some(recorded), Some(replayed)) => self.compare(recorded, replayed),
                (Some(recorded), None) => self.push(What::Missing, Some(recorded), None),
                (None, replayed) => self.push(What::Extra, None, replayed),
            }
        }
        self.path.0.pop();
    }

    fn compare(&mut self, recorded: Value<'_>, replayed: Value<'_>) {
        // Fast path: equal bytes need no parsing.
        if recorded.text() == replayed.text() {
            return;
        }
        let is_same = match (recorded.kind(), replayed.kind()) {
            (Kind::Object, Kind::Object) => return self.compare_members(recorded, replayed, &[]),
            (Kind::Array, Kind::Array) => return self.compare_elements(recorded, replayed),
            (Kind::Number, Kind::Number) => is_same_number(recorded.text(), replayed.text()),
            (Kind::String, Kind::String) => match (recorded.as_str(), replayed.as_str()) {
                (Some(recorded), Some(replayed)) => is_same_text(&recorded, &replayed),
                _ => false,
            },
            // A redacted value may have had any type.
            (Kind::String, _) => recorded.as_str().as_deref() == Some(REDACTED),
            _ => false,
        };
        if !is_same {
            self.push(What::Changed, Some(recorded), Some(replayed));
        }
    }

    fn compare_members(&mut self, recorded: Value<'_>, replayed: Value<'_>, leave_out: &[&str]) {
        // What is left in the map exists only in the replay.
        let mut there: HashMap<_, _> = replayed.members().collect();
        for (key, value) in recorded.members() {
            let other = there.remove(&key);
            if !leave_out.contains(&&*key) {
                self.at(Step::Member(key.into_owned()), Some(value), other);
            }
        }
        for (key, value) in replayed.members() {
            if there.contains_key(&key) && !leave_out.contains(&&*key) {
                self.at(Step::Member(key.into_owned()), None, Some(value));
            }
        }
    }

    fn compare_elements(&mut self, recorded: Value<'_>, replayed: Value<'_>) {
        let recorded: Vec<_> = recorded.elements().collect();
        let replayed: Vec<_> = replayed.elements().collect();
        for key in NAMES {
            // Named elements may move without being changed.
            if let (Some(names), Some(others)) = (names(&recorded, key), names(&replayed, key)) {
                return self.compare_named(&recorded, &replayed, &names, &others);
            }
        }
        let (mut start, mut end) = (0, 0);
        // Equal elements at both ends are skipped, so that an insertion is one change.
        if recorded.len() != replayed.len() {
            let shorter = recorded.len().min(replayed.len());
            let fits = |this: &Self, (one, other): &(&Value<'_>, &Value<'_>)| {
                let mut differ = Differ::new(this.ignore, 1, this.path.clone());
                differ.at(Step::Element(0), Some(**one), Some(**other));
                differ.found.is_empty()
            };
            let from_start = recorded.iter().zip(&replayed);
            start = from_start.take_while(|pair| fits(self, pair)).count();
            let from_end = recorded.iter().rev().zip(replayed.iter().rev());
            // The two ends must not overlap in the shorter list.
            end = from_end.take(shorter - start).take_while(|pair| fits(self, pair)).count();
        }
        let (last, other_last) = (recorded.len() - end, replayed.len() - end);
        for index in start..last.max(other_last) {
            let one = recorded.get(index).filter(|_| index < last);
            let other = replayed.get(index).filter(|_| index < other_last);
            self.at(Step::Element(index), one.copied(), other.copied());
        }
    }

    fn compare_named(
        &mut self,
        recorded: &[Value<'_>],
        replayed: &[Value<'_>],
        names: &[Cow<'_, str>],
        others: &[Cow<'_, str>],
    ) {
        let places: HashMap<_, _> =
            others.iter().enumerate().map(|(place, name)| (name, place)).collect();
        // Restored below: names nest with the elements.
        let around = self.name.take();
        let mut is_ordered = true;
        let mut last = None;
        for (index, (value, name)) in recorded.iter().zip(names).enumerate() {
            let place = places.get(name).copied();
            let other = place.and_then(|place| replayed.get(place));
            if place.is_some() {
                // `None` is less than any place, so the first element is in order.
                is_ordered &= last < place;
                last = place;
            }
            self.name = Some(name.to_string());
            self.at(Step::Element(index), Some(*value), other.copied());
        }
        let known: HashSet<_> = names.iter().collect();
        for (index, (value, name)) in replayed.iter().zip(others).enumerate() {
            if !known.contains(name) {
                self.name = Some(name.to_string());
                self.at(Step::Element(index), None, Some(*value));
            }
        }
        self.name = around;
        if !is_ordered && self.found.len() < self.max {
            let (recorded, replayed) = (ShownValue::of_names(names), ShownValue::of_names(others));
            let (recorded, replayed) = (Some(recorded), Some(replayed));
            let (path, name) = (self.path.clone(), self.name.clone());
            self.found.push(Change { path, name, what: What::Order, recorded, replayed });
        }
    }

    fn push(&mut self, what: What, recorded: Option<Value<'_>>, replayed: Option<Value<'_>>) {
        let (recorded, replayed) = ShownValue::pair(recorded, replayed);
        let (path, name) = (self.path.clone(), self.name.clone());
        self.found.push(Change { path, name, what, recorded, replayed });
    }
}

/// Returns the names of all elements, if every element has a unique one.
fn names<'a>(elements: &[Value<'a>], key: &str) -> Option<Vec<Cow<'a, str>>> {
    let names: Option<Vec<_>> = elements.iter().map(|it| it.get(key)?.as_str()).collect();
    let mut sorted = names.clone()?;
    sorted.sort_unstable();
    let count = sorted.len();
    // Duplicate names cannot identify elements.
    sorted.dedup();
    names.filter(|_| sorted.len() == count)
}

/// Compares numbers as readers do: integers digit by digit, others as doubles.
fn is_same_number(one: &str, other: &str) -> bool {
    let is_integer = |text: &str| !text.contains(['.', 'e', 'E']);
    if is_integer(one) && is_integer(other) {
        // Only zero has two notations as an integer: 0 and -0.
        return one == other
            || (one.trim_start_matches('-') == "0" && other.ends_with('0') && other.len() <= 2);
    }
    match (one.parse::<f64>(), other.parse::<f64>()) {
        // Numbers beyond the range of a double are compared as text.
        (Ok(left), Ok(right)) if left.is_finite() && right.is_finite() => left == right,
        _ => one == other,
    }
}

/// Compares a text with the recorded one, in which a redacted part matches anything.
fn is_same_text(recorded: &str, replayed: &str) -> bool {
    let Some((first, others)) = recorded.split_once(REDACTED) else {
        return recorded == replayed;
    };
    // The text between two redactions must occur in order; the ends are anchored.
    let (middle, last) = others.rsplit_once(REDACTED).unwrap_or(("", others));
    let Some(mut rest) = replayed.strip_prefix(first) else { return false };
    for part in middle.split(REDACTED) {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use hardline_wire::json::Checker;
    use hardline_wire::limits::Limits;

    use super::*;

    /// Compares two messages; `expected` has the changes, as `path: recorded → replayed`.
    #[track_caller]
    fn check_ignoring(recorded: &str, replayed: &str, ignore: &[&str], expected: &[&str]) {
        let ignore: Vec<Pattern> = ignore.iter().map(|it| it.parse().unwrap()).collect();
        let limits = Limits::default();
        let mut checkers = [Checker::new(&limits), Checker::new(&limits)];
        let [one, other] = &mut checkers;
        let recorded = one.check(recorded.as_bytes()).unwrap().value;
        let replayed = other.check(replayed.as_bytes()).unwrap().value;
        let found = changes(recorded, replayed, &ignore, 100);
        let text =
            |shown: &Option<ShownValue>| shown.as_ref().map_or("-", |it| &it.json).to_owned();
        let found: Vec<_> = found
            .iter()
            .map(|it| format!("{}: {} → {}", it.path, text(&it.recorded), text(&it.replayed)))
            .collect();
        assert_eq!(found, expected);
        assert_eq!(is_same(recorded, replayed, &ignore), expected.is_empty());
    }

    #[track_caller]
    fn check(recorded: &str, replayed: &str, expected: &[&str]) {
        check_ignoring(recorded, replayed, &[], expected);
    }

    #[test]
    fn how_it_is_written_makes_no_difference() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":["x",2.50]}}"#,
            r#"{ "result":{"b":["\u0078", 25e-1],"a":1.0}, "id":7, "jsonrpc":"2.0"}"#,
            &[],
        );
        check(r#"{"a":0}"#, r#"{"a":-0.0}"#, &[]);
    }

    #[test]
    fn types_and_values_do() {
        check(r#"{"a":1}"#, r#"{"a":"1"}"#, &[r#"$.a: 1 → "1""#]);
        check(r#"{"a":null}"#, r#"{"a":false}"#, &["$.a: null → false"]);
        check(r#"{"a":null}"#, "{}", &["$.a: null → -"]);
        check("{}", r#"{"a":{"b":[]}}"#, &[r#"$.a: - → {"b":[]}"#]);
        check(
            r#"{"a":9007199254740993}"#,
            r#"{"a":9007199254740992}"#,
            &["$.a: 9007199254740993 → 9007199254740992"],
        );
        check(r#"{"a":1e400}"#, r#"{"a":1e401}"#, &["$.a: 1e400 → 1e401"]);
        check(
            r#"{"result":{"c":[{"text":"a"},1]}}"#,
            r#"{"result":{"c":[{"text":"b"},1]}}"#,
            &[r#"$.result.c[0].text: "a" → "b""#],
        );
        check(
            r#"{"result":{}}"#,
            r#"{"error":{"code":1}}"#,
            &["$.result: {} → -", r#"$.error: - → {"code":1}"#],
        );
    }

    #[test]
    fn one_more_element_is_one_change() {
        check(r#"{"a":[1,2,3]}"#, r#"{"a":[1,9,2,3]}"#, &["$.a[1]: - → 9"]);
        check(r#"{"a":[1,2,3]}"#, r#"{"a":[2,3]}"#, &["$.a[0]: 1 → -"]);
        check(r#"{"a":[1,1]}"#, r#"{"a":[1]}"#, &["$.a[1]: 1 → -"]);
        check(r#"{"a":[]}"#, r#"{"a":[1,2]}"#, &["$.a[0]: - → 1", "$.a[1]: - → 2"]);
        check(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, &["$.a[0]: 1 → 2", "$.a[1]: 2 → 1"]);
    }

    #[test]
    fn what_has_a_name_is_compared_by_it() {
        check(
            r#"{"tools":[{"name":"a","d":1},{"name":"b"},{"name":"c"}]}"#,
            r#"{"tools":[{"name":"new"},{"name":"a","d":2},{"name":"c"}]}"#,
            &[
                "$.tools[0].d: 1 → 2",
                r#"$.tools[1]: {"name":"b"} → -"#,
                r#"$.tools[0]: - → {"name":"new"}"#,
            ],
        );
        check(
            r#"{"tools":[{"name":"a"},{"name":"b"}]}"#,
            r#"{"tools":[{"name":"b"},{"name":"a"}]}"#,
            &[r#"$.tools: ["a","b"] → ["b","a"]"#],
        );
    }

    #[test]
    fn anything_may_stand_where_a_secret_was() {
        check(r#"{"a":"[redacted]"}"#, r#"{"a":"s3cret"}"#, &[]);
        check(r#"{"a":"[redacted]"}"#, r#"{"a":{"b":1}}"#, &[]);
        check(r#"{"a":"key=[redacted];x"}"#, r#"{"a":"key=abc;x"}"#, &[]);
        check(r#"{"a":"[redacted] and [redacted]"}"#, r#"{"a":"1 and 2 and 3"}"#, &[]);
        let changed = r#"$.a: "key=[redacted];x" → "kex=abc;x""#;
        check(r#"{"a":"key=[redacted];x"}"#, r#"{"a":"kex=abc;x"}"#, &[changed]);
        let overlap = r#"$.a: "ab[redacted]ba" → "aba""#;
        check(r#"{"a":"ab[redacted]ba"}"#, r#"{"a":"aba"}"#, &[overlap]);
    }

    #[test]
    fn what_is_ignored_may_be_anything_or_nothing() {
        let (one, other) = (r#"{"a":{"b":[1,{"t":2}],"t":1}}"#, r#"{"a":{"b":[3,{"t":4}]}}"#);
        check_ignoring(one, other, &["$..t"], &["$.a.b[0]: 1 → 3"]);
        check_ignoring(one, other, &["$.a.b[0]", "$.a.b[*].t", "$.a.t"], &[]);
        check_ignoring(one, other, &["$.a"], &[]);
        check_ignoring(one, other, &["$"], &[]);
    }
}
