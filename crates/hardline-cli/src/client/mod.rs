//! The client: `hardline tools`, `call`, `resources`, `prompts`, `login` and `logout`.
//!
//! `target` selects the servers, `config` finds those of configuration files, `server` is a server
//! to connect to, with its `credentials` and the commands to suggest for it (`again`). `session`
//! connects and handles signals, with a `guard` if wanted; `all` asks many servers concurrently.
//! `print`, `save` and `visible` show results, `tree` reads them.

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

use crate::argument::Format;
use crate::terminal::{Color, complain};

/// Output format and colors.
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Use of colors; `auto`: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

/// Returns the first line of a description that is not blank.
fn first_line(description: Option<&str>) -> &str {
    let mut lines = description.unwrap_or_default().lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Writes to standard output, with colors if wanted. Returns false after a write error, which it
/// has reported.
///
/// # Errors
///
/// Standard output is closed.
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
