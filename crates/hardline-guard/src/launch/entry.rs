//! One entry of the list of allowed programs.

use std::fmt;

use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

use super::family::{passes_rest_on, runs_anything};
use super::inspect::{Code, CodeKind, Links, Look, inspect_with};
use super::package::{Package, Registry};
use crate::tools::Glob;

/// The pattern that matches all remaining arguments.
const REST: &str = "**";
/// Length of a one-letter option such as `-c`, in bytes.
const SHORT_OPTION_BYTES: usize = 2;
/// Limit on the bytes of an argument that are shown.
const SHOWN_BYTES: usize = 80;

/// A program that may be started.
///
/// An entry without patterns allows any arguments, except those that are code, name code to load,
/// choose the source of code, or are unknown options of an interpreter. An entry with patterns
/// allows exactly those arguments; `**` at the end allows any further ones, which again must not be
/// code nor name another package. A wildcard matches no `-` at the start, no `:` and no `..`, and
/// never allows code. In place of a package, a wildcard matches a name in the registry, optionally
/// with a version or tag. Everything else must be spelled out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    program: String,
    arguments: Option<Vec<Glob>>,
    has_rest: bool,
}

/// Error returned when an entry is not valid.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum EntryError {
    /// The entry is empty.
    #[error("it is empty")]
    Empty,
    /// A relative path, which would depend on the working directory of the client.
    #[error(
        "a path must start with `/`: a relative one would depend on the directory of the client"
    )]
    Relative,
    /// `**` is not the last pattern.
    #[error("`**` is only allowed at the end")]
    RestInside,
}

impl Entry {
    /// Creates an entry that allows any arguments that are not code.
    ///
    /// # Errors
    ///
    /// [`EntryError`] if `program` is neither a name nor an absolute path.
    pub fn program(program: &str) -> Result<Self, EntryError> {
        let is_path = program.contains(['/', '\\']);
        let is_absolute = program.starts_with('/') || program.get(1..3) == Some(":\\");
        match program {
            "" => Err(EntryError::Empty),
            _ if is_path && !is_absolute => Err(EntryError::Relative),
            _ => Ok(Self { program: program.to_owned(), arguments: None, has_rest: false }),
        }
    }

    /// Creates an entry that allows arguments that match these patterns, one pattern per argument.
    ///
    /// # Errors
    ///
    /// [`EntryError`] if `program` is not valid, or if `**` is not the last pattern.
    pub fn with_arguments(program: &str, patterns: &[&str]) -> Result<Self, EntryError> {
        // `**` is stored as a flag, because it matches words, not characters.
        let has_rest = patterns.last() == Some(&REST);
        let patterns = patterns.get(..patterns.len() - usize::from(has_rest)).unwrap_or_default();
        if patterns.contains(&REST) {
            return Err(EntryError::RestInside);
        }
        let arguments = Some(patterns.iter().map(|it| Glob::new(*it)).collect());
        Ok(Self { arguments, has_rest, ..Self::program(program)? })
    }

    /// Returns the name of the program, or the path of its file.
    pub fn name(&self) -> &str {
        &self.program
    }

    /// Returns true if the entry lists the arguments that its program may have.
    pub fn has_arguments(&self) -> bool {
        self.arguments.is_some()
    }

    /// Returns true if the program is given as a path.
    pub fn is_path(&self) -> bool {
        self.program.contains(['/', '\\'])
    }

    /// Returns the reason for which this entry does not allow a command, or `None` if it does. The
    /// caller has already matched the program. `links` resolves words of the command to files.
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
            // Only an image may have a `:` in the place of a wildcard: it separates the tag.
            let all_fit = patterns.iter().zip(given).zip(1..).all(|((glob, word), index)| {
                if images.contains(&index) { fits_name(glob, word) } else { fits(glob, word) }
            });
            let is_as_long = if self.has_rest {
                patterns.len() <= given.len()
            } else {
                patterns.len() == given.len()
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
        Some(format!("`{}` {what}; add it to the entry `{self}` to allow it", code.shown))
    }
}

impl Entry {
    /// Returns an objection if the program can run any code by its arguments and no pattern
    /// restricts them.
    fn free_objection(&self, command: &[String], links: Links<'_>, look: &Look) -> Option<String> {
        let program = command.first().map_or("", String::as_str);
        let runs_anything =
            runs_anything(program) || links(program).iter().any(|link| runs_anything(link));
        let patterns = self.arguments.as_deref().unwrap_or_default();
        let is_free = self.arguments.is_none() || self.has_rest;
        if !runs_anything || !is_free || command.len() <= patterns.len() + 1 {
            return None;
        }
        // Arguments after the image belong to the program in the container.
        // The image itself must be covered by a pattern.
        let is_image = |it: &Package| it.registry == Registry::Image && it.index <= patterns.len();
        let words: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if look.packages.iter().any(is_image) || passes_rest_on(program, &words) {
            return None;
        }
        Some(format!("the arguments of `{self}` can be code: list those that it may have"))
    }

    /// Returns an objection to a package that a wildcard or `**` matches.
    fn package_objection(&self, command: &[String], look: &Look) -> Option<String> {
        for package in &look.packages {
            let word = command.get(package.index).map_or("", String::as_str);
            let pattern = self.pattern(package.index);
            // An exact pattern is the user's own decision, for any kind of package.
            let is_spelled = pattern.is_some_and(|pattern| !pattern.has_wildcard());
            if !is_spelled && !package.is_plain(word, pattern) {
                let shown = Excerpt::new(word.as_bytes(), SHOWN_BYTES);
                return Some(format!(
                    "`{shown}` is not a plain package name; add it to the entry `{self}` to allow it"
                ));
            }
        }
        None
    }

    /// Returns the pattern for the word at an index of the command.
    fn pattern(&self, index: usize) -> Option<&Glob> {
        self.arguments.as_deref().unwrap_or_default().get(index.checked_sub(1)?)
    }

    /// Returns true if the entry allows this code: it spells the word out, or lets the program run
    /// any package.
    fn covers(&self, code: &Code, command: &[String]) -> bool {
        let is_package = code.kind == CodeKind::Package;
        let Some(pattern) = self.pattern(code.index) else {
            return is_package && self.arguments.is_none();
        };
        // The option is spelled out; its value is checked as a package.
        let word = command.get(code.index).map_or("", String::as_str);
        let length = word.find('=').map_or(SHORT_OPTION_BYTES, |sign| sign + 1);
        let option = word.get(..length);
        let is_option = option.is_some_and(|option| pattern.to_string().starts_with(option));
        !pattern.has_wildcard() || is_package && is_option
    }
}

/// Returns true if an argument matches. A wildcard matches part of a name only: no option, no other
/// source and no way out of a directory.
fn fits(glob: &Glob, word: &str) -> bool {
    let pattern = glob.to_string();
    // Parts that occur more often in the word than in the pattern come from a wildcard.
    let adds = |part: &str| count(&pattern, part) < count(word, part);
    fits_name(glob, word) && !(glob.has_wildcard() && (adds("..") || adds(":")))
}

/// Returns true if a name matches; it may have a tag after a `:`.
fn fits_name(glob: &Glob, word: &str) -> bool {
    // Otherwise `*` would match an option.
    let is_option = word.starts_with('-') && !glob.to_string().starts_with('-');
    !(glob.has_wildcard() && is_option) && glob.matches(word)
}

/// Counts the occurrences of `part`, overlapping ones included.
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
