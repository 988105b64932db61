//! The requests of one side: those in flight, and those that ended recently.
//!
//! Invariants: at most `max_in_flight` of each are kept, and the oldest ended ones are forgotten first.
//! The cost of one request does not depend on their number.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::mistyped::retyped;

use super::capability::Capabilities;
use super::decision::{Asked, Orphan};
use super::doubt::{Deadline, Doubt};

/// A request that has no answer yet.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    pub(super) kind: RequestKind,
    /// Token of progress notifications for it.
    pub(super) progress_token: Option<Id<'static>>,
    /// Capabilities of the client that a request of 2026-07-28 declares.
    pub(super) stateless: Option<Capabilities>,
    pub(super) asked: Asked,
    /// Set once the server has acknowledged a subscription.
    pub(super) is_acknowledged: bool,
    /// Set while it is doubtful that the answer will come.
    pub(super) deadline: Option<Deadline>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum RequestKind {
    #[default]
    Ordinary,
    /// `initialize`: cannot be cancelled, and its answer opens the session.
    Initialize,
    /// `server/discover`: its answer has the capabilities of the server.
    Discover,
    /// `subscriptions/listen`: stays open until either side ends it.
    Subscription,
}

impl RequestKind {
    pub(super) fn of(method: &str) -> Self {
        match method {
            "initialize" => Self::Initialize,
            "server/discover" => Self::Discover,
            "subscriptions/listen" => Self::Subscription,
            _ => Self::Ordinary,
        }
    }
}

/// Way in which a request ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ended {
    /// It got an answer or a reply.
    Answered,
    /// Its sender cancelled it.
    Cancelled,
}

/// Relation of an answer to the requests of the other side.
#[derive(Debug)]
pub(super) enum Match {
    /// The answer that a request waits for.
    Proper(InFlight),
    /// The id equals that of this request, but has another type.
    Mistyped(Id<'static>),
    /// The request ended before.
    Ended(Ended),
    /// There is no such request.
    Unknown,
}

#[derive(Debug)]
pub(super) struct Table {
    max: usize,
    requests: HashMap<Id<'static>, Request>,
    /// Number of requests in flight.
    in_flight: usize,
    /// The ids of ended requests, oldest first, and some that are in flight again.
    order: VecDeque<(u64, Id<'static>)>,
    next_number: u64,
    /// The earliest deadline, or an earlier time.
    next_deadline: Option<Duration>,
    /// True once a request had a number as its id, and once one had a string.
    has_numbers: bool,
    has_strings: bool,
}

#[derive(Debug)]
enum Request {
    InFlight(InFlight),
    /// With its number in the order of the ended requests.
    Ended(Ended, u64),
}

impl Request {
    fn as_in_flight(&self) -> Option<&InFlight> {
        match self {
            Self::InFlight(request) => Some(request),
            Self::Ended(..) => None,
        }
    }

    fn is_number(&self, wanted: u64) -> bool {
        matches!(self, Self::Ended(_, number) if *number == wanted)
    }
}

impl Table {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            requests: HashMap::new(),
            in_flight: 0,
            order: VecDeque::new(),
            next_number: 0,
            next_deadline: None,
            has_numbers: false,
            has_strings: false,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.in_flight >= self.max
    }

    pub(super) fn contains(&self, id: &Id<'_>) -> bool {
        // Searched as a map of ids with the given lifetime, so that the id need not be copied.
        fn is_in_flight<'a>(requests: &HashMap<Id<'a>, Request>, id: &Id<'a>) -> bool {
            requests.get(id).is_some_and(|it| it.as_in_flight().is_some())
        }
        is_in_flight(&self.requests, id)
    }

    pub(super) fn get(&self, id: &Id<'static>) -> Option<&InFlight> {
        self.requests.get(id)?.as_in_flight()
    }

    pub(super) fn insert(&mut self, id: Id<'static>, request: InFlight) {
        let is_string = id.as_str().is_some();
        self.has_strings |= is_string;
        self.has_numbers |= !is_string;
        let before = self.requests.insert(id, Request::InFlight(request));
        let was_in_flight = before.is_some_and(|it| it.as_in_flight().is_some());
        self.in_flight += usize::from(!was_in_flight);
    }

    /// Marks a subscription as acknowledged. Returns true the first time.
    pub(super) fn acknowledge(&mut self, id: &Id<'static>) -> bool {
        match self.requests.get_mut(id) {
            Some(Request::InFlight(request)) if request.kind == RequestKind::Subscription => {
                !std::mem::replace(&mut request.is_acknowledged, true)
            }
            _ => false,
        }
    }

    /// Ends a request.
    pub(super) fn end(&mut self, id: &Id<'static>, ended: Ended) -> Option<InFlight> {
        let request = self.requests.get_mut(id)?;
        request.as_in_flight()?;
        let number = self.next_number;
        // The id stays in the table, so that a second answer is recognized as a duplicate.
        let before = std::mem::replace(request, Request::Ended(ended, number));
        self.next_number += 1;
        self.in_flight -= 1;
        if self.in_flight == 0 {
            self.next_deadline = None;
        }
        self.order.push_back((number, id.clone()));
        self.forget_oldest();
        match before {
            Request::InFlight(request) => Some(request),
            Request::Ended(..) => None,
        }
    }

    /// Ends all requests that were sent after `since`, or all requests.
    pub(super) fn end_all(&mut self, since: Option<Duration>, ended: Ended) -> Vec<Orphan> {
        let is_meant = |it: &InFlight| since.is_none_or(|since| it.asked.since > since);
        let open = self.requests.iter().filter(|(_, it)| it.as_in_flight().is_some_and(is_meant));
        let ids: Vec<_> = open.map(|(id, _)| id.clone()).collect();
        let end = |id: Id<'static>| {
            let asked = self.end(&id, ended)?.asked;
            Some(Orphan { id, asked })
        };
        ids.into_iter().filter_map(end).collect()
    }

    /// Returns the number of requests in flight that will be answered eventually.
    pub(super) fn in_flight_but_subscriptions(&self) -> usize {
        if self.in_flight == 0 {
            return 0;
        }
        let open = self.requests.values().filter_map(Request::as_in_flight);
        open.filter(|it| it.kind != RequestKind::Subscription).count()
    }

    /// Forgets ended requests beyond the limit.
    fn forget_oldest(&mut self) {
        let Self { max, requests, in_flight, order, .. } = self;
        let is_stale = |requests: &HashMap<_, Request>, (number, id): &(u64, Id<'static>)| {
            requests.get(id).is_none_or(|it| !it.is_number(*number))
        };
        while *max < requests.len() - *in_flight
            && let Some(oldest) = order.pop_front()
        {
            if !is_stale(requests, &oldest) {
                requests.remove(&oldest.1);
            }
        }
        // Ids that were used again leave stale entries behind.
        if *max * 2 < order.len() {
            order.retain(|it| !is_stale(requests, it));
        }
    }

    /// Matches an answer with this id, and ends the request that it belongs to.
    pub(super) fn answer(&mut self, id: &Id<'static>) -> Match {
        if let Some(request) = self.end(id, Ended::Answered) {
            return Match::Proper(request);
        }
        if let Some(Request::Ended(ended, _)) = self.requests.get(id) {
            return Match::Ended(*ended);
        }
        self.meant_by(id).map_or(Match::Unknown, Match::Mistyped)
    }

    /// Returns the id of the request in flight that `id` was probably meant for, of either type.
    pub(super) fn meant_by(&self, id: &Id<'static>) -> Option<Id<'static>> {
        if self.get(id).is_some() {
            return Some(id.clone());
        }
        retyped(id).filter(|it| self.get(it).is_some())
    }

    /// Returns the id of a request in flight that has the same text as `id` and the other type.
    pub(super) fn twin_of(&self, id: &Id<'static>) -> Option<Id<'static>> {
        // Clients use ids of one type, so this is hardly ever searched for.
        if !(self.has_numbers && self.has_strings) {
            return None;
        }
        retyped(id).filter(|it| self.get(it).is_some())
    }

    /// Lets a request fail at `deadline`, unless it does so before.
    pub(super) fn expire_at(&mut self, id: &Id<'static>, deadline: Deadline) {
        if let Some(Request::InFlight(request)) = self.requests.get_mut(id) {
            let at = request.expire_at(deadline);
            self.next_deadline = self.next_deadline.into_iter().chain([at]).min();
        }
    }

    /// Lets each request that `is_meant` fail at `deadline`, unless it does so before.
    pub(super) fn expire_all(&mut self, deadline: Deadline, is_meant: impl Fn(&InFlight) -> bool) {
        for request in self.requests.values_mut() {
            if let Request::InFlight(request) = request
                && is_meant(request)
            {
                let at = request.expire_at(deadline);
                self.next_deadline = self.next_deadline.into_iter().chain([at]).min();
            }
        }
    }

    /// Extends the deadline of the request with this progress token: the server still works on it.
    pub(super) fn trust(&mut self, token: &Id<'static>, now: Duration) {
        // Without doubtful requests there is nothing to extend; progress is frequent.
        if self.next_deadline.is_none() {
            return;
        }
        for request in self.requests.values_mut() {
            if let Request::InFlight(request) = request
                && request.progress_token.as_ref() == Some(token)
            {
                request.deadline = request.deadline.map(|it| it.extended(now));
            }
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.next_deadline
    }

    /// Ends the requests whose deadline has passed.
    pub(super) fn expire(&mut self, now: Duration) -> Vec<(Id<'static>, InFlight, Doubt)> {
        if self.next_deadline.is_none_or(|deadline| now < deadline) {
            return Vec::new();
        }
        let deadline = |request: &Request| request.as_in_flight().and_then(|it| it.deadline);
        let waiting = self.requests.iter().filter_map(|(id, it)| Some((deadline(it)?, id)));
        let due = waiting.filter(|(deadline, _)| deadline.at <= now);
        // Ending a request changes the map, so the due ones are collected first.
        let mut due: Vec<_> = due.map(|(deadline, id)| (deadline, id.clone())).collect();
        due.sort_by_key(|(deadline, _)| deadline.at);
        let end = |(deadline, id): (Deadline, Id<'static>)| {
            let ended = self.end(&id, Ended::Answered)?;
            Some((id, ended, deadline.doubt))
        };
        let expired = due.into_iter().filter_map(end).collect();
        self.next_deadline = self.requests.values().filter_map(deadline).map(|it| it.at).min();
        expired
    }
}

impl InFlight {
    /// Sets the deadline, unless there is an earlier one. Returns the earlier of both.
    fn expire_at(&mut self, deadline: Deadline) -> Duration {
        let earlier = self.deadline.filter(|it| it.at <= deadline.at);
        self.deadline.insert(earlier.unwrap_or(deadline)).at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_are_used_again_take_no_more_room() {
        let mut table = Table::new(4);
        for round in 0..100 {
            let id = Id::from_integer(round % 3);
            table.insert(id.clone(), InFlight::default());
            assert!(matches!(table.answer(&id), Match::Proper(_)));
            assert!(table.order.len() <= 9 && table.requests.len() <= 3);
        }
        for round in 0..100 {
            let id = Id::from_integer(round);
            table.insert(id.clone(), InFlight::default());
            assert!(table.end(&id, Ended::Cancelled).is_some());
            assert!(table.requests.len() <= 5);
        }
        assert!(matches!(table.answer(&Id::from_integer(96)), Match::Ended(Ended::Cancelled)));
        assert!(matches!(table.answer(&Id::from_integer(95)), Match::Unknown));
        assert_eq!(table.in_flight, 0);
    }
}
