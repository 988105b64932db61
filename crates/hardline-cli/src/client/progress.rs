//! What a server reports about its progress, on a terminal alone.

use std::io::{self, IsTerminal};
use std::time::Duration;

use hardline_client::connection::Progress;
use hardline_wire::excerpt::Excerpt;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How much of a message is shown.
const MAX_MESSAGE_BYTES: usize = 120;
/// A bar counts in whole numbers, and servers may not.
const STEPS: f64 = 1000.0;

/// A line on standard error that is gone when the result is there.
#[derive(Clone, Debug)]
pub(super) struct Bar(Option<ProgressBar>);

impl Bar {
    /// One that is hidden unless standard error is a terminal.
    pub(super) fn new(tool: &str) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message(Excerpt::new(tool.as_bytes(), MAX_MESSAGE_BYTES).to_string());
        Self(Some(bar))
    }

    pub(super) fn show(&self, progress: &Progress) {
        let Some(bar) = &self.0 else { return };
        if let Some(total) = progress.total.filter(|total| 0.0 < *total) {
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg}") {
                bar.set_style(style);
            }
            bar.set_length(steps(total));
            bar.set_position(steps(progress.progress));
        }
        let message = progress.message.clone().unwrap_or_default();
        let message = Excerpt::new(message.as_bytes(), MAX_MESSAGE_BYTES).to_string();
        match (message.is_empty(), progress.total) {
            (false, _) => bar.set_message(message),
            (true, None) => bar.set_message(progress.progress.to_string()),
            (true, Some(_)) => {}
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn steps(amount: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let steps = (amount * STEPS) as u64;
    steps
}
