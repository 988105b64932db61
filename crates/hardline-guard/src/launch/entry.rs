//! One line of a list of programs that may be started.

use std::fmt;

use thiserror::Error;

use super::family::runs_anything;
use super::inspect::{CodeKind, Links, inspect_with};
use crate::tools::Glob;

/// The pattern for all arguments that are left.
const REST: &str = "**";

/// A program that may be started.
///
/// Named alone, it may have any arguments but those that are code, name code to be loaded, or are options
/// of an interpreter that are not known. With patterns for its arguments it may have just those; `**` at
/// the end stands for any others, and these may be no code either. A wildcard stands for no `-` at the
/// start, no `:` and no `..`, and makes no code welcome: that must be spelled out.
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
    #[error("a path must start with `/`: from where another would be read, nobody knows")]
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

    /// Whether it is named by a path.
    pub fn is_path(&self) -> bool {
        self.program.contains(['/', '\\'])
    }

    /// Why these arguments, of a command whose program is the one meant, are not covered, if they are
    /// not. `links` says where words of the command lead.
    pub fn objection(&self, command: &[String], links: Links<'_>) -> Option<String> {
        let given = command.get(1..).unwrap_or_default();
        let program = command.first().map_or("", String::as_str);
        let runs_anything =
            runs_anything(program) || links(program).iter().any(|link| runs_anything(link));
        if self.arguments.is_none() && !given.is_empty() && runs_anything {
            return Some(format!(
                "the arguments of `{self}` can be code: list those that it may have"
            ));
        }
        if let Some(patterns) = &self.arguments {
            let all_fit = patterns.iter().zip(given).all(|(glob, word)| fits(glob, word));
            let is_as_long = match self.has_rest {
                true => patterns.len() <= given.len(),
                false => patterns.len() == given.len(),
            };
            if !all_fit || !is_as_long {
                return Some(format!("its arguments are not those of `{self}`"));
            }
        }
        let code =
            inspect_with(command, links).code.into_iter().find(|code| !self.spells(code.index))?;
        let what = match code.kind {
            CodeKind::Inline => "runs code from the command line",
            CodeKind::Named => "runs or loads other code",
            CodeKind::Doubtful => "is an option that is not known",
        };
        Some(format!("`{}` {what}, and `{self}` does not spell that out", code.shown))
    }
}

impl Entry {
    /// Whether it has just the word that stands at an index of the command.
    fn spells(&self, index: usize) -> bool {
        let patterns = self.arguments.as_deref().unwrap_or_default();
        let glob = index.checked_sub(1).and_then(|index| patterns.get(index));
        glob.is_some_and(|glob| !glob.has_wildcard())
    }
}

/// Whether an argument fits. A wildcard stands for part of a name: not for an option, another source or a
/// way out of a directory.
fn fits(glob: &Glob, word: &str) -> bool {
    let pattern = glob.to_string();
    let adds = |part: &str| word.contains(part) && !pattern.contains(part);
    let is_out = glob.has_wildcard()
        && (word.starts_with('-') && !pattern.starts_with('-') || adds("..") || adds(":"));
    !is_out && glob.matches(word)
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
