//! One line of a list of programs that may be started.

use std::fmt;

use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

use super::family::{passes_rest_on, runs_anything};
use super::inspect::{Code, CodeKind, Links, Look, inspect_with};
use super::package::{Package, Registry};
use crate::tools::Glob;

/// The pattern for all arguments that are left.
const REST: &str = "**";
/// Bytes of an option of one letter.
const SHORT_OPTION_BYTES: usize = 2;
/// Bytes of an argument that are shown.
const SHOWN_BYTES: usize = 80;

/// A program that may be started.
///
/// Named alone, it may have any arguments but those that are code, name code to be loaded, choose where code
/// comes from, or are options of an interpreter that are not known. With patterns for its arguments it may have
/// just those; `**` at the end stands for any others, and these may be no code either, nor name another
/// package. A wildcard stands for no `-` at the start, no `:` and no `..`, makes no code welcome, and where a
/// package is named it stands for a name in the registry, perhaps with a version or tag: everything else
/// must be spelled out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    program: String,
    arguments: Option<Vec<Glob>>,
    has_rest: bool,
}

/// Why a text is no program.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum EntryError {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is a path from wherever the client happens to be.
    #[error("a path must start with `/`: a relative one would depend on the directory of the client")]
    Relative,
    /// `**` stands somewhere but at the end.
    #[error("`**` can only be the last one")]
    RestInside,
}

impl Entry {
    /// A program with arguments that are no code.
    ///
    /// # Errors
    ///
    /// [`EntryError`], if it is no name and no path from the root.
    pub fn program(program: &str) -> Result<Self, EntryError> {
        let is_path = program.contains(['/', '\\']);
        let is_absolute = program.starts_with('/') || program.get(1..3) == Some(":\\");
        match program {
            "" => Err(EntryError::Empty),
            _ if is_path && !is_absolute => Err(EntryError::Relative),
            _ => Ok(Self { program: program.to_owned(), arguments: None, has_rest: false }),
        }
    }

    /// A program with arguments that fit these patterns, one each.
    ///
    /// # Errors
    ///
    /// [`EntryError`].
    pub fn with_arguments(program: &str, patterns: &[&str]) -> Result<Self, EntryError> {
        let has_rest = patterns.last() == Some(&REST);
        let patterns = patterns.get(..patterns.len() - usize::from(has_rest)).unwrap_or_default();
        if patterns.contains(&REST) {
            return Err(EntryError::RestInside);
        }
        let arguments = Some(patterns.iter().map(|it| Glob::new(*it)).collect());
        Ok(Self { arguments, has_rest, ..Self::program(program)? })
    }

    /// Its name, or the path of its file.
    pub fn name(&self) -> &str {
        &self.program
    }

    /// Returns true if it lists the arguments that its program may have.
    pub fn has_arguments(&self) -> bool {
        self.arguments.is_some()
    }

    /// Whether it is named by a path.
    pub fn is_path(&self) -> bool {
        self.program.contains(['/', '\\'])
    }

    /// Why these arguments, of a command whose program is the one meant, are not covered, if they are
    /// not. `links` says where words of the command lead.
    pub fn objection(&self, command: &[String], links: Links<'_>) -> Option<String> {
        let look = inspect_with(command, links);
        if let Some(objection) = self.free_objection(command, links, &look) {
            return Some(objection);
        }
        if let Some(patterns) = &self.arguments {
            let given = command.get(1..).unwrap_or_default();
            let is_image = |it: &&Package| it.registry == Registry::Image;
            let images: Vec<usize> =
                look.packages.iter().filter(is_image).map(|it| it.index).collect();
            let all_fit = patterns.iter().zip(given).zip(1..).all(|((glob, word), index)| {
                if images.contains(&index) { fits_name(glob, word) } else { fits(glob, word) }
            });
            let is_as_long = match self.has_rest {
                true => patterns.len() <= given.len(),
                false => patterns.len() == given.len(),
            };
            if !all_fit || !is_as_long {
                return Some(format!("its arguments are not those of `{self}`"));
            }
            if let Some(objection) = self.package_objection(command, &look) {
                return Some(objection);
            }
        }
        let code = look.code.iter().find(|code| !self.covers(code, command))?;
        let what = match code.kind {
            CodeKind::Inline => "runs code from the command line",
            CodeKind::Named => "runs or loads other code",
            CodeKind::Source => "chooses where code comes from",
            CodeKind::Package => "names another package or project",
            CodeKind::Doubtful => "is an option that is not known",
        };
        Some(format!("`{}` {what}, and `{self}` does not spell that out", code.shown))
    }
}

impl Entry {
    /// Why arguments are not covered that no pattern is for, of a program that runs anything by them.
    fn free_objection(&self, command: &[String], links: Links<'_>, look: &Look) -> Option<String> {
        let program = command.first().map_or("", String::as_str);
        let runs_anything =
            runs_anything(program) || links(program).iter().any(|link| runs_anything(link));
        let patterns = self.arguments.as_deref().unwrap_or_default();
        let is_free = self.arguments.is_none() || self.has_rest;
        if !runs_anything || !is_free || command.len() <= patterns.len() + 1 {
            return None;
        }
        // What is behind the image is for the container.
        let is_image = |it: &Package| it.registry == Registry::Image && it.index <= patterns.len();
        let words: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if look.packages.iter().any(is_image) || passes_rest_on(program, &words) {
            return None;
        }
        Some(format!("the arguments of `{self}` can be code: list those that it may have"))
    }

    /// Why a package is not covered that a wildcard or `**` stands for.
    fn package_objection(&self, command: &[String], look: &Look) -> Option<String> {
        for package in &look.packages {
            let word = command.get(package.index).map_or("", String::as_str);
            let pattern = self.pattern(package.index);
            let is_spelled = pattern.is_some_and(|pattern| !pattern.has_wildcard());
            if !is_spelled && !package.is_plain(word, pattern) {
                let shown = Excerpt::new(word.as_bytes(), SHOWN_BYTES);
                return Some(format!(
                    "`{shown}` is no plain name of a package, and `{self}` does not spell it out"
                ));
            }
        }
        None
    }

    /// The pattern for the word at an index of the command.
    fn pattern(&self, index: usize) -> Option<&Glob> {
        self.arguments.as_deref().unwrap_or_default().get(index.checked_sub(1)?)
    }

    /// Checks if code is wanted: the entry has just the word, or lets the program run any package.
    fn covers(&self, code: &Code, command: &[String]) -> bool {
        let is_package = code.kind == CodeKind::Package;
        let Some(pattern) = self.pattern(code.index) else {
            return is_package && self.arguments.is_none();
        };
        // The option itself is spelled out, and what it names is looked at as a package.
        let word = command.get(code.index).map_or("", String::as_str);
        let length = word.find('=').map_or(SHORT_OPTION_BYTES, |sign| sign + 1);
        let option = word.get(..length);
        let is_option = option.is_some_and(|option| pattern.to_string().starts_with(option));
        !pattern.has_wildcard() || is_package && is_option
    }
}

/// Whether an argument fits. A wildcard stands for part of a name: not for an option, another source or a
/// way out of a directory.
fn fits(glob: &Glob, word: &str) -> bool {
    let pattern = glob.to_string();
    // What is there more often than in the pattern is what a wildcard stands for.
    let adds = |part: &str| count(&pattern, part) < count(word, part);
    fits_name(glob, word) && !(glob.has_wildcard() && (adds("..") || adds(":")))
}

/// Checks if a name fits that may have a tag behind a `:`.
fn fits_name(glob: &Glob, word: &str) -> bool {
    let is_option = word.starts_with('-') && !glob.to_string().starts_with('-');
    !(glob.has_wildcard() && is_option) && glob.matches(word)
}

/// Number of places where a part begins.
fn count(text: &str, part: &str) -> usize {
    text.char_indices()
        .filter(|(at, _)| text.get(*at..).is_some_and(|it| it.starts_with(part)))
        .count()
}

impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.program)?;
        for argument in self.arguments.iter().flatten() {
            write!(formatter, " {argument}")?;
        }
        if self.has_rest { write!(formatter, " {REST}") } else { Ok(()) }
    }
}
