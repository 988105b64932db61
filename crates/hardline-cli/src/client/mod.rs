//! The ad-hoc client: `hardline call` and `hardline tools`.
//!
//! `target` says which server, `session` connects and minds signals, `print` shows what came.

pub(crate) mod call;
mod print;
mod progress;
mod session;
mod target;
pub(crate) mod tools;

use std::io::{self, BufWriter, ErrorKind, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

use crate::terminal::{Color, complain};

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// JSON for programs, as the server wrote it
    Json,
}

/// Writes to standard output, with colors where they are wanted. Returns whether it is written; why it is
/// not was told then.
///
/// # Errors
///
/// Nobody reads it any more.
fn write(
    color: Color,
    print: impl FnOnce(&mut dyn Write, bool) -> io::Result<()>,
) -> io::Result<bool> {
    let choice = color.choice();
    let mut out = BufWriter::new(AutoStream::new(io::stdout().lock(), choice));
    match print(&mut out, choice != ColorChoice::Never).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(error),
        Err(error) => {
            complain(&format!("cannot write the result: {error}"));
            Ok(false)
        }
    }
}
