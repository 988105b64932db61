//! What is wrong with a policy, where, and what to do about it. Always the writer's doing.

use std::fmt;
use std::ops::Range;

use hardline_wire::excerpt::Excerpt;
use thiserror::Error;

/// Why a text is no policy: everything that is wrong with it, in the order of the text.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{}", Listing(self))]
pub struct PolicyError {
    /// At least one, at most [`PolicyError::MAX_FAULTS`].
    faults: Vec<Fault>,
    more: usize,
}

impl PolicyError {
    /// Most faults kept; the others are counted.
    ///
    /// Bounds the work on a file that is no policy at all.
    pub const MAX_FAULTS: usize = 100;

    /// The error for a text of more than `limit` bytes.
    pub(super) fn too_long(limit: usize) -> Self {
        let message = format!("the text is longer than {limit} bytes");
        let fault = Fault { line: 1, column: 1, key: String::new(), message, help: None };
        Self { faults: vec![fault], more: 0 }
    }

    /// What is wrong, first things first.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// How many faults there are besides.
    pub fn more(&self) -> usize {
        self.more
    }
}

/// One thing that is wrong with a policy.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Fault {
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The key it is about, as `server.docs.rules`; empty for a fault of the text's syntax.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it, where we know.
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
            if 0 < index {
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

/// Collects faults, and knows where the lines of the text begin.
#[derive(Debug)]
pub(super) struct Faults<'t> {
    text: &'t str,
    /// Where each line starts, in bytes.
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

    /// Notes a fault.
    pub(super) fn add(&mut self, span: Range<usize>, key: &str, message: impl Into<String>) {
        self.push(span, key, message.into(), None);
    }

    /// Notes a fault, and what to do about it.
    pub(super) fn add_with_help(
        &mut self,
        span: Range<usize>,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(span, key, message.into(), Some(help.into()));
    }

    /// Whether no more faults are kept. If so one is counted, and need not be put into words.
    pub(super) fn is_full(&mut self) -> bool {
        let is_full = self.found.len() == PolicyError::MAX_FAULTS;
        self.more += usize::from(is_full);
        is_full
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1)
    }

    /// All that were noted, if there are any.
    pub(super) fn into_error(self) -> Option<PolicyError> {
        let Self { found: mut faults, more, .. } = self;
        faults.sort_by_key(|fault| (fault.line, fault.column));
        (!faults.is_empty()).then_some(PolicyError { faults, more })
    }

    fn push(&mut self, span: Range<usize>, key: &str, message: String, help: Option<String>) {
        if self.is_full() {
            return;
        }
        let line = self.line(span.start);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..span.start).unwrap_or_default();
        let column = before.chars().count() + 1;
        self.found.push(Fault { line, column, key: key.to_owned(), message, help });
    }
}

/// A word of the policy in backquotes, escaped and shortened.
pub(super) fn quoted(word: &str) -> String {
    format!("`{}`", Excerpt::new(word.as_bytes(), 80))
}
