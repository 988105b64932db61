//! Tracks requests that wait for a proper answer, after an answer was inside another message.
//!
//! Invariants: at most `max_in_flight` ids are stored, in at most twice as many places. The cost of one
//! id does not depend on their number.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::limits::Limits;

/// The ids, each with its deadline.
#[derive(Debug)]
pub(super) struct Watch {
    max_ids: usize,
    deadlines: HashMap<Id<'static>, Duration>,
    /// The ids in the order of their deadlines, and some that were forgotten; the first one never is.
    order: VecDeque<(Duration, Id<'static>)>,
}

impl Watch {
    pub(super) fn new(limits: &Limits) -> Self {
        let max_ids = limits.max_in_flight();
        Self { max_ids, deadlines: HashMap::new(), order: VecDeque::new() }
    }

    /// Adds an id with a deadline, which is not before any other. An id that is there already keeps its
    /// deadline. Returns false if there is no room.
    pub(super) fn add(&mut self, id: Id<'static>, deadline: Duration) -> bool {
        if self.deadlines.contains_key(&id) {
            return true;
        }
        if self.deadlines.len() >= self.max_ids {
            return false;
        }
        // Compacted rarely, so that the cost of one id stays constant on average.
        if self.order.len() >= self.max_ids * 2 {
            let Self { order, deadlines, .. } = self;
            order.retain(|(deadline, id)| deadlines.get(id) == Some(deadline));
        }
        self.deadlines.insert(id.clone(), deadline);
        self.order.push_back((deadline, id));
        true
    }

    pub(super) fn forget(&mut self, id: &Id<'_>) {
        if !self.deadlines.is_empty() {
            self.deadlines.remove(&id.clone().into_owned());
            self.drop_forgotten();
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.order.front().map(|(deadline, _)| *deadline)
    }

    /// Takes an id whose deadline has passed.
    pub(super) fn next_due(&mut self, now: Duration) -> Option<Id<'static>> {
        if now < self.next_deadline()? {
            return None;
        }
        self.take_first()
    }

    /// Takes the id with the earliest deadline.
    pub(super) fn take_first(&mut self) -> Option<Id<'static>> {
        let (_, id) = self.order.pop_front()?;
        self.deadlines.remove(&id);
        self.drop_forgotten();
        Some(id)
    }

    fn drop_forgotten(&mut self) {
        let Self { order, deadlines, .. } = self;
        while order.pop_front_if(|(deadline, id)| deadlines.get(id) != Some(deadline)).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_bounds_when_ids_are_forgotten() {
        let limits = Limits::default().with_max_in_flight(3).unwrap();
        let mut watch = Watch::new(&limits);
        let (id, time) = (Id::from_integer, Duration::from_secs);
        for second in 0..20 {
            assert!(watch.add(id(1), time(second)));
            assert!(watch.add(id(2), time(second)));
            watch.forget(&id(2));
            assert!(watch.order.len() <= 6);
        }
        assert_eq!(watch.next_deadline(), Some(time(0)));
        watch.forget(&id(1));
        assert_eq!(watch.next_deadline(), None);

        assert!(
            watch.add(id(1), time(1)) && watch.add(id(2), time(2)) && watch.add(id(3), time(3))
        );
        assert!(!watch.add(id(4), time(4)) && watch.add(id(3), time(4)));
        assert_eq!(watch.next_due(time(0)), None);
        watch.forget(&id(1));
        assert_eq!(watch.next_due(time(2)), Some(id(2)));
        assert_eq!(watch.next_due(time(2)), None);
        assert_eq!(watch.take_first(), Some(id(3)));
        assert_eq!(watch.take_first(), None);
    }
}
