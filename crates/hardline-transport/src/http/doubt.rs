//! The wait for a proper answer after one with a mistyped id.

use hardline_wire::id::Id;
use tokio::time::{Instant, timeout_at};

use crate::client::TransportError;
use crate::mistyped::{self, Overtime};

/// An answer with a mistyped id.
#[derive(Debug)]
pub(super) struct Mistyped {
    /// Deadline of its request.
    pub(super) until: Instant,
    /// Failure reason if no proper answer follows.
    pub(super) reason: String,
}

impl Mistyped {
    /// Creates the record of an answer that arrived now, whose id was `written` in another type.
    pub(super) fn new(request: i64, written: &str) -> Self {
        let reason = mistyped::reason(&Id::from_integer(request), written);
        Self { until: Instant::now() + mistyped::MAX_WAIT, reason }
    }
}

/// Tracks mistyped answers to a request that has its own stream.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The first mistyped answer.
    raised: Option<Mistyped>,
    overtime: Overtime,
}

impl Doubt {
    /// Records an answer whose id was `written` in another type. Only the first counts.
    pub(super) fn raise(&mut self, request: i64, written: &str) {
        self.raised.get_or_insert_with(|| Mistyped::new(request, written));
    }

    /// Forgets the mistyped answer, because the server still works on the request.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn is_raised(&self) -> bool {
        self.raised.is_some()
    }

    /// Returns the error for the end of the stream, if a mistyped answer explains it.
    pub(super) fn end(self) -> Option<TransportError> {
        self.raised.map(|it| TransportError::Answer(it.reason))
    }

    /// Waits for `next`, until the deadline if there was a mistyped answer.
    pub(super) async fn limit<T>(
        &mut self,
        next: impl Future<Output = T>,
    ) -> Result<T, TransportError> {
        let Some(raised) = &self.raised else { return Ok(next.await) };
        let next = match self.overtime.end(raised.until) {
            Some(end) => timeout_at(end, next).await.ok(),
            None => None,
        };
        // Counts the read, so that a talkative server cannot extend the time.
        self.overtime.found();
        next.ok_or_else(|| TransportError::Mistyped(raised.reason.clone()))
    }
}
