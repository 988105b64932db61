//! The optional guard on connections; its findings go to standard error.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use hardline_client::guard::{GuardEvent, GuardSettings, Policy, Profile};
use hardline_guard::Rule;

use super::progress::Line;
use crate::policy;
use crate::terminal::complain;

/// Limit on printed findings.
const MAX_REPORTED: usize = 20;

/// Options of the guard.
#[derive(Debug, clap::Args)]
pub(super) struct GuardArgs {
    /// Inspect the server's messages, as `hardline wrap` does, with this profile: observe, balanced
    /// or strict. Default, without --policy: no inspection
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,

    /// Inspect the server's messages with this policy, in TOML. With --profile alone, policy.toml
    /// in the configuration directory is used as well
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// Guard of a run. Clones share their counter.
#[derive(Clone, Debug)]
pub(super) struct RunGuard {
    policy: Policy,
    reported: Arc<AtomicUsize>,
}

impl GuardArgs {
    /// # Errors
    ///
    /// The policy cannot be read.
    pub(super) fn judge(&self) -> Result<Option<RunGuard>> {
        // The guard is opt-in here: the user reads the output.
        if self.profile.is_none() && self.policy.is_none() {
            return Ok(None);
        }
        // The user's own policy applies, as it does for `wrap`.
        let known = || policy::default_file().filter(|it| it.exists());
        let policy = match self.policy.clone().or_else(known) {
            Some(path) => policy::read(&path, self.profile)?,
            None => Policy::profile(self.profile.unwrap_or_default()),
        };
        Ok(Some(RunGuard { policy, reported: Arc::default() }))
    }
}

impl RunGuard {
    /// Returns the guard settings for a server, which has no name if it comes from the command
    /// line. Its label is already escaped.
    pub(super) fn settings(&self, name: Option<&str>, label: &str, line: &Line) -> GuardSettings {
        let (reported, label, line) = (Arc::clone(&self.reported), label.to_owned(), line.clone());
        let settings = GuardSettings::new(self.policy.clone()).with_observer(move |event| {
            if let Some(text) = describe(event)
                && reported.fetch_add(1, Ordering::Relaxed) < MAX_REPORTED
            {
                line.clear();
                complain(&format!("{label}: {text}"));
            }
        });
        match name {
            Some(name) => settings.for_server(name),
            None => settings,
        }
    }

    /// Prints the number of findings that were not printed.
    pub(super) fn end(&self) {
        if let Some(more @ 1..) = self.reported.load(Ordering::Relaxed).checked_sub(MAX_REPORTED) {
            complain(&format!("{more} more findings"));
        }
    }
}

/// Describes an event in the words of `wrap`. Noise is reported elsewhere.
fn describe(event: &GuardEvent<'_>) -> Option<String> {
    use hardline_proxy::Notice as Words;

    let words = match event {
        GuardEvent::Found(found) if found.finding.rule != Rule::FrameNoise => Words::Found(found),
        GuardEvent::Unlisted(count) => Words::Unlisted(*count),
        GuardEvent::Denied(tool) => Words::Denied(tool),
        GuardEvent::Trouble(text) => Words::Trouble(text),
        GuardEvent::Closed(rule) => Words::Closed(*rule),
        _ => return None,
    };
    Some(words.to_string())
}
