//! The option `--format` of commands that print text or JSON.

use clap::ValueEnum;

/// Format of what a command prints.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON document for programs
    Json,
}
