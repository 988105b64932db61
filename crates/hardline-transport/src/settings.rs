//! Settings of a connection: limits, grace periods, logging name and event observer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hardline_wire::limits::Limits;

use crate::event::EndpointEvent;

/// Settings of an [`Endpoint`](crate::Endpoint). The defaults suit almost every program.
///
/// ```
/// use std::time::Duration;
///
/// use hardline_transport::EndpointSettings;
/// use hardline_wire::limits::Limits;
///
/// let limits = Limits::default().with_max_frame_bytes(1 << 20)?;
/// let settings = EndpointSettings::default()
///     .with_limits(limits)
///     .with_grace(Duration::from_secs(10))
///     .with_observer(|event| tracing::warn!("{event}"));
/// # Ok::<(), hardline_wire::limits::LimitError>(())
/// ```
#[derive(Clone)]
pub struct EndpointSettings {
    pub(crate) limits: Limits,
    pub(crate) grace: Duration,
    pub(crate) signal_grace: Option<Duration>,
    pub(crate) observer: Option<Arc<Observer>>,
    pub(crate) name: Option<String>,
}

/// Callback for events.
pub(crate) type Observer = dyn Fn(&EndpointEvent<'_>) + Send + Sync;

impl EndpointSettings {
    /// Sets the limits on frames, requests in flight, queues and replies without an id.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the time for accepted requests to finish after the peer closed its side. Default: 60 s.
    ///
    /// After it, requests still open are answered with an error and the service sees the end.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the time for accepted requests to finish after SIGTERM or SIGINT. Default: 1 s.
    ///
    /// After it, requests still open are answered with an error and the service sees the end. If
    /// the process still runs one second later, or receives a second signal, the signal kills it.
    /// Only [`stdio`](crate::stdio()) listens for signals, and only on Unix.
    #[must_use]
    pub fn with_signal_grace(mut self, grace: Duration) -> Self {
        self.signal_grace = Some(grace);
        self
    }

    /// Leaves the handling of SIGTERM and SIGINT to the program.
    #[must_use]
    pub fn without_signals(mut self) -> Self {
        self.signal_grace = None;
        self
    }

    /// Names the connection in logs: a field of the `tracing` span `connection`.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Calls `observer` with each event: refused lines, refused requests, dropped messages.
    ///
    /// The connection calls it between two messages, so it should return quickly.
    #[must_use]
    pub fn with_observer(
        mut self,
        observer: impl Fn(&EndpointEvent<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }
}

impl Default for EndpointSettings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            // Long enough for most tool calls in progress to finish.
            grace: Duration::from_secs(60),
            // Short, because a supervisor often sends SIGKILL soon after SIGTERM.
            signal_grace: Some(Duration::from_secs(1)),
            observer: None,
            name: None,
        }
    }
}

impl fmt::Debug for EndpointSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EndpointSettings")
            .field("limits", &self.limits)
            .field("grace", &self.grace)
            .field("signal_grace", &self.signal_grace)
            .field("observer", &self.observer.is_some())
            .field("name", &self.name)
            .finish()
    }
}
