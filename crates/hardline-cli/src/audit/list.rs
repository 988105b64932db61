//! Records as a table or as one JSON document.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style as Ansi};
use anyhow::{Context, Result};
use serde::Serialize;

use super::{Format, Style};
use crate::json;
use crate::terminal::table::{Cell, Layout, Table, width};

/// Output of records: rows of tables, or members of one JSON document.
pub(super) struct List {
    out: BufWriter<Box<dyn Write>>,
    format: Format,
    is_colored: bool,
    width: Option<usize>,
    table: Table,
    has_some: bool,
}

impl List {
    pub(super) fn new(style: Style, layout: Layout) -> Self {
        let choice = choice(style);
        let is_colored = choice != ColorChoice::Never;
        Self {
            out: BufWriter::new(output(choice)),
            format: style.format,
            is_colored,
            width: width(),
            table: Table::new(layout, is_colored),
            has_some: false,
        }
    }

    /// Starts a list of records: a table, or an array in the document.
    pub(super) fn begin(&mut self, name: &str, is_first: bool) -> Result<()> {
        self.has_some = false;
        if self.format == Format::Json {
            let before = if is_first { "{" } else { ",\n" };
            write!(self.out, "{before}\"{name}\":[")?;
        }
        Ok(())
    }

    /// Adds a record.
    pub(super) fn add<T: Serialize>(
        &mut self,
        record: &T,
        row: impl FnOnce(&T) -> Vec<Cell>,
    ) -> Result<()> {
        match self.format {
            Format::Text => self.table.push(row(record)),
            Format::Json => {
                // The document is written record by record, so that memory stays bounded.
                let comma = if self.has_some { "," } else { "" };
                write!(self.out, "{comma}\n{}", json::line(record)?)?;
            }
        }
        self.has_some = true;
        Ok(())
    }

    /// Finishes the list, or prints `nothing` if it is empty. The next list has the layout `next`.
    pub(super) fn end(&mut self, nothing: &str, next: Layout) -> Result<()> {
        // The next list may have other columns.
        let table = std::mem::replace(&mut self.table, Table::new(next, self.is_colored));
        match self.format {
            Format::Json => write!(self.out, "\n]")?,
            Format::Text if table.is_empty() => writeln!(self.out, "{nothing}")?,
            Format::Text => table.write(&mut self.out, self.width)?,
        }
        Ok(())
    }

    /// Prints a line in the text format only.
    pub(super) fn say(&mut self, text: &str) -> Result<()> {
        if self.format == Format::Text {
            writeln!(self.out, "{text}")?;
        }
        Ok(())
    }

    /// Adds a member to the document, in the JSON format only.
    pub(super) fn member(&mut self, name: &str, value: &impl Serialize) -> Result<()> {
        if self.format == Format::Json {
            write!(self.out, ",\n\"{name}\":{}", json::line(value)?)?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if self.format == Format::Json {
            writeln!(self.out, "}}")?;
        }
        self.out.flush()?;
        Ok(())
    }
}

/// Returns the exit status of a command. A closed standard output is not an error.
pub(super) fn outcome(written: Result<()>) -> Result<ExitCode> {
    match written {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // `head` and `less` close the output when they have enough.
        Err(error) if is_closed(&error) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error),
    }
}

pub(super) fn is_closed(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == ErrorKind::BrokenPipe)
}

/// Returns the color choice, never `Auto`.
pub(super) fn choice(style: Style) -> ColorChoice {
    match style.format {
        Format::Text => style.color.choice(),
        // Programs read JSON, even with `--color always`.
        Format::Json => ColorChoice::Never,
    }
}

pub(super) fn output(choice: ColorChoice) -> Box<dyn Write> {
    match choice {
        ColorChoice::Never => Box::new(io::stdout()),
        choice => Box::new(AutoStream::new(io::stdout(), choice)),
    }
}

/// Returns true if the reader of standard output has closed it.
pub(super) fn is_unread() -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdout = io::stdout();
        let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
        // POLLERR and POLLHUP are reported without being requested.
        let gone = PollFlags::ERR | PollFlags::HUP;
        let is_asked = poll(&mut asked, Some(&Timespec::default())).is_ok();
        is_asked && asked.iter().any(|it| it.revents().intersects(gone))
    }
    #[cfg(not(unix))]
    false
}

/// Returns the color of a severity.
pub(super) fn color(severity: &str) -> Ansi {
    // Another version may have stored a severity that this one does not know.
    severity.parse().map_or_else(|_| Ansi::new(), crate::scan::color)
}

/// Returns the color of an action or a verdict.
pub(super) fn verdict_color(verdict: &str) -> Ansi {
    let color = |color: AnsiColor| Ansi::new().fg_color(Some(color.into()));
    match verdict {
        "block" | "close" | "blocked" | "answered" => color(AnsiColor::Red),
        "sanitize" | "sanitized" => color(AnsiColor::Yellow),
        _ => Ansi::new(),
    }
}

/// Adds context to an error of the database, but not to a closed standard output.
pub(super) fn context<T>(read: Result<T>) -> Result<T> {
    match read {
        Err(error) if is_closed(&error) => Err(error),
        // `outcome` must still recognize a closed output, so it gets no context.
        other => other.context("cannot read the audit database"),
    }
}
