//! Errors in a policy, each with its place and a suggestion. Only the author of the text causes
//! them.

use std::fmt;
use std::ops::Range;

use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

/// Error returned when a text is not a valid policy. Lists its faults in the order of the text.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{}", Listing(self))]
pub struct PolicyError {
    /// At least one, at most [`PolicyError::MAX_FAULTS`].
    faults: Vec<Fault>,
    more: usize,
}

impl PolicyError {
    /// Limit on stored faults; further ones are only counted.
    ///
    /// Bounds the work on a file that is not a policy at all.
    pub const MAX_FAULTS: usize = 100;

    /// Creates the error for a text of more than `limit` bytes.
    pub(super) fn too_long(limit: usize) -> Self {
        let message = format!("the text is longer than {limit} bytes");
        let fault = Fault { line: 1, column: 1, key: String::new(), message, help: None };
        Self { faults: vec![fault], more: 0 }
    }

    /// Returns the stored faults in the order of the text.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Returns the number of faults that were counted but not stored.
    pub fn more(&self) -> usize {
        self.more
    }
}

/// One fault in a policy.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Fault {
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Path of the key, such as `server.docs.rules`; empty for a syntax error.
    pub key: String,
    /// Description of the fault.
    pub message: String,
    /// Suggestion for fixing it, if there is one.
    pub help: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}: ", self.line, self.column)?;
        if !self.key.is_empty() {
            write!(formatter, "{}: ", self.key)?;
        }
        formatter.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(formatter, "; {help}"),
            None => Ok(()),
        }
    }
}

struct Listing<'a>(&'a PolicyError);

impl fmt::Display for Listing<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(PolicyError { faults, more }) = self;
        for (index, fault) in faults.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            fault.fmt(formatter)?;
        }
        match more {
            0 => Ok(()),
            more => write!(formatter, "\nand {more} more"),
        }
    }
}

/// Collects faults and converts byte offsets into lines and columns.
#[derive(Debug)]
pub(super) struct Faults<'t> {
    text: &'t str,
    /// Byte offset at which each line starts.
    starts: Vec<usize>,
    found: Vec<Fault>,
    more: usize,
}

impl<'t> Faults<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let after_newlines = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let found = Vec::new();
        Self { text, starts: [0].into_iter().chain(after_newlines).collect(), found, more: 0 }
    }

    /// Records a fault.
    pub(super) fn add(&mut self, span: Range<usize>, key: &str, message: impl Into<String>) {
        self.push(span, key, message.into(), None);
    }

    /// Records a fault with a suggestion.
    pub(super) fn add_with_help(
        &mut self,
        span: Range<usize>,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(span, key, message.into(), Some(help.into()));
    }

    /// Counts a fault that cannot be stored, if the list is full. Returns true if it was, so that
    /// the caller need not build its message.
    pub(super) fn count_if_full(&mut self) -> bool {
        let is_full = self.found.len() == PolicyError::MAX_FAULTS;
        self.more += usize::from(is_full);
        is_full
    }

    /// Returns the line number of a byte offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1)
    }

    /// Returns the recorded faults as an error, or `None` if there are none.
    pub(super) fn into_error(self) -> Option<PolicyError> {
        let Self { found: mut faults, more, .. } = self;
        // Tables are read by key, not in the order of the text.
        faults.sort_by_key(|fault| (fault.line, fault.column));
        (!faults.is_empty()).then_some(PolicyError { faults, more })
    }

    fn push(&mut self, span: Range<usize>, key: &str, message: String, help: Option<String>) {
        // Counts the fault even if it is not stored.
        if self.count_if_full() {
            return;
        }
        let line = self.line(span.start);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..span.start).unwrap_or_default();
        // Columns count characters, because editors do.
        let column = before.chars().count() + 1;
        self.found.push(Fault { line, column, key: key.to_owned(), message, help });
    }
}

/// Quotes a word of the policy in backquotes, escaped and shortened.
pub(super) fn quoted(word: &str) -> String {
    format!("`{}`", Excerpt::new(word.as_bytes(), 80))
}
