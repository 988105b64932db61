//! Parses the options of a command line one by one.

use super::family::{Family, has, words};
use super::source::{is_code, is_module};

/// Limit on the letters of a cluster such as `-lc` that are read; no program has as many options.
const MAX_LETTERS: usize = 128;

/// An option that concerns code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Met {
    Inline,
    Named,
    /// Chooses where code comes from.
    Source,
    /// Names a package or a project.
    Package,
    /// Unknown: the next word may be its value or not.
    Doubtful,
}

/// Result of a walk over options up to the first operand.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Options that concern code, by the index of their word.
    pub(super) met: Vec<(usize, Met)>,
    /// Packages that options name: the index of the word, and the start of the name in it.
    pub(super) packages: Vec<(usize, usize)>,
    /// Index of the first operand, if there is one.
    pub(super) operand: Option<usize>,
    /// Set if that operand may be the value of the option before it.
    pub(super) is_open: bool,
    /// Index at which an option, or `--`, says that another program begins.
    pub(super) begun: Option<usize>,
    /// Set if an option provides the program, or only asks for information such as the version.
    pub(super) has_main: bool,
    /// Set if `--` or an option ends the options.
    pub(super) is_over: bool,
    /// Number of words read.
    pub(super) steps: usize,
}

impl Walk {
    /// Returns true if an option is code.
    pub(super) fn has_inline(&self) -> bool {
        self.met.iter().any(|(_, met)| *met == Met::Inline)
    }

    fn end(mut self, begun: Option<usize>) -> Self {
        self.begun = begun;
        self.is_over = true;
        self
    }
}

/// Walks over the options of `command` from `start` to the first operand. If the program also reads
/// options after operands, the walk covers those too.
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
        // An option that takes a value here may take none in another version of the program.
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

/// Returns true if a word is an option. A plus sign turns an option of a shell off.
pub(super) fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+'])
}

/// The meaning of one option.
#[derive(Default)]
struct Meeting {
    kind: Option<Met>,
    /// Number of following words that belong to it.
    takes: usize,
    is_main: bool,
    rest: Rest,
    /// Start of the name of its package: an offset in the word itself, or 0 for the next word.
    package: Option<usize>,
}

/// The meaning of the words after an option.
#[derive(Clone, Copy)]
enum Rest {
    /// More options, or operands. If open, the next word may be a value.
    Options { is_open: bool },
    /// Arguments of the code that the option runs.
    Arguments,
    /// Another program with its arguments.
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
    // The part after the sign is a value.
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
    let is_cluster = value.is_none() && name.chars().nth(2).is_some();
    let is_open = match meeting.kind {
        None => is_cluster,
        Some(kind) => kind == Met::Doubtful,
    };
    // A parser that does not know the cluster takes the next word for its value.
    if family.is_exact && is_open {
        meeting.kind = Some(Met::Doubtful);
        meeting.takes = usize::from(value.is_none() && next.is_some_and(|it| !it.starts_with('-')));
        meeting.rest = Rest::Options { is_open: meeting.takes == 0 };
    }
    meeting
}

impl Meeting {
    /// Adds one letter of a cluster. Returns true if no more letters follow.
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
        let takes = family.takes(letter);
        let (is_named, is_end) = (has(family.named, letter), has(family.ends, letter));
        let is_main = is_end || has(family.mains, letter);
        let is_alone = has(family.plain, letter);
        let has_value = takes > 0 || has(family.glued, letter) || is_named && !is_alone;
        let value = if !has_value {
            ""
        } else if rest.is_empty() && takes > 0 {
            next.unwrap_or_default()
        } else {
            rest
        };
        // `python -m` takes a name; anything more is an expression.
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
        self.takes += takes - usize::from(takes > 0 && !rest.is_empty());
        has_value || is_end
    }
}

/// Returns true if a value makes a one-letter option load code.
fn is_loading(family: &Family, letter: &str, value: &str) -> bool {
    let mut loads = family.loads.split_whitespace().filter_map(|it| it.split_once('='));
    loads.any(|(option, part)| match part {
        // The third part of a warning filter is the category, which may name a module.
        "." => option == letter && value.split(':').nth(2).is_some_and(|it| it.contains('.')),
        _ => option == letter && value.contains(part),
    })
}

/// Normalizes an option: some programs accept underscores, any number of dashes, and ignore a
/// double `no-`.
fn tidy(word: &str) -> String {
    if !word.starts_with("--") {
        return word.to_owned();
    }
    let mut rest = word.trim_start_matches('-');
    while let Some(twice) = rest.strip_prefix("no-no-") {
        rest = twice;
    }
    // The value after the sign stays as it is.
    let (name, value) = rest.split_at(rest.find('=').unwrap_or(rest.len()));
    format!("--{}{value}", name.replace('_', "-"))
}

/// Returns true if a word with one dash is a long option of this family, such as `-javaagent`.
fn is_long(name: &str, family: &Family) -> bool {
    let is_long = |it: &&str| it.starts_with('-') && !it.starts_with("--") && *it != "-";
    family.options().filter(is_long).any(|it| it == name || extends(it, name))
}

/// Returns true if a name starts with a listed option. A listed option as short as `--c` or `-e`
/// matches only itself.
fn extends(listed: &str, name: &str) -> bool {
    match listed.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => {
            let shortest = if listed.starts_with("--") { 5 } else { 3 };
            shortest <= listed.len() && name.starts_with(listed)
        }
    }
}

/// Returns true if a name abbreviates a listed option, or matches one with a star.
fn shortens(listed: &str, name: &str) -> bool {
    // `--no` is an option of its own, not one of all that begin like it.
    let is_long = name.len() > 3 && name != "--no";
    listed.ends_with('*') && extends(listed, name)
        || listed.starts_with('-') && is_long && listed.starts_with(name)
}

fn meet_long(name: &str, value: Option<&str>, next: Option<&str>, family: &Family) -> Meeting {
    let is_listed = family.options().any(|it| it == name);
    // Many programs accept abbreviations: `--eva` is `--eval`. A listed option means only itself.
    let means = |list: &str| {
        if is_listed { has(list, name) } else { words(list).any(|it| shortens(it, name)) }
    };
    // Fails closed: an unlisted `--env-file-of-sorts` counts as `--env-file`.
    let is_like = |list: &str| {
        means(list) || !is_listed && words(list).any(|it| it.starts_with('-') && extends(it, name))
    };
    let is_glued = value.is_some();
    let mut takes = if is_glued { 0 } else { family.takes(name) };
    let is_given = is_glued || takes > 0;
    // A package runner accepts any setting, such as `--@scope:registry=…`.
    let is_setting = is_glued && !is_listed && family.registry.is_some();
    let value = value.or(next.filter(|_| takes > 0)).unwrap_or_default();
    let is_end = has(family.ends, name);
    let is_main = is_end || means(family.mains) || matches!(name, "--help" | "--version");
    let is_plain = if family.is_exact { has(family.plain, name) } else { means(family.plain) };
    let is_alone = is_plain || has(family.begins, name);
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
        // A greedy parser takes the next word for an unknown option, except after `--no-`.
        let is_off = name.starts_with("--no-") && !family.is_exact;
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
