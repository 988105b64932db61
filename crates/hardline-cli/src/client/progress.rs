//! The progress line: the last line of a terminal; nothing if standard error is not a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use hardline_client::connection::Progress;

use crate::terminal::{Pieces, table};

/// Width of the bar.
const BAR: usize = 20;
/// Width of the line if the terminal does not report its own.
const WIDTH: usize = 80;

/// A line on standard error that disappears when the result is printed. Clones share the line.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_wanted: bool,
    is_shown: bool,
}

impl Line {
    /// Creates a line. It stays empty unless standard error is a terminal and `is_alone`.
    pub(super) fn new(is_alone: bool) -> Self {
        // With --verbose, server output would break the line.
        let is_wanted = is_alone && io::stderr().is_terminal();
        Self(Arc::new(Mutex::new(State { is_wanted, is_shown: false })))
    }

    /// Shows the progress of a request.
    pub(super) fn show(&self, progress: &Progress) {
        let Progress { progress, total, message, .. } = progress;
        self.say(&describe(*progress, *total, message.as_deref()));
    }

    /// Shows a text.
    pub(super) fn say(&self, text: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_wanted {
            return;
        }
        state.is_shown = true;
        // The last column stays free, because a character there may wrap the line.
        let width = table::width().unwrap_or(WIDTH).saturating_sub(1);
        let text = Pieces::up_to(width, text.as_bytes(), false).first(width, false);
        // If the terminal is gone, progress does not matter.
        let _ = write!(io::stderr(), "\r{text}\x1b[K");
    }

    /// Shows a text if the line is empty.
    pub(super) fn say_if_empty(&self, text: &str) {
        let is_shown = self.0.lock().unwrap_or_else(PoisonError::into_inner).is_shown;
        if !is_shown {
            self.say(text);
        }
    }

    /// Clears the line, before other output.
    pub(super) fn clear(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut state.is_shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Formats progress as one line.
fn describe(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    let message = message.unwrap_or_default();
    match total.filter(|total| *total > 0.0) {
        Some(total) => {
            let share = (progress / total).clamp(0.0, 1.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1")]
            let full = (share * BAR as f64).round() as usize;
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR.saturating_sub(full)));
            format!("{bar} {:3.0} % {message}", share * 100.0)
        }
        // Without a total, the number is all there is.
        None if message.is_empty() => progress.to_string(),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(progress: f64, total: Option<f64>, message: Option<&str>, expected: &str) {
        let message = message.map(str::to_owned);
        assert_eq!(describe(progress, total, message.as_deref()), expected);
    }

    #[test]
    fn tells_how_far_it_is() {
        check(5.0, Some(10.0), Some("half"), "██████████░░░░░░░░░░  50 % half");
        check(99.0, Some(1.0), None, "████████████████████ 100 % ");
        check(3.0, Some(0.0), None, "3");
        check(3.0, None, Some("third"), "third");
    }
}
