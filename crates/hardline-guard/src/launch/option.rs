//! The options of a command line, one by one.

use super::family::{Family, has};
use super::source::{is_code, is_module};

/// An option that matters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Met {
    Inline,
    Named,
    /// It may take the next word or not.
    Doubtful,
}

/// What was met on the way to the first operand.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Options that matter, by the index of their argument.
    pub(super) met: Vec<(usize, Met)>,
    /// The index of the first operand, if there is one.
    pub(super) operand: Option<usize>,
    /// Whether an option brings the program along, or asks about this one.
    pub(super) has_main: bool,
}

/// Walks over the options of `command` from `start`, up to the first operand; if the program reads on, over
/// all that are behind it too.
pub(super) fn walk(command: &[String], start: usize, family: &Family) -> Walk {
    let mut walk = Walk::default();
    let mut index = start;
    while let Some(word) = command.get(index) {
        if word == "--" {
            walk.operand = walk.operand.or(command.get(index + 1).map(|_| index + 1));
            return walk;
        }
        // A plus sign turns an option of a shell off.
        let is_option = 1 < word.len() && word.starts_with(['-', '+']);
        if !is_option {
            walk.operand.get_or_insert(index);
            if !family.reads_on {
                return walk;
            }
            index += 1;
            continue;
        }
        let met = meet(word, command.get(index + 1).map(String::as_str), family);
        if let Some(met) = met.kind {
            walk.met.push((index, met));
        }
        walk.has_main |= met.is_main;
        index += 1 + met.takes;
    }
    walk
}

/// What one option is.
#[derive(Default)]
struct Meeting {
    kind: Option<Met>,
    /// How many of the next words belong to it.
    takes: usize,
    is_main: bool,
}

fn meet(word: &str, next: Option<&str>, family: &Family) -> Meeting {
    if word.starts_with('+') && has(family.inline, "+") {
        return Meeting { kind: Some(Met::Inline), ..Meeting::default() };
    }
    let word = tidy(word);
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (&*word, None),
    };
    if word.starts_with("--") || is_long(name, family) {
        return meet_long(name, value, next, family);
    }
    let mut meeting = Meeting::default();
    for (at, letter) in word.char_indices().skip(1) {
        let rest = word.get(at + letter.len_utf8()..).unwrap_or_default();
        let mut buffer = [0; 4];
        let letter: &str = letter.encode_utf8(&mut buffer);
        meeting.is_main |= has(family.mains, letter);
        if has(family.inline, letter) {
            meeting.kind = Some(Met::Inline);
            return meeting;
        }
        let is_valued = has(family.valued, letter);
        if has(family.named, letter) {
            let takes_next = is_valued && rest.is_empty();
            let value = if takes_next { next.unwrap_or_default() } else { rest };
            let is_more = has(family.modules, letter) && !is_module(value);
            meeting.kind = match is_code(value) || is_more {
                true => Some(Met::Inline),
                false => meeting.kind.or(Some(Met::Named)),
            };
            meeting.takes += usize::from(takes_next);
            return meeting;
        }
        if is_valued && family.goes_on {
            meeting.takes += 1;
        } else if is_valued {
            // The rest of the cluster is its value.
            meeting.takes += usize::from(rest.is_empty());
            return meeting;
        } else if !has(family.plain, letter) && !has(family.mains, letter) {
            meeting.kind = Some(Met::Doubtful);
        }
    }
    meeting
}

/// An option as most write it: some take underscores, any number of dashes, and `no-` twice for nothing.
fn tidy(word: &str) -> String {
    if !word.starts_with("--") {
        return word.to_owned();
    }
    let mut rest = word.trim_start_matches('-');
    while let Some(twice) = rest.strip_prefix("no-no-") {
        rest = twice;
    }
    // What is behind the sign is a value.
    let (name, value) = rest.split_at(rest.find('=').unwrap_or(rest.len()));
    format!("--{}{value}", name.replace('_', "-"))
}

/// Whether a word with one dash is a long option to this family: `-javaagent`.
fn is_long(name: &str, family: &Family) -> bool {
    let all = [family.inline, family.named, family.valued, family.plain];
    let words = all.into_iter().flat_map(str::split_whitespace);
    let mut longs = words.filter(|it| it.starts_with('-') && !it.starts_with("--"));
    longs.any(|it| name.starts_with(it))
}

fn meet_long(name: &str, value: Option<&str>, next: Option<&str>, family: &Family) -> Meeting {
    // `--ev` is `--eval` to many, and `--env-file-if-exists` is as good as `--env-file`. What is as
    // short as `--c` means itself.
    let is_meant = |it: &str| {
        let is_short = it.starts_with("--") && it.len() < 5;
        it == name
            || it.starts_with('-')
                && (!is_short && name.starts_with(it) || 4 < name.len() && it.starts_with(name))
    };
    let means = |list: &str| list.split_whitespace().any(is_meant);
    let is_valued = value.is_none() && means(family.valued);
    let value = value.or(next.filter(|_| is_valued)).unwrap_or_default();
    let is_main = means(family.mains) || matches!(name, "--help" | "--version");
    let is_known = has(family.plain, name) || has(family.valued, name) && !means(family.named);
    let mut takes = usize::from(is_valued);
    let kind = if is_known {
        None
    } else if means(family.inline) || means(family.named) && is_code(value) {
        Some(Met::Inline)
    } else if means(family.named) {
        Some(Met::Named)
    } else if !value.is_empty() || is_valued || means(family.plain) || is_main {
        None
    } else {
        let is_off = name.starts_with("--no-");
        let is_word = next.is_some_and(|next| !next.starts_with('-'));
        takes = usize::from(family.is_greedy && !is_off && is_word);
        Some(Met::Doubtful)
    };
    Meeting { kind, takes, is_main }
}
