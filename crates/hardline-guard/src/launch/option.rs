//! The options of a command line, one by one.

use super::family::Family;

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
        let met = meet(word, family);
        if let Some(met) = met.kind {
            walk.met.push((index, met));
        }
        index += 1 + met.takes;
    }
    walk
}

/// What one option is.
struct Meeting {
    kind: Option<Met>,
    /// How many of the next words belong to it.
    takes: usize,
}

fn meet(word: &str, family: &Family) -> Meeting {
    // Some write them with underscores.
    let word = if word.starts_with("--") { word.replace('_', "-") } else { word.to_owned() };
    let (name, has_value) = match word.split_once('=') {
        Some((name, _)) => (name, true),
        None => (&*word, false),
    };
    if word.starts_with("--") || is_long(name, family) {
        return meet_long(name, has_value, family);
    }
    let has = |list: &str, name: &str| list.split(' ').any(|it| it == name);
    let mut meeting = Meeting { kind: None, takes: 0 };
    let letters: Vec<char> = word.chars().skip(1).collect();
    for (at, letter) in letters.iter().enumerate() {
        let mut buffer = [0; 4];
        let letter: &str = letter.encode_utf8(&mut buffer);
        let is_last = at + 1 == letters.len();
        if has(family.inline, letter) {
            return Meeting { kind: Some(Met::Inline), takes: meeting.takes };
        }
        let is_valued = has(family.valued, letter);
        if has(family.named, letter) {
            meeting.kind.get_or_insert(Met::Named);
            meeting.takes += usize::from(is_valued && is_last);
            return meeting;
        }
        if is_valued && family.goes_on {
            meeting.takes += 1;
        } else if is_valued {
            // The rest of the cluster is its value.
            meeting.takes += usize::from(is_last);
            return meeting;
        } else if !has(family.plain, letter) {
            meeting.kind = Some(Met::Doubtful);
        }
    }
    meeting
}

/// Whether a word with one dash is a long option to this family: `-javaagent`.
fn is_long(name: &str, family: &Family) -> bool {
    let all = [family.inline, family.named, family.valued, family.plain];
    let words = all.into_iter().flat_map(|list| list.split(' '));
    let mut longs = words.filter(|it| it.starts_with('-') && !it.starts_with("--"));
    longs.any(|it| name.starts_with(it))
}

fn meet_long(name: &str, has_value: bool, family: &Family) -> Meeting {
    // `--ev` is `--eval` to many, and `--env-file-if-exists` is as good as `--env-file`.
    let is_meant = |it: &&str| {
        it.starts_with('-') && (name.starts_with(*it) || 4 < name.len() && it.starts_with(name))
    };
    let has = |list: &str| list.split(' ').any(|it| is_meant(&it));
    let is_exactly = |list: &str| list.split(' ').any(|it| it == name);
    let takes = usize::from(!has_value && has(family.valued));
    let kind = if is_exactly(family.plain) || is_exactly(family.valued) && !has(family.named) {
        None
    } else if has(family.inline) {
        Some(Met::Inline)
    } else if has(family.named) {
        Some(Met::Named)
    } else if has_value || has(family.valued) || has(family.plain) {
        None
    } else {
        Some(Met::Doubtful)
    };
    Meeting { kind, takes }
}
