//! Which arguments of a command are code, and which commands it starts.

use hardline_wire::excerpt::Excerpt;

use super::environment::injects_code;
use super::family::{self, Family, Operand};
use super::option::{Met, walk};

/// Wrappers around wrappers are followed this far. One more counts as code: nobody honest has it.
const MAX_NESTED: usize = 8;
/// How much of an argument is shown.
const SHOWN_BYTES: usize = 40;
/// Words of runners before what they run.
const VERBS: [&str; 9] =
    ["run", "exec", "x", "dlx", "tool", "script", "run-script", "task", "create"];

/// What a command would run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Look {
    /// Arguments that are code, or name code.
    pub code: Vec<Code>,
    /// Where the commands begin that others start with their own arguments: `sh` in `env sh x`.
    pub nested: Vec<usize>,
}

/// An argument that is code, or names code.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Code {
    /// Its place on the command line; 0 is the program.
    pub index: usize,
    /// Which of the two.
    pub kind: CodeKind,
    /// The program and the argument, escaped and cut short.
    pub shown: String,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CodeKind {
    /// Code, or something that makes the program take the next for it.
    Inline,
    /// It names a module, file or library besides the program's own that is run or loaded.
    Named,
    /// It is an option that is not known: nobody can tell whether the next word is its own.
    Doubtful,
}

/// Looks at a command, the program first.
///
/// ```
/// use hardline_guard::launch::{CodeKind, inspect};
///
/// let command = ["env", "FOO=1", "sh", "-c", "id"].map(String::from);
/// let look = inspect(&command);
/// assert_eq!(look.nested, [2]);
/// assert_eq!(look.code[0].kind, CodeKind::Inline);
/// assert_eq!(look.code[0].index, 3);
///
/// let command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "-c"].map(String::from);
/// assert!(inspect(&command).code.is_empty());
/// ```
pub fn inspect(command: &[String]) -> Look {
    let mut look = Look::default();
    follow(command, 0, 0, &mut look);
    look
}

fn follow(command: &[String], at: usize, depth: usize, look: &mut Look) {
    let Some(program) = command.get(at) else { return };
    if depth == MAX_NESTED {
        look.add(command, at, at, CodeKind::Inline);
        return;
    }
    if family::is_windows_shell(program) {
        return follow_windows(command, at, depth, look);
    }
    let Some(family) = family::of(program) else {
        look_ahead(command, at, look);
        return;
    };
    let start = match family::plain_name(program) == "env" {
        true => skip_assignments(command, at, at + 1, look),
        false => at + 1,
    };
    let walk = walk(command, start, &family);
    let is_code = look.add_met(command, at, &walk.met);
    // What follows is for the code.
    if is_code && matches!(family.operand, Operand::Script | Operand::Code) {
        return;
    }
    match walk.operand {
        None if family.reads_stdin && !is_code => look.add(command, at, at, CodeKind::Inline),
        None => {}
        Some(index) => {
            look_behind(command, at, index, &family, &walk.met, look);
            follow_operand(command, at, index, &family, depth, look);
        }
    }
    if matches!(family.operand, Operand::Program(_) | Operand::Package) {
        look_ahead(command, at, look);
    }
}

/// Looks on behind an operand that may be the value of the option before it.
fn look_behind(
    command: &[String],
    at: usize,
    index: usize,
    family: &Family,
    met: &[(usize, Met)],
    look: &mut Look,
) {
    let is_doubtful =
        met.last().is_some_and(|(last, met)| *met == Met::Doubtful && last + 1 == index);
    let word = command.get(index).map_or("", String::as_str);
    // A file is hardly the value of anything.
    if !is_doubtful || word.contains(['/', '\\', '.', '@']) {
        return;
    }
    let further = walk(command, index + 1, family);
    for (index, met) in further.met {
        if met == Met::Inline {
            look.add(command, at, index, CodeKind::Inline);
        }
    }
}

/// Looks for interpreters that are given code anywhere behind a program that may start them.
fn look_ahead(command: &[String], at: usize, look: &mut Look) {
    for (index, word) in command.iter().enumerate().skip(at + 1) {
        let is_known =
            look.code.iter().any(|code| index < code.index && code.kind == CodeKind::Inline);
        let Some(family) = family::of(word).filter(|it| !it.inline.is_empty() && !is_known) else {
            continue;
        };
        if !matches!(family.operand, Operand::Script) {
            continue;
        }
        let walk = walk(command, index + 1, &family);
        for (place, met) in walk.met {
            if met == Met::Inline {
                look.add(command, index, place, CodeKind::Inline);
            }
        }
    }
}

fn follow_operand(
    command: &[String],
    at: usize,
    index: usize,
    family: &Family,
    depth: usize,
    look: &mut Look,
) {
    let word = command.get(index).map_or("", String::as_str);
    if family.verbs.split(' ').any(|verb| verb == word) {
        return look.add(command, at, index, CodeKind::Inline);
    }
    match family.operand {
        // What it reads is the protocol, which the client writes.
        Operand::Script if word == "-" => look.add(command, at, index, CodeKind::Inline),
        Operand::Script if word.starts_with('@') => look.add(command, at, index, CodeKind::Named),
        Operand::Script => {}
        Operand::Code => look.add(command, at, index, CodeKind::Inline),
        Operand::Package if VERBS.contains(&word) => {
            let walk = walk(command, index + 1, family);
            look.add_met(command, at, &walk.met);
            if let Some(index) = walk.operand {
                look_behind(command, at, index, family, &walk.met, look);
                follow_operand(command, at, index, family, depth + 1, look);
            }
        }
        Operand::Package if word.starts_with("data:") || word.starts_with("http") => {
            look.add(command, at, index, CodeKind::Named);
        }
        Operand::Package => {
            if depth < MAX_NESTED && family::of(word).is_some() {
                follow(command, index, depth + 1, look);
            }
        }
        Operand::Program(before) => {
            let mut index = index + before;
            if family::plain_name(command.get(at).map_or("", String::as_str)) == "env" {
                // A dash alone is an option to it.
                index += usize::from(word == "-");
                index = skip_assignments(command, at, index, look);
            }
            if index < command.len() {
                look.nested.push(index);
                follow(command, index, depth + 1, look);
            }
        }
    }
}

/// Skips the `NAME=value` of `env`.
fn skip_assignments(command: &[String], at: usize, start: usize, look: &mut Look) -> usize {
    let mut index = start;
    while let Some((name, value)) = command.get(index).and_then(|word| word.split_once('=')) {
        if name.starts_with('-') {
            break;
        }
        if injects_code(name, value) {
            look.add(command, at, index, CodeKind::Named);
        }
        index += 1;
    }
    index
}

/// Windows' shells: `/c`, and any beginning of `-Command` and `-EncodedCommand`.
fn follow_windows(command: &[String], at: usize, depth: usize, look: &mut Look) {
    let is_cmd = family::plain_name(command.get(at).map_or("", String::as_str)) == "cmd";
    let mut index = at + 1;
    while let Some(word) = command.get(index) {
        let word = word.to_lowercase();
        let Some(option) = word.strip_prefix(['-', '/']) else {
            // PowerShell takes what is no file for a command.
            if !word.ends_with(".ps1") {
                look.add(command, at, index, CodeKind::Inline);
            }
            return;
        };
        if is_cmd && (option == "c" || option == "k") {
            let rest = command.get(index + 1..).unwrap_or_default();
            // A program and its arguments are just that, unless the shell would read more into them.
            if rest.is_empty()
                || rest.iter().any(|it| it.contains(['&', '|', '<', '>', '^', '%', ' ']))
            {
                return look.add(command, at, index, CodeKind::Inline);
            }
            look.nested.push(index + 1);
            return follow(command, index + 1, depth + 1, look);
        }
        let is_code = ["command", "encodedcommand", "ec", "k", "r"];
        if !option.is_empty() && is_code.iter().any(|it| it.starts_with(option)) {
            return look.add(command, at, index, CodeKind::Inline);
        }
        if !option.is_empty() && "file".starts_with(option) {
            return;
        }
        let valued = ["executionpolicy", "ep", "windowstyle", "version", "workingdirectory", "wd"];
        let takes_next =
            !is_cmd && option.len() > 1 && valued.iter().any(|it| it.starts_with(option));
        index += 1 + usize::from(takes_next);
    }
}

impl Look {
    /// Adds options that matter. Says whether one is code, or names it.
    fn add_met(&mut self, command: &[String], at: usize, met: &[(usize, Met)]) -> bool {
        let mut is_code = false;
        for (index, met) in met {
            let kind = match met {
                Met::Inline => CodeKind::Inline,
                Met::Named => CodeKind::Named,
                Met::Doubtful => CodeKind::Doubtful,
            };
            is_code |= *met != Met::Doubtful;
            self.add(command, at, *index, kind);
        }
        is_code
    }

    fn add(&mut self, command: &[String], program: usize, index: usize, kind: CodeKind) {
        let shown = |index: usize| {
            let word = command.get(index).map_or("", String::as_str);
            Excerpt::new(word.as_bytes(), SHOWN_BYTES).to_string()
        };
        let shown = match index {
            _ if index == program => shown(program),
            _ => format!("{} {}", shown(program), shown(index)),
        };
        if !self.code.iter().any(|code| code.index == index && code.kind == kind) {
            self.code.push(Code { index, kind, shown });
        }
    }
}
