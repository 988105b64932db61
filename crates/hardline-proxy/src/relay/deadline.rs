//! Deadlines for requests of the client.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use hardline_guard::Direction;
use hardline_wire::id::Id;

use super::opening::Interest;
use super::{Relay, RelayReply, Sink};
use crate::notice::Notice;

/// Deadlines of open requests.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    /// Deadlines in the order of the requests, also of requests that have their answer.
    order: VecDeque<(Duration, Id<'static>)>,
    /// Deadlines of the open requests.
    current: HashMap<Id<'static>, Duration>,
}

impl Deadlines {
    /// Number of answered requests in `order` above which they are removed.
    const MAX_STALE: usize = 1024;

    /// Adds an open request.
    pub(super) fn add(&mut self, deadline: Duration, id: Id<'static>) {
        if self.order.len() > self.current.len() * 2 + Self::MAX_STALE {
            self.order.retain(|(deadline, id)| self.current.get(id) == Some(deadline));
        }
        self.order.push_back((deadline, id.clone()));
        self.current.insert(id, deadline);
    }

    /// Returns the earliest deadline, which may be that of an answered request.
    pub(super) fn next(&self) -> Option<Duration> {
        self.order.front().map(|(deadline, _)| *deadline)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.current.is_empty()
    }

    /// Removes a request that has its answer.
    pub(super) fn forget(&mut self, id: &Id<'static>) {
        self.current.remove(id);
    }
}

impl Relay {
    /// Fails the requests whose deadline has passed, and cancels them at the server.
    pub(super) fn expire_requests(&mut self, now: Duration, sink: &mut impl Sink) {
        while let Some((deadline, id)) = self.deadlines.order.pop_front_if(|it| it.0 <= now) {
            // The request has its answer, or another one uses its id now.
            if self.deadlines.current.get(&id) != Some(&deadline) {
                continue;
            }
            let interest = self.end_request(&id);
            if !self.guard.abandon(&id) {
                continue;
            }
            let reason = "no answer within the request timeout";
            let failure = RelayReply::Failure { id: &id, rule: "request.timeout", reason };
            sink.notify(&Notice::TimedOut);
            sink.send((Direction::ServerToClient, failure).into());
            // MCP forbids to cancel `initialize`.
            if !matches!(interest, Some(Interest::Initialize)) {
                let cancelled = RelayReply::Cancelled { id: &id, reason };
                sink.send((Direction::ClientToServer, cancelled).into());
            }
        }
    }
}
