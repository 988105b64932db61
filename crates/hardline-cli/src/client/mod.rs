//! The client: `hardline tools`, `call`, `resources`, `prompts`, `login` and `logout`.
//!
//! `target` says which servers, `config` finds those of configurations, `server` is one that can be connected
//! to, with the `credentials` for it and the commands that are suggested for it
//! (`again`); `session` connects and minds signals, with a `guard` if there is to be one, `all` asks many side by side;
//! `print`, `save` and `visible` show what came, `tree` looks into it.

mod again;
mod all;
mod arguments;
pub(crate) mod call;
pub(crate) mod config;
mod credentials;
mod guard;
mod header;
mod listing;
mod log;
pub(crate) mod login;
mod nearest;
mod print;
mod progress;
pub(crate) mod prompts;
pub(crate) mod resources;
mod save;
mod server;
mod session;
mod target;
mod tool;
pub(crate) mod tools;
mod tree;
mod visible;

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

/// How what came is shown.
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// When to use colors; `auto` does on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

/// The first line of a description that has something in it.
fn first_line(description: Option<&str>) -> &str {
    let mut lines = description.unwrap_or_default().lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
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
