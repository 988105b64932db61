//! Standard output, and the progress bar on standard error, kept from disturbing each other.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

use super::progress::Progress;
use crate::terminal::complain;

pub(super) struct Output {
    out: BufWriter<Box<dyn Write>>,
    /// True on a terminal: findings are shown at once.
    is_terminal: bool,
    has_unshown: bool,
    progress: Progress,
}

impl Output {
    /// Writes with or without colors; `choice` is never `Auto`.
    pub(super) fn new(choice: ColorChoice, progress: Progress) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let out: Box<dyn Write> = match choice {
            // Without a filter, so that no byte changes.
            ColorChoice::Never => Box::new(stdout),
            choice => Box::new(AutoStream::new(stdout, choice)),
        };
        Self { out: BufWriter::new(out), is_terminal, has_unshown: false, progress }
    }

    /// Calls `write` with the output.
    pub(super) fn print(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { out, is_terminal, progress, has_unshown } = self;
        *has_unshown = true;
        if *is_terminal {
            // The bar would otherwise be printed into the finding.
            return progress.hide_while(|| write(out).and_then(|()| out.flush()));
        }
        write(out)
    }

    /// Flushes what was printed.
    pub(super) fn show(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_unshown) { self.out.flush() } else { Ok(()) }
    }

    /// Advances the progress bar.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.progress.advance(bytes);
    }

    /// Prints an error or a warning.
    pub(super) fn complain(&mut self, what: &str) {
        self.progress.hide_while(|| complain(what));
    }

    /// Removes the progress bar.
    pub(super) fn finish(&mut self) {
        self.progress.finish();
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
