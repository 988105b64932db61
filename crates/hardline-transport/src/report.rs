//! Who is told of events: the log, and whoever the configuration names.

use std::fmt;
use std::sync::Arc;

use crate::config::Observer;
use crate::event::{Dropped, Event};

/// Tells whoever wants to know.
#[derive(Clone)]
pub(crate) struct Reporter(Option<Arc<Observer>>);

impl Reporter {
    pub(crate) fn new(observer: Option<Arc<Observer>>) -> Self {
        Self(observer)
    }

    pub(crate) fn report(&self, event: &Event<'_>) {
        tracing::debug!(target: "hardline::transport", "{event}");
        if let Some(observer) = &self.0 {
            observer(event);
        }
    }

    pub(crate) fn dropped(&self, reason: Dropped) {
        self.report(&Event::Dropped { reason });
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Reporter({})", self.0.is_some())
    }
}
