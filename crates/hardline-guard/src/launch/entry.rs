//! One line of a list of programs that may be started.

use std::fmt;

use thiserror::Error;

use super::inspect::{CodeKind, inspect};
use crate::tools::Glob;

/// The pattern for all arguments that are left.
const REST: &str = "**";

/// A program that may be started.
///
/// Named alone, it may have any arguments but those that are code or name code to be loaded. With
/// patterns for its arguments it may have just those; `**` at the end stands for any others, and these
/// may be no code either.
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
    /// not.
    pub fn objection(&self, command: &[String]) -> Option<String> {
        let given = command.get(1..).unwrap_or_default();
        let written = match &self.arguments {
            Some(patterns) => {
                let fits = patterns.iter().zip(given).all(|(glob, word)| glob.matches(word));
                let is_long = if self.has_rest {
                    given.len() < patterns.len()
                } else {
                    given.len() != patterns.len()
                };
                if !fits || is_long {
                    return Some(format!("its arguments are not those of `{self}`"));
                }
                patterns.len()
            }
            None => 0,
        };
        let code = inspect(command).code.into_iter().find(|code| written < code.index)?;
        let what = match code.kind {
            CodeKind::Inline => "runs code from the command line",
            CodeKind::Named => "runs or loads other code",
        };
        Some(format!("`{}` {what}, and `{self}` does not spell that out", code.shown))
    }
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
