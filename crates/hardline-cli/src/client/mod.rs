//! The ad-hoc client: `hardline call` and `hardline tools`.
//!
//! `target` says which server, `session` connects and minds signals, `print` shows what came.

pub(crate) mod call;
mod print;
mod progress;
mod session;
mod target;
pub(crate) mod tools;

use std::io::{self, BufWriter, Write};

use anstream::AutoStream;
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// JSON for programs, as the server wrote it
    Json,
}

/// Writes to standard output, with colors where they are wanted.
fn write(
    color: crate::terminal::Color,
    print: impl FnOnce(&mut dyn Write, bool) -> io::Result<()>,
) -> io::Result<()> {
    let choice = color.choice();
    let mut out = BufWriter::new(AutoStream::new(io::stdout().lock(), choice));
    print(&mut out, choice != anstream::ColorChoice::Never)?;
    out.flush()
}
