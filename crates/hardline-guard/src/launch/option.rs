//! The options of a command line, one by one.

use super::family::{Family, has};
use super::source::{is_code, is_module};

/// So many letters of a cluster are looked at: no program has as many.
const MAX_LETTERS: usize = 128;

/// An option that matters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Met {
    Inline,
    Named,
    /// It chooses where code comes from.
    Source,
    /// It names a package or a project.
    Package,
    /// It may take the next word or not.
    Doubtful,
}

/// What was met on the way to the first operand.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Options that matter, by the index of their argument.
    pub(super) met: Vec<(usize, Met)>,
    /// Packages that options name: the index of the word, and where in it the name begins.
    pub(super) packages: Vec<(usize, usize)>,
    /// The index of the first operand, if there is one.
    pub(super) operand: Option<usize>,
    /// Whether that operand may be the value of the option before it.
    pub(super) is_open: bool,
    /// Where an option, or two dashes, say that another program begins.
    pub(super) begun: Option<usize>,
    /// Whether an option brings the program along, or asks about this one.
    pub(super) has_main: bool,
    /// Whether two dashes or an option say that no more options follow.
    pub(super) is_over: bool,
    /// How many words were looked at.
    pub(super) steps: usize,
}

impl Walk {
    /// Whether an option is code.
    pub(super) fn has_inline(&self) -> bool {
        self.met.iter().any(|(_, met)| *met == Met::Inline)
    }

    fn end(mut self, begun: Option<usize>) -> Self {
        self.begun = begun;
        self.is_over = true;
        self
    }
}

/// Walks over the options of `command` from `start`, up to the first operand; if the program reads on, over
/// all that are behind it too.
pub(super) fn walk(command: &[String], start: usize, family: &Family) -> Walk {
    let mut walk = Walk::default();
    let mut index = start;
    let mut is_open = false;
    let there = |index: usize| command.get(index).map(|_| index);
    while let Some(word) = command.get(index) {
        walk.steps += 1;
        if word == "--" && !has(family.plain, "--") {
            walk.operand = walk.operand.or(there(index + 1));
            return walk.end(there(index + 1).filter(|_| has(family.begins, "--")));
        }
        if !is_option(word) {
            if walk.operand.is_none() {
                walk.operand = Some(index);
                walk.is_open = is_open;
            }
            if !family.reads_on {
                return walk;
            }
            index += 1;
            continue;
        }
        let next = command.get(index + 1).map(String::as_str);
        let met = meet(word, next, family);
        walk.met.extend(met.kind.map(|kind| (index, kind)));
        walk.packages.extend(met.package.map(|start| match start {
            0 => (index + 1, 0),
            start => (index, start),
        }));
        if met.kind == Some(Met::Source) {
            walk.met.extend((1..=met.takes).map(|behind| (index + behind, Met::Source)));
        }
        walk.has_main |= met.is_main;
        // What is listed as a value may be none to another version of the program.
        for at in index + 1..=index + met.takes {
            let is_inline =
                |it: &String| is_option(it) && meet(it, None, family).kind == Some(Met::Inline);
            if command.get(at).is_some_and(is_inline) {
                walk.met.push((at, Met::Inline));
            }
        }
        index += 1 + met.takes;
        match met.rest {
            Rest::Options { is_open: open } => is_open = open,
            Rest::Arguments => return walk.end(None),
            Rest::Program => return walk.end(there(index)),
        }
    }
    walk
}

/// Whether a word is an option. A plus sign turns one of a shell off.
pub(super) fn is_option(word: &str) -> bool {
    1 < word.len() && word.starts_with(['-', '+'])
}

/// What one option is.
#[derive(Default)]
struct Meeting {
    kind: Option<Met>,
    /// How many of the next words belong to it.
    takes: usize,
    is_main: bool,
    rest: Rest,
    /// Place where the name of its package begins: in the word itself, or at 0 in the next one.
    package: Option<usize>,
}

/// What is behind an option.
#[derive(Clone, Copy)]
enum Rest {
    /// More options, or operands. If it is open, the next word may be a value.
    Options { is_open: bool },
    /// Arguments of what the option runs.
    Arguments,
    /// Another program, with its arguments.
    Program,
}

impl Default for Rest {
    fn default() -> Self {
        Self::Options { is_open: false }
    }
}

fn meet(given: &str, next: Option<&str>, family: &Family) -> Meeting {
    if given.starts_with('+') && has(family.inline, "+") {
        return Meeting { kind: Some(Met::Inline), ..Meeting::default() };
    }
    let word = tidy(given);
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (&*word, None),
    };
    if word.starts_with("--") || is_long(name, family) {
        let start = given.find('=').map_or(0, |sign| sign + 1);
        let mut meeting = meet_long(name, value, next, family);
        meeting.package = meeting.package.map(|_| start);
        return meeting;
    }
    let mut meeting = Meeting::default();
    // What is behind the sign is a value.
    let letters = name.char_indices().skip(1).take(MAX_LETTERS);
    for (at, letter) in letters {
        let rest = word.get(at + letter.len_utf8()..).unwrap_or_default();
        let mut buffer = [0; 4];
        let is_last = meeting.meet_letter(letter.encode_utf8(&mut buffer), rest, next, family);
        if meeting.package == Some(0) && !rest.is_empty() {
            let sign = usize::from(rest.starts_with('='));
            meeting.package = Some(at + letter.len_utf8() + sign);
        }
        if is_last {
            break;
        }
    }
    meeting
}

impl Meeting {
    /// Meets one letter of a cluster. Says whether no more letters follow.
    fn meet_letter(
        &mut self,
        letter: &str,
        rest: &str,
        next: Option<&str>,
        family: &Family,
    ) -> bool {
        if has(family.inline, letter) {
            self.kind = Some(Met::Inline);
            return true;
        }
        let takes = count(family.valued, letter);
        let (is_named, is_end) = (has(family.named, letter), has(family.ends, letter));
        let is_main = is_end || has(family.mains, letter);
        let is_alone = has(family.plain, letter);
        let has_value = 0 < takes || has(family.glued, letter) || is_named && !is_alone;
        let value = match has_value {
            true if rest.is_empty() && 0 < takes => next.unwrap_or_default(),
            true => rest,
            false => "",
        };
        let is_more = has(family.modules, letter) && !is_module(value);
        self.is_main |= is_main;
        if (is_named || is_main) && is_code(value) || is_more {
            self.kind = Some(Met::Inline);
        } else if is_named {
            self.kind = self.kind.or(Some(Met::Named));
        } else if has(family.sources, letter) || is_loading(family, letter, value) {
            self.kind = self.kind.or(Some(Met::Source));
        } else if has(family.packages, letter) || has(family.projects, letter) {
            self.kind = self.kind.or(Some(Met::Package));
        }
        if has(family.packages, letter) {
            self.package = Some(0);
        }
        if has(family.begins, letter) {
            self.rest = Rest::Program;
        } else if is_end {
            self.rest = Rest::Arguments;
        } else if !has_value && !is_alone && !is_main {
            self.kind = self.kind.or(Some(Met::Doubtful));
            self.rest = Rest::Options { is_open: true };
        } else if is_named && has_value && takes == 0 && rest.is_empty() {
            self.rest = Rest::Options { is_open: !has(family.glued, letter) };
        }
        if family.goes_on {
            self.takes += takes;
            return false;
        }
        // The rest of the cluster is its value.
        self.takes += takes - usize::from(0 < takes && !rest.is_empty());
        has_value || is_end
    }
}

/// Checks if a value makes an option of one letter load code.
fn is_loading(family: &Family, letter: &str, value: &str) -> bool {
    let mut loads = family.loads.split_whitespace().filter_map(|it| it.split_once('='));
    loads.any(|(option, part)| match part {
        // The third part is the category.
        "." => option == letter && value.split(':').nth(2).is_some_and(|it| it.contains('.')),
        _ => option == letter && value.contains(part),
    })
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
    let words = family.options().filter(|it| it.starts_with('-') && !it.starts_with("--"));
    let mut longs = words.filter(|it| *it != "-");
    longs.any(|it| it == name || extends(it, name))
}

/// How often an option stands in a list: so many words it takes.
fn count(list: &str, option: &str) -> usize {
    list.split_whitespace().filter(|it| *it == option).count()
}

/// Whether a name begins like a listed option. What is as short as `--c` or `-e` means itself.
fn extends(listed: &str, name: &str) -> bool {
    match listed.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => {
            let shortest = if listed.starts_with("--") { 5 } else { 3 };
            shortest <= listed.len() && name.starts_with(listed)
        }
    }
}

/// Whether a name is the beginning of a listed option, or one of those that it stands for.
fn shortens(listed: &str, name: &str) -> bool {
    listed.ends_with('*') && extends(listed, name)
        || listed.starts_with('-') && 3 < name.len() && listed.starts_with(name)
}

fn meet_long(name: &str, value: Option<&str>, next: Option<&str>, family: &Family) -> Meeting {
    let is_listed = family.options().any(|it| it == name);
    // `--eva` is `--eval` to many. What is listed means itself.
    let means = |list: &str| match is_listed {
        true => has(list, name),
        false => list.split_whitespace().any(|it| shortens(it, name)),
    };
    // `--env-file-of-sorts` is as good as `--env-file`.
    let is_like = |list: &str| {
        means(list)
            || !is_listed
                && list.split_whitespace().any(|it| it.starts_with('-') && extends(it, name))
    };
    let is_glued = value.is_some();
    let mut takes = if is_glued { 0 } else { count(family.valued, name) };
    let is_given = is_glued || 0 < takes;
    // A runner of packages takes any setting, as `--@scope:registry=…`.
    let is_setting = is_glued && !is_listed && family.registry.is_some();
    let value = value.or(next.filter(|_| 0 < takes)).unwrap_or_default();
    let is_end = has(family.ends, name);
    let is_main = is_end || means(family.mains) || matches!(name, "--help" | "--version");
    let is_alone = means(family.plain) || has(family.begins, name);
    let mut is_open = false;
    let kind = if is_like(family.inline) || (is_main || is_like(family.named)) && is_code(value) {
        Some(Met::Inline)
    } else if is_like(family.named) {
        is_open = !is_given && !has(family.plain, name);
        Some(Met::Named)
    } else if is_like(family.sources) {
        is_open = !is_given && !has(family.plain, name);
        Some(Met::Source)
    } else if is_like(family.packages) || is_like(family.projects) {
        is_open = !is_given && !has(family.plain, name);
        Some(Met::Package)
    } else if is_given && !is_setting || is_alone || is_main {
        None
    } else {
        let is_off = name.starts_with("--no-");
        let is_word = next.is_some_and(|next| !next.starts_with('-'));
        takes = usize::from(family.is_greedy && !is_off && is_word && !is_glued);
        is_open = takes == 0 && !is_glued;
        Some(Met::Doubtful)
    };
    let rest = match () {
        () if has(family.begins, name) => Rest::Program,
        () if is_end => Rest::Arguments,
        () => Rest::Options { is_open },
    };
    let package = is_like(family.packages).then_some(0);
    Meeting { kind, takes, is_main, rest, package }
}
