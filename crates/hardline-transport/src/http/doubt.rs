//! Waiting for an answer after one with a mistyped id has come.

use hardline_wire::id::Id;
use tokio::time::{Instant, timeout_at};

use crate::client::TransportError;
use crate::mistyped::{self, Overtime};

/// An answer with a mistyped id.
#[derive(Debug)]
pub(super) struct Mistyped {
    /// When its request is given up.
    pub(super) until: Instant,
    /// What to say of it if no other comes.
    pub(super) reason: String,
}

impl Mistyped {
    /// One that came now, with an id that was `written` in another type than the request's.
    pub(super) fn new(request: i64, written: &str) -> Self {
        let reason = mistyped::reason(&Id::from_integer(request), written);
        Self { until: Instant::now() + mistyped::MAX_WAIT, reason }
    }
}

/// Whether a request that has a stream of its own may have been answered by mistake.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// The first such answer.
    raised: Option<Mistyped>,
    overtime: Overtime,
}

impl Doubt {
    /// An answer has come whose id was `written` in another type. Only the first counts.
    pub(super) fn raise(&mut self, request: i64, written: &str) {
        self.raised.get_or_insert_with(|| Mistyped::new(request, written));
    }

    /// The request is still worked on.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn is_raised(&self) -> bool {
        self.raised.is_some()
    }

    /// What the end of the stream means, if not what it seems to.
    pub(super) fn end(self) -> Option<TransportError> {
        self.raised.map(|it| TransportError::Answer(it.reason))
    }

    /// Waits for what comes next, but not for long if there is a doubt.
    pub(super) async fn limit<T>(
        &mut self,
        next: impl Future<Output = T>,
    ) -> Result<T, TransportError> {
        let Some(raised) = &self.raised else { return Ok(next.await) };
        let next = match self.overtime.end(raised.until) {
            Some(end) => timeout_at(end, next).await.ok(),
            None => None,
        };
        self.overtime.found();
        next.ok_or_else(|| TransportError::Mistyped(raised.reason.clone()))
    }
}
