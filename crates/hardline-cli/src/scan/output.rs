//! Standard output, and the progress bar on standard error, which must not get in each other's way.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

use super::progress::Progress;
use crate::terminal::complain;

pub(super) struct Output {
    out: BufWriter<Box<dyn Write>>,
    /// Whether a person looks at it: findings are shown as they come.
    is_terminal: bool,
    has_unshown: bool,
    progress: Progress,
}

impl Output {
    /// Writes colors as `choice` says, which is none of `Auto`.
    pub(super) fn new(choice: ColorChoice, progress: Progress) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let out: Box<dyn Write> = match choice {
            // Not one byte is changed.
            ColorChoice::Never => Box::new(stdout),
            choice => Box::new(AutoStream::new(stdout, choice)),
        };
        Self { out: BufWriter::new(out), is_terminal, has_unshown: false, progress }
    }

    /// Lets somebody write.
    pub(super) fn print(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { out, is_terminal, progress, has_unshown } = self;
        *has_unshown = true;
        if *is_terminal {
            return progress.hide_while(|| write(out).and_then(|()| out.flush()));
        }
        write(out)
    }

    /// Shows what was printed.
    pub(super) fn show(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_unshown) { self.out.flush() } else { Ok(()) }
    }

    /// Takes note that bytes were read.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.progress.advance(bytes);
    }

    /// Tells a person that something is wrong.
    pub(super) fn complain(&mut self, what: &str) {
        self.progress.hide_while(|| complain(what));
    }

    /// Takes the progress bar away.
    pub(super) fn finish(&mut self) {
        self.progress.finish();
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
