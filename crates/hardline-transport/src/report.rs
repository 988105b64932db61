//! Reporting of events: to the log and to the observer from the configuration.
//!
//! Each connection is a log span (`connection`), and each request of the peer is a span inside it
//! (`request`), open until the request is answered. Bytes from the peer appear only escaped and
//! shortened.

use std::fmt;
use std::sync::Arc;

use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;
use tracing::Span;

use crate::event::{Dropped, EndpointEvent, show};
use crate::settings::{EndpointSettings, Observer};

/// Limit on the bytes of a method name in a log.
const METHOD_BYTES: usize = 64;

/// Reports events to the log and the observer.
#[derive(Clone)]
pub(crate) struct Reporter {
    observer: Option<Arc<Observer>>,
    connection: Span,
}

impl Reporter {
    pub(crate) fn new(settings: &EndpointSettings) -> Self {
        let name = settings.name.as_deref();
        let connection = tracing::debug_span!(target: "hardline::transport", "connection", name);
        Self { observer: settings.observer.clone(), connection }
    }

    pub(crate) fn report(&self, event: &EndpointEvent<'_>) {
        // Only losses deserve a warning; a hostile peer could flood the log with the rest.
        match event {
            EndpointEvent::Io { .. } | EndpointEvent::Unanswered { .. } => {
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
        self.report(&EndpointEvent::Dropped { reason });
    }

    /// Returns the span of a request that was handed to the service.
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
