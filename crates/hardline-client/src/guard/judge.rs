//! A guard together with the clock and the observer that it needs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hardline_guard::{Direction, Guard, Inspection, Rule};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::line::Line;
use tokio::time::Instant;

use super::settings::Observer;
use super::{GuardEvent, GuardSettings};

/// Number of bytes of peer-written text that a log line quotes.
const EXCERPT_BYTES: usize = 200;

/// Inspects messages and reports the findings to the observer.
pub(super) struct Judge {
    pub(super) guard: Guard,
    started: Instant,
    observer: Option<Arc<Observer>>,
}

impl Judge {
    pub(super) fn new(guard: Guard, settings: &GuardSettings) -> Self {
        Self { guard, started: Instant::now(), observer: settings.observer.clone() }
    }

    /// Returns the time since this judge was created, the guard's notion of "now".
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Converts a time of the guard to an instant of the runtime's clock.
    pub(super) fn instant(&self, at: Duration) -> Instant {
        self.started + at
    }

    pub(super) fn inspect<'a>(&mut self, direction: Direction, line: &Line<'a>) -> Inspection<'a> {
        let inspection = self.guard.inspect(direction, line, self.now());
        self.report_all(&inspection);
        inspection
    }

    pub(super) fn handle_timeout(&mut self) -> Inspection<'static> {
        let inspection = self.guard.handle_timeout(self.now());
        self.report_all(&inspection);
        inspection
    }

    pub(super) fn finish_server(&mut self) -> Inspection<'static> {
        let inspection = self.guard.finish_server(self.now());
        self.report_all(&inspection);
        inspection
    }

    fn report_all(&self, inspection: &Inspection<'_>) {
        for found in &inspection.found {
            self.report(&GuardEvent::Found(found));
        }
        // Long messages list only their first findings; the observer learns that there were more.
        if inspection.unlisted > 0 {
            self.report(&GuardEvent::Unlisted(inspection.unlisted));
        }
        if let Some(noise) = inspection.noise {
            self.report(&GuardEvent::Noise(noise));
        }
        if let Some(tool) = &inspection.denied {
            self.report(&GuardEvent::Denied(tool));
        }
        if let Some(trouble) = &inspection.trouble {
            self.report(&GuardEvent::Trouble(trouble));
        }
        // Reported last, after the findings that led to it.
        if let Some(rule) = inspection.close {
            self.report(&GuardEvent::Closed(rule));
        }
    }

    pub(super) fn report(&self, event: &GuardEvent<'_>) {
        match &self.observer {
            Some(observer) => observer(event),
            // Findings must not vanish because a program has no observer.
            None => log(event),
        }
    }
}

/// Returns the error text for callers whose session the policy ended.
pub(super) fn closed_by(rule: Rule) -> String {
    format!("the guard has closed the session: {rule}: {}", rule.title())
}

fn log(event: &GuardEvent<'_>) {
    match event {
        GuardEvent::Found(found) => {
            let finding = &found.finding;
            let (rule, action) = (finding.rule, found.action.name());
            let (excerpt, path) = (&finding.excerpt, finding.path.as_deref());
            tracing::warn!(%rule, action, path, excerpt, "the guard: {}", finding.detail);
        }
        GuardEvent::Unlisted(count) => tracing::warn!(count, "the guard: more findings"),
        GuardEvent::Noise(line) => {
            tracing::debug!("the server wrote: {}", Excerpt::new(line, EXCERPT_BYTES));
        }
        GuardEvent::Denied(tool) => {
            let tool = Excerpt::new(tool.as_bytes(), EXCERPT_BYTES);
            tracing::warn!(%tool, "the guard refused a call");
        }
        GuardEvent::Trouble(trouble) => tracing::warn!("the guard: {trouble}"),
        GuardEvent::Closed(rule) => tracing::warn!("{}", closed_by(*rule)),
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Judge").field("guard", &self.guard).finish_non_exhaustive()
    }
}
