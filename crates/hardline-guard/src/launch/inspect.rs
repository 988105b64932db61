//! Finds the arguments of a command that are code, and the commands that it starts.

use std::cell::Cell;
use std::collections::HashSet;

use hardline_wire::excerpt::Excerpt;

use super::environment::{chooses_code, injects_code};
use super::family::{self, Family, Operand};
use super::option::{Met, Walk, walk};
use super::package::Package;
use super::search::Owner;
use super::source::{is_code, is_line};

/// Limit on nested wrappers. A command with more counts as code, because no honest one has as many.
const MAX_NESTED: usize = 8;
/// Limit on the words of a command, and on the total number of steps over them. A command beyond
/// either limit counts as code.
const MAX_WORDS: usize = 4096;
const MAX_STEPS: usize = 1 << 15;
/// Names that are often scripts of a package, although there are also programs of these names.
const SCRIPT_NAMES: &str = "start watch command eval exec time view";
/// Limit on the bytes of an argument that are shown.
const SHOWN_BYTES: usize = 40;

/// Result of an inspection.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Look {
    /// Arguments that are code or name code.
    pub code: Vec<Code>,
    /// Indexes at which nested commands begin, such as `sh` in `env sh x`.
    pub nested: Vec<usize>,
    /// Words that name packages.
    pub(super) packages: Vec<Package>,
}

/// An argument that is code or names code.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Code {
    /// Index of the argument in the command; 0 is the program.
    pub index: usize,
    /// Kind of the code.
    pub kind: CodeKind,
    /// The program and the argument, escaped and shortened.
    pub shown: String,
}

/// Kind of an argument that concerns code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CodeKind {
    /// Code, or an option that makes the program treat the next argument as code.
    Inline,
    /// Names a module, file or library that is run or loaded besides the program's own.
    Named,
    /// Chooses where code comes from: a registry, a cache, a configuration, a debugger.
    Source,
    /// Names a package or project whose code runs besides the operand's, or in its place.
    Package,
    /// An unknown option. It cannot be decided if the next word is its value.
    Doubtful,
}

/// Returns the files that a word leads to besides the one that it names: the targets of its
/// symbolic links, one after another.
pub type Links<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// Inspects a command, the program first, by its words alone.
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
    inspect_with(command, &|_| Vec::new())
}

/// Inspects a command by its words and by the files that `links` resolves them to: a link to a
/// shell is a shell, no matter its name.
///
/// ```
/// use hardline_guard::launch::{CodeKind, inspect_with};
///
/// let command = ["./mcp-server", "-c", "id"].map(String::from);
/// let look = inspect_with(&command, &|word| match word {
///     "./mcp-server" => vec!["/bin/sh".to_owned(), "/bin/dash".to_owned()],
///     _ => Vec::new(),
/// });
/// assert_eq!(look.code[0].kind, CodeKind::Inline);
/// ```
pub fn inspect_with(command: &[String], links: Links<'_>) -> Look {
    let words = command.get(..MAX_WORDS).unwrap_or(command);
    let mut inspector = Inspector::new(words, links, MAX_STEPS);
    inspector.follow(0, 0);
    // Fails closed: the words that were not inspected may be code.
    if words.len() < command.len() || inspector.left.get() == 0 {
        inspector.add(0, 0, CodeKind::Inline);
    }
    inspector.look
}

pub(super) struct Inspector<'a> {
    pub(super) command: &'a [String],
    links: Links<'a>,
    pub(super) look: Look,
    /// Programs that were inspected already, by index and name.
    seen: HashSet<(usize, String)>,
    /// Number of steps left.
    pub(super) left: Cell<usize>,
}

impl<'a> Inspector<'a> {
    pub(super) fn new(command: &'a [String], links: Links<'a>, left: usize) -> Self {
        let (look, seen) = (Look::default(), HashSet::new());
        Self { command, links, look, seen, left: Cell::new(left) }
    }
}

impl Inspector<'_> {
    /// Spends steps of the budget. Returns false if it is used up.
    pub(super) fn spend(&self, steps: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(steps));
        self.left.get() > 0
    }

    /// Walks over options, unless the budget is used up.
    pub(super) fn walk(&self, start: usize, family: &Family) -> Walk {
        if !self.spend(1) {
            return Walk::default();
        }
        let walk = walk(self.command, start, family);
        self.spend(walk.steps);
        walk
    }

    pub(super) fn word(&self, index: usize) -> &str {
        self.command.get(index).map_or("", String::as_str)
    }

    /// Returns the known programs that a word stands for.
    pub(super) fn programs(&self, word: &str) -> Vec<String> {
        let is_known = family::of(word).is_some();
        let mut all: Vec<String> = is_known.then(|| word.to_owned()).into_iter().collect();
        for link in (self.links)(word) {
            // Shims and multi-call binaries act by the name that they are called by.
            let is_other = family::of(&link).is_some() && !family::is_builtin(&link);
            let is_many = family::is_shim(&link) || is_known && family::is_many(&link);
            let is_same = |it: &String| family::plain_name(it) == family::plain_name(&link);
            if is_other && !is_many && !all.iter().any(is_same) {
                all.push(link);
            }
        }
        all
    }

    /// Returns true if a word stands for standard input, or is code itself.
    pub(super) fn is_code(&self, word: &str) -> bool {
        is_code(word) || (self.links)(word).iter().any(|link| is_code(link))
    }

    /// Inspects the command that begins at an index.
    pub(super) fn follow(&mut self, at: usize, depth: usize) {
        let Some(program) = self.command.get(at) else { return };
        if depth == MAX_NESTED {
            return self.add(at, at, CodeKind::Inline);
        }
        let programs = self.programs(program);
        // An unknown program may start another one that its arguments name.
        if programs.is_empty() {
            return self.look_ahead(at, Owner::Unknown);
        }
        for program in programs {
            self.follow_as(&program, at, depth);
        }
    }

    fn follow_as(&mut self, program: &str, at: usize, depth: usize) {
        // Links can lead to the same program more than once; each is inspected once.
        if !self.seen.insert((at, family::plain_name(program))) || !self.spend(1) {
            return;
        }
        if family::is_windows_shell(program) {
            return self.follow_windows(family::plain_name(program) == "cmd", at, depth);
        }
        let Some(family) = family::of(program) else { return };
        if family.operand == Operand::Container {
            return self.follow_container(at, &family, depth);
        }
        let start = if family.assigns { self.skip_assignments(at, at + 1) } else { at + 1 };
        // The words after a verb are read when the verb is followed.
        let is_verb = matches!(family.operand, Operand::Verb(_));
        let first = Family { reads_on: family.reads_on && !is_verb, ..family };
        let walk = self.walk(start, &first);
        self.add_met(at, &walk.met);
        self.add_packages(&walk, &family);
        // The remaining words are arguments of the code.
        if walk.has_inline() && matches!(family.operand, Operand::Script | Operand::Code) {
            return;
        }
        for index in self.find_inline(start, &first) {
            self.add(at, index, CodeKind::Inline);
        }
        match (walk.begun.filter(|_| !is_verb), walk.operand) {
            (Some(index), _) => self.start(index, depth),
            (None, Some(_)) if walk.has_main && family.operand == Operand::Code => {}
            (None, Some(index)) => self.follow_operand(at, index, &family, depth),
            (None, None) => self.add_input(at, &family, &walk),
        }
        // An unknown option hides where the other program begins, so every later word is tried.
        let starts = matches!(family.operand, Operand::Program(_) | Operand::Package);
        if starts && (walk.is_open || walk.operand.is_none() && !walk.is_over) {
            self.look_ahead(at, Owner::Starter);
        }
    }

    /// Reports an interpreter without a script, which reads code from its standard input.
    fn add_input(&mut self, at: usize, family: &Family, walk: &Walk) {
        if family.reads_stdin && walk.operand.is_none() && !walk.has_main && !walk.has_inline() {
            self.add(at, at, CodeKind::Inline);
        }
    }

    fn follow_operand(&mut self, at: usize, index: usize, family: &Family, depth: usize) {
        let word = self.word(index).to_owned();
        if family::has(family.verbs, &word) {
            return self.add(at, index, CodeKind::Inline);
        }
        let is_file = matches!(family.operand, Operand::Script | Operand::Package);
        if is_file && self.is_code(&word) || family.is_line && is_line(&word) {
            return self.add(at, index, CodeKind::Inline);
        }
        if depth < MAX_NESTED && family::has(family.runs, &word) {
            return self.follow_verb(at, index, family, depth);
        }
        self.add_operand(at, index, family);
        match family.operand {
            // Some interpreters read arguments from `@file`.
            Operand::Script if word.starts_with('@') => self.add(at, index, CodeKind::Named),
            Operand::Script => {
                let is_runner =
                    |it: &String| family::of(it).is_some_and(|it| it.operand == Operand::Package);
                // An interpreter that runs the script of a package runner acts as the runner.
                if depth < MAX_NESTED && self.programs(&word).iter().any(is_runner) {
                    self.follow(index, depth + 1);
                }
            }
            Operand::Code => self.add(at, index, CodeKind::Inline),
            Operand::Package if word.starts_with("http://") || word.starts_with("https://") => {
                self.add(at, index, CodeKind::Named);
            }
            Operand::Package if family::has(SCRIPT_NAMES, &word) => {
                self.look_ahead(index, Owner::Unknown);
            }
            Operand::Package if depth < MAX_NESTED && !self.programs(&word).is_empty() => {
                self.follow(index, depth + 1);
            }
            Operand::Package | Operand::Verb(_) => self.look_ahead(index, Owner::Unknown),
            Operand::Program(before) => self.follow_program(at, index, before, family, depth),
            Operand::Container => {}
        }
    }

    /// Inspects the words after a verb that runs something.
    fn follow_verb(&mut self, at: usize, verb: usize, family: &Family, depth: usize) {
        let walk = self.walk(verb + 1, family);
        self.add_met(at, &walk.met);
        self.add_packages(&walk, family);
        for index in self.find_inline(verb + 1, family) {
            self.add(at, index, CodeKind::Inline);
        }
        let is_verb = matches!(family.operand, Operand::Verb(_));
        match (walk.begun, walk.operand) {
            (Some(index), _) => self.start(index, depth),
            (None, Some(_)) if is_verb && !family.begins.is_empty() => {}
            (None, Some(index)) => match family.operand {
                Operand::Verb(before) if !family::has(family.runs, self.word(index)) => {
                    self.follow_program(at, index, before, family, depth);
                }
                _ => self.follow_operand(at, index, family, depth + 1),
            },
            (None, None) => {}
        }
        if walk.is_open || walk.operand.is_none() && !walk.is_over {
            self.look_ahead(verb, Owner::Starter);
        }
    }

    /// Inspects the program that another one starts, `before` operands after the one at `index`.
    fn follow_program(
        &mut self,
        at: usize,
        index: usize,
        before: usize,
        family: &Family,
        depth: usize,
    ) {
        let mut index = index;
        for _ in 0..before {
            let walk = self.walk(index + 1, &Family { reads_on: false, ..*family });
            self.add_met(at, &walk.met);
            let Some(operand) = walk.operand else { return };
            if walk.is_open {
                self.look_ahead(index, Owner::Starter);
            }
            index = operand;
        }
        if family.assigns {
            // `env` treats a single dash as an option.
            index += usize::from(self.word(index) == "-");
            index = self.skip_assignments(at, index);
        }
        self.start(index, depth);
    }

    /// Inspects a program that another one starts.
    fn start(&mut self, index: usize, depth: usize) {
        if index < self.command.len() {
            self.add_nested(index);
            self.follow(index, depth + 1);
        }
    }

    pub(super) fn add_nested(&mut self, index: usize) {
        if !self.look.nested.contains(&index) {
            self.look.nested.push(index);
        }
    }

    /// Skips the `NAME=value` words of `env`, and reports those that concern code.
    fn skip_assignments(&mut self, at: usize, start: usize) -> usize {
        let mut index = start;
        while let Some((name, value)) = self.word(index).split_once('=') {
            if name.starts_with('-') {
                break;
            }
            if injects_code(name, value) {
                self.add(at, index, CodeKind::Named);
            } else if chooses_code(name, value) {
                self.add(at, index, CodeKind::Source);
            }
            index += 1;
        }
        index
    }

    /// Reports the options that concern code.
    fn add_met(&mut self, at: usize, met: &[(usize, Met)]) {
        for (index, met) in met {
            let kind = match met {
                Met::Inline => CodeKind::Inline,
                Met::Named => CodeKind::Named,
                Met::Source => CodeKind::Source,
                Met::Package => CodeKind::Package,
                Met::Doubtful => CodeKind::Doubtful,
            };
            self.add(at, *index, kind);
        }
    }

    pub(super) fn add(&mut self, program: usize, index: usize, kind: CodeKind) {
        let shown = |index: usize| Excerpt::new(self.word(index).as_bytes(), SHOWN_BYTES);
        let shown = match index {
            _ if index == program => shown(program).to_string(),
            _ => format!("{} {}", shown(program), shown(index)),
        };
        if !self.look.code.iter().any(|code| code.index == index && code.kind == kind) {
            self.look.code.push(Code { index, kind, shown });
        }
    }
}
