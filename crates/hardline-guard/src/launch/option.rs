//! The options of a command line, one by one.

use super::family::Family;

/// An option that matters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Met {
    Inline,
    Named,
}

/// What was met on the way to the first operand.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Options that matter, by the index of their argument.
    pub(super) met: Vec<(usize, Met)>,
    /// The index of the first operand, if there is one.
    pub(super) operand: Option<usize>,
}

/// Walks over the options of `command`, whose program is at 0, until the first operand from `start`.
pub(super) fn walk(command: &[String], start: usize, family: &Family) -> Walk {
    let mut walk = Walk::default();
    let mut index = start;
    while let Some(word) = command.get(index) {
        if word == "--" {
            walk.operand = command.get(index + 1).map(|_| index + 1);
            return walk;
        }
        // A plus sign turns an option of a shell off.
        let is_option = 1 < word.len() && word.starts_with(['-', '+']);
        if !is_option {
            walk.operand = Some(index);
            return walk;
        }
        let met = meet(word, family);
        if let Some(met) = met.kind {
            walk.met.push((index, met));
        }
        index += if met.takes_next { 2 } else { 1 };
    }
    walk
}

/// What one option is.
struct Meeting {
    kind: Option<Met>,
    takes_next: bool,
}

fn meet(word: &str, family: &Family) -> Meeting {
    let has = |list: &[&str], name: &str| list.contains(&name);
    let kind = |name: &str| {
        if has(family.inline, name) {
            Some(Met::Inline)
        } else {
            has(family.named, name).then_some(Met::Named)
        }
    };
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let has_value = !value.is_empty();
    if word.starts_with("--") {
        // `--ev` is `--eval` to many.
        let long = |list: &[&'static str]| {
            let is_meant =
                |it: &&&str| it.starts_with("--") && 4 < name.len() && it.starts_with(name);
            list.iter().find(|it| **it == name).or_else(|| list.iter().find(is_meant)).copied()
        };
        let inline = long(family.inline).map(|_| Met::Inline);
        let found = inline.or_else(|| long(family.named).map(|_| Met::Named));
        let takes_next = !has_value && long(family.valued).is_some();
        return Meeting { kind: found, takes_next };
    }
    // Some have long ones with one dash.
    if has(family.inline, name) || has(family.named, name) || has(family.valued, name) {
        return Meeting { kind: kind(name), takes_next: !has_value && has(family.valued, name) };
    }
    let letters = word.get(1..).unwrap_or_default();
    for (at, letter) in letters.char_indices() {
        let mut buffer = [0; 4];
        let letter_text: &str = letter.encode_utf8(&mut buffer);
        let is_valued = has(family.valued, letter_text);
        if let Some(kind) = kind(letter_text) {
            let takes_next = is_valued && at + letter.len_utf8() == letters.len();
            return Meeting { kind: Some(kind), takes_next };
        }
        if is_valued {
            // The rest of the cluster is its value.
            return Meeting { kind: None, takes_next: at + letter.len_utf8() == letters.len() };
        }
    }
    Meeting { kind: None, takes_next: false }
}
