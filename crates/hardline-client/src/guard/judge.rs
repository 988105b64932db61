//! A guard with a clock, and somebody to tell.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hardline_guard::{Direction, Guard, Rule, Verdict};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::line::Line;
use tokio::time::Instant;

use super::settings::Observer;
use super::{GuardSettings, Note};

/// How much of what a peer wrote goes into a log.
const EXCERPT_BYTES: usize = 200;

/// Judges what passes, and tells what was found.
pub(super) struct Judge {
    pub(super) guard: Guard,
    started: Instant,
    observer: Option<Arc<Observer>>,
}

impl Judge {
    pub(super) fn new(settings: &GuardSettings) -> Self {
        Self {
            guard: settings.build(),
            started: Instant::now(),
            observer: settings.observer.clone(),
        }
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// What the guard calls `at`.
    pub(super) fn instant(&self, at: Duration) -> Instant {
        self.started + at
    }

    pub(super) fn inspect<'a>(&mut self, direction: Direction, line: &Line<'a>) -> Verdict<'a> {
        let verdict = self.guard.inspect(direction, line, self.now());
        self.tell_all(&verdict);
        verdict
    }

    pub(super) fn handle_timeout(&mut self) -> Verdict<'static> {
        let verdict = self.guard.handle_timeout(self.now());
        self.tell_all(&verdict);
        verdict
    }

    pub(super) fn finish_server(&mut self) -> Verdict<'static> {
        let verdict = self.guard.finish_server(self.now());
        self.tell_all(&verdict);
        verdict
    }

    fn tell_all(&self, verdict: &Verdict<'_>) {
        for found in &verdict.found {
            self.tell(&Note::Found(found));
        }
        if 0 < verdict.unlisted {
            self.tell(&Note::Unlisted(verdict.unlisted));
        }
        if let Some(noise) = verdict.noise {
            self.tell(&Note::Noise(noise));
        }
        if let Some(tool) = &verdict.denied {
            self.tell(&Note::Denied(tool));
        }
        if let Some(trouble) = &verdict.trouble {
            self.tell(&Note::Trouble(trouble));
        }
        if let Some(rule) = verdict.close {
            self.tell(&Note::Closed(rule));
        }
    }

    pub(super) fn tell(&self, note: &Note<'_>) {
        match &self.observer {
            Some(observer) => observer(note),
            None => log(note),
        }
    }
}

/// What whoever waits is told when the policy ends the session.
pub(super) fn closed_by(rule: Rule) -> String {
    format!("the guard has closed the session: {rule}: {}", rule.title())
}

fn log(note: &Note<'_>) {
    match note {
        Note::Found(found) => {
            let finding = &found.finding;
            let (rule, action) = (finding.rule, found.action.name());
            let (excerpt, path) = (&finding.excerpt, finding.path.as_deref());
            tracing::warn!(%rule, action, path, excerpt, "the guard: {}", finding.detail);
        }
        Note::Unlisted(count) => tracing::warn!(count, "the guard: more findings"),
        Note::Noise(line) => {
            tracing::debug!("the server wrote: {}", Excerpt::new(line, EXCERPT_BYTES));
        }
        Note::Denied(tool) => {
            let tool = Excerpt::new(tool.as_bytes(), EXCERPT_BYTES);
            tracing::warn!(%tool, "the guard refused a call");
        }
        Note::Trouble(trouble) => tracing::warn!("the guard: {trouble}"),
        Note::Closed(rule) => tracing::warn!("{}", closed_by(*rule)),
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Judge").field("guard", &self.guard).finish_non_exhaustive()
    }
}
