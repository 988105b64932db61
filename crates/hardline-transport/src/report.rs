//! Who is told of events: the log, and whoever the configuration names.
//!
//! Each connection is a span of the log (`connection`), and each request of the peer is one in it
//! (`request`), open until it is answered. What the peer wrote is in neither but escaped and shortened.

use std::fmt;
use std::sync::Arc;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;
use tracing::Span;

use crate::config::{Config, Observer};
use crate::event::{Dropped, Event, show};

/// How much of a method's name goes into a log.
const METHOD_BYTES: usize = 64;

/// Tells whoever wants to know.
#[derive(Clone)]
pub(crate) struct Reporter {
    observer: Option<Arc<Observer>>,
    connection: Span,
}

impl Reporter {
    pub(crate) fn new(config: &Config) -> Self {
        let name = config.name.as_deref();
        let connection = tracing::debug_span!(target: "hardline::transport", "connection", name);
        Self { observer: config.observer.clone(), connection }
    }

    pub(crate) fn report(&self, event: &Event<'_>) {
        match event {
            Event::Io { .. } | Event::Unanswered { .. } => {
                tracing::warn!(target: "hardline::transport", parent: &self.connection, "{event}");
            }
            _ => {
                tracing::debug!(target: "hardline::transport", parent: &self.connection, "{event}");
            }
        }
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }

    pub(crate) fn dropped(&self, reason: Dropped) {
        self.report(&Event::Dropped { reason });
    }

    /// The span of a request that was handed on.
    pub(crate) fn request(&self, id: &Id<'_>, method: &str) -> Span {
        tracing::debug_span!(
            target: "hardline::transport",
            parent: &self.connection,
            "request",
            id = show(id),
            method = %Excerpt::new(method.as_bytes(), METHOD_BYTES),
        )
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Reporter({})", self.observer.is_some())
    }
}
