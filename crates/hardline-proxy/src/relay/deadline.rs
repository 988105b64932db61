//! Requests of the client that take too long.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use hardline_guard::Direction;
use hardline_wire::id::Id;

use super::opening::Interest;
use super::{Relay, Reply, Sink};
use crate::note::Note;

/// When requests of the client are given up.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    order: VecDeque<(Duration, Id<'static>)>,
    current: HashMap<Id<'static>, Duration>,
}

impl Deadlines {
    /// Some that have passed are kept until there are many.
    const MAX_STALE: usize = 1024;

    pub(super) fn add(&mut self, deadline: Duration, id: Id<'static>) {
        if self.current.len() * 2 + Self::MAX_STALE < self.order.len() {
            self.order.retain(|(deadline, id)| self.current.get(id) == Some(deadline));
        }
        self.order.push_back((deadline, id.clone()));
        self.current.insert(id, deadline);
    }

    /// When the next request is given up, or earlier.
    pub(super) fn next(&self) -> Option<Duration> {
        self.order.front().map(|(deadline, _)| *deadline)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.current.is_empty()
    }

    /// A request has its answer.
    pub(super) fn forget(&mut self, id: &Id<'static>) {
        self.current.remove(id);
    }
}

impl Relay {
    /// Gives up requests that took too long.
    pub(super) fn expire_requests(&mut self, now: Duration, sink: &mut impl Sink) {
        while let Some((deadline, id)) = self.deadlines.order.pop_front_if(|it| it.0 <= now) {
            if self.deadlines.current.get(&id) != Some(&deadline) {
                continue;
            }
            let interest = self.end_request(&id);
            if !self.guard.abandon(&id) {
                continue;
            }
            let reason = "no answer within the time that requests have here";
            let failure = Reply::Failure { id: &id, rule: "request.timeout", reason };
            sink.note(&Note::TimedOut);
            sink.send((Direction::ServerToClient, failure).into());
            if !matches!(interest, Some(Interest::Initialize)) {
                let cancelled = Reply::Cancelled { id: &id, reason };
                sink.send((Direction::ClientToServer, cancelled).into());
            }
        }
    }
}
