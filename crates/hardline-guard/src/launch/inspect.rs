//! Which arguments of a command are code, and which commands it starts.

use hardline_wire::excerpt::Excerpt;

use super::environment::injects_code;
use super::family::{self, CONTAINER_ENTRIES, CONTAINER_GROUPS, CONTAINER_VERBS, Family, Operand};
use super::option::{Met, walk};
use super::source::{is_code, is_line};

/// Wrappers around wrappers are followed this far. One more counts as code: nobody honest has it.
const MAX_NESTED: usize = 8;
/// How much of an argument is shown.
const SHOWN_BYTES: usize = 40;

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

/// The files that a word stands for besides the one that it names: where links lead, one after another.
pub type Links<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// Looks at a command, the program first, by the names on it alone.
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

/// Looks at a command by the names on it, and by those of the files that `links` says they stand for: a link
/// to a shell is a shell, whatever it is called.
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
    let mut inspector = Inspector { command, links, look: Look::default() };
    inspector.follow(0, 0);
    inspector.look
}

pub(super) struct Inspector<'a> {
    pub(super) command: &'a [String],
    links: Links<'a>,
    pub(super) look: Look,
}

impl Inspector<'_> {
    pub(super) fn word(&self, index: usize) -> &str {
        self.command.get(index).map_or("", String::as_str)
    }

    /// The known programs that a word stands for.
    fn programs(&self, word: &str) -> Vec<String> {
        let is_known = family::of(word).is_some();
        let mut all: Vec<String> = is_known.then(|| word.to_owned()).into_iter().collect();
        for link in (self.links)(word) {
            let is_other = family::of(&link).is_some() && !family::is_builtin(&link);
            let is_many = is_known && family::is_many(&link);
            let is_same = |it: &String| family::plain_name(it) == family::plain_name(&link);
            if is_other && !is_many && !all.iter().any(is_same) {
                all.push(link);
            }
        }
        all
    }

    /// Whether a word stands for standard input, or is code itself.
    fn is_code(&self, word: &str) -> bool {
        is_code(word) || (self.links)(word).iter().any(|link| is_code(link))
    }

    /// Looks at the command that begins at an index.
    pub(super) fn follow(&mut self, at: usize, depth: usize) {
        let Some(program) = self.command.get(at) else { return };
        if depth == MAX_NESTED {
            return self.add(at, at, CodeKind::Inline);
        }
        let programs = self.programs(program);
        if programs.is_empty() {
            return self.look_ahead(at);
        }
        for program in programs {
            self.follow_as(&program, at, depth);
        }
    }

    fn follow_as(&mut self, program: &str, at: usize, depth: usize) {
        if family::is_windows_shell(program) {
            return self.follow_windows(family::plain_name(program) == "cmd", at, depth);
        }
        let Some(family) = family::of(program) else { return };
        if family.operand == Operand::Container {
            return self.follow_container(at, &family);
        }
        let start = match family.assigns {
            true => self.skip_assignments(at, at + 1),
            false => at + 1,
        };
        let walk = walk(self.command, start, &family);
        let is_code = self.add_met(at, &walk.met);
        // What follows is for the code.
        if is_code && matches!(family.operand, Operand::Script | Operand::Code) {
            return self.add_input(at, &family, &walk);
        }
        match walk.operand {
            None => self.add_input(at, &family, &walk),
            Some(index) => {
                self.look_behind(at, index, &family, &walk.met);
                self.follow_operand(at, index, &family, depth);
            }
        }
        if matches!(family.operand, Operand::Program(_) | Operand::Package) {
            self.look_ahead(at);
        }
    }

    /// Adds an interpreter that is left with its standard input to read code from.
    fn add_input(&mut self, at: usize, family: &Family, walk: &super::option::Walk) {
        let is_inline = walk.met.iter().any(|(_, met)| *met == Met::Inline);
        if family.reads_stdin && walk.operand.is_none() && !walk.has_main && !is_inline {
            self.add(at, at, CodeKind::Inline);
        }
    }

    /// Looks on behind an operand that may be the value of the option before it.
    fn look_behind(&mut self, at: usize, index: usize, family: &Family, met: &[(usize, Met)]) {
        let is_doubtful =
            met.last().is_some_and(|(last, met)| *met == Met::Doubtful && last + 1 == index);
        // A file is hardly the value of anything.
        if !is_doubtful || self.word(index).contains(['/', '\\', '.', '@']) {
            return;
        }
        for (index, met) in walk(self.command, index + 1, family).met {
            if met == Met::Inline {
                self.add(at, index, CodeKind::Inline);
            }
        }
    }

    /// Looks for interpreters that are given code anywhere behind a program that may start them.
    pub(super) fn look_ahead(&mut self, at: usize) {
        for index in at + 1..self.command.len() {
            let is_inline = |code: &Code| index < code.index && code.kind == CodeKind::Inline;
            if self.look.code.iter().any(is_inline) {
                continue;
            }
            let word = self.word(index);
            let programs = match word.contains('/') {
                true => self.programs(word),
                false => vec![word.to_owned()],
            };
            for family in programs.iter().filter_map(|it| family::of(it)) {
                if family.operand != Operand::Script || family.inline.is_empty() {
                    continue;
                }
                for (place, met) in walk(self.command, index + 1, &family).met {
                    if met == Met::Inline {
                        self.add(index, place, CodeKind::Inline);
                    }
                }
            }
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
        match family.operand {
            Operand::Script if word.starts_with('@') => self.add(at, index, CodeKind::Named),
            Operand::Script => {
                let is_runner =
                    |it: &String| family::of(it).is_some_and(|it| it.operand == Operand::Package);
                // An interpreter in front of a runner is the runner.
                if depth < MAX_NESTED && self.programs(&word).iter().any(is_runner) {
                    self.follow(index, depth + 1);
                }
            }
            Operand::Code => self.add(at, index, CodeKind::Inline),
            Operand::Package if family::has(family.runs, &word) && depth < MAX_NESTED => {
                let walk = walk(self.command, index + 1, family);
                self.add_met(at, &walk.met);
                if let Some(index) = walk.operand {
                    self.look_behind(at, index, family, &walk.met);
                    self.follow_operand(at, index, family, depth + 1);
                }
            }
            Operand::Package if word.starts_with("http") => self.add(at, index, CodeKind::Named),
            Operand::Package => {
                if depth < MAX_NESTED && !self.programs(&word).is_empty() {
                    self.follow(index, depth + 1);
                }
            }
            Operand::Program(before) => {
                let mut index = index + before;
                if family.assigns {
                    // A dash alone is an option to it.
                    index += usize::from(word == "-");
                    index = self.skip_assignments(at, index);
                }
                if index < self.command.len() {
                    self.look.nested.push(index);
                    self.follow(index, depth + 1);
                }
            }
            Operand::Container => {}
        }
    }

    /// Looks at the command that a container is started with: its files are others, and so are its links.
    fn follow_container(&mut self, at: usize, family: &Family) {
        let mut verb = at;
        loop {
            let Some(index) = walk(self.command, verb + 1, family).operand else { return };
            verb = index;
            if !family::has(CONTAINER_GROUPS, self.word(index)) {
                break;
            }
        }
        if !family::has(CONTAINER_VERBS, self.word(verb)) {
            return self.look_ahead(verb);
        }
        let Some(image) = walk(self.command, verb + 1, family).operand else { return };
        let mut places: Vec<usize> = (image + 1..self.command.len()).collect();
        let mut inner: Vec<String> = places.iter().map(|it| self.word(*it).to_owned()).collect();
        for index in verb + 1..image {
            let (name, value) = match self.word(index).split_once('=') {
                Some((name, value)) => (name, value),
                None => (self.word(index), self.word(index + 1)),
            };
            if CONTAINER_ENTRIES.contains(&name) {
                if value.contains([' ', '[']) {
                    return self.add(at, index, CodeKind::Inline);
                }
                inner.insert(0, value.to_owned());
                places.insert(0, index);
            }
        }
        for code in inspect(&inner).code {
            if let (CodeKind::Inline, Some(place)) = (code.kind, places.get(code.index)) {
                self.add(at, *place, CodeKind::Inline);
            }
        }
    }

    /// Skips the `NAME=value` of `env`.
    fn skip_assignments(&mut self, at: usize, start: usize) -> usize {
        let mut index = start;
        while let Some((name, value)) = self.word(index).split_once('=') {
            if name.starts_with('-') {
                break;
            }
            if injects_code(name, value) {
                self.add(at, index, CodeKind::Named);
            }
            index += 1;
        }
        index
    }

    /// Adds options that matter. Says whether one is code, or names it.
    fn add_met(&mut self, at: usize, met: &[(usize, Met)]) -> bool {
        let mut is_code = false;
        for (index, met) in met {
            let kind = match met {
                Met::Inline => CodeKind::Inline,
                Met::Named => CodeKind::Named,
                Met::Doubtful => CodeKind::Doubtful,
            };
            is_code |= *met != Met::Doubtful;
            self.add(at, *index, kind);
        }
        is_code
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
