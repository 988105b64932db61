//! A progress bar on standard error, if that is a terminal and the work takes long enough.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Delay before the bar appears.
const QUIET: Duration = Duration::from_millis(500);
const REDRAWS_PER_SECOND: u8 = 10;

pub(super) struct Progress {
    /// Start time; `None` if the bar would not be visible.
    started: Option<Instant>,
    /// Number of bytes in total, if known.
    total: Option<u64>,
    done: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Shows the progress of reading `total` bytes, if known.
    pub(super) fn new(total: Option<u64>) -> Self {
        // A user who types the input needs no progress bar.
        let is_seen = io::stderr().is_terminal() && !(total.is_none() && io::stdin().is_terminal());
        Self { started: is_seen.then(now), total, done: 0, bar: None }
    }

    /// Advances the bar.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.done += bytes;
        let Some(started) = self.started else { return };
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        } else if started.elapsed() >= QUIET {
            let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
            let bar = ProgressBar::with_draw_target(self.total, target).with_style(self.style());
            bar.set_position(self.done);
            bar.tick();
            self.bar = Some(bar);
        }
    }

    /// Hides the bar while something else is written.
    pub(super) fn hide_while<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.started = None;
    }

    fn style(&self) -> ProgressStyle {
        let template = match self.total {
            Some(_) => "scanning [{bar:32}] {binary_bytes} of {binary_total_bytes}, {eta} left",
            None => "scanning {spinner} {binary_bytes}, {binary_bytes_per_sec}",
        };
        let style = ProgressStyle::with_template(template);
        style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
    }
}

#[expect(clippy::disallowed_methods, reason = "the bar depends on the time that has passed")]
fn now() -> Instant {
    Instant::now()
}
