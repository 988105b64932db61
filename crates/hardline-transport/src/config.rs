//! What a connection may cost, how long it waits, and who is told what happened.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hardline_wire::limits::Limits;

use crate::event::Event;

/// The settings of a [`Connection`](crate::Connection). The defaults are right for almost everyone.
///
/// ```
/// use std::time::Duration;
///
/// use hardline_transport::Config;
/// use hardline_wire::limits::Limits;
///
/// let limits = Limits::default().with_max_frame_bytes(1 << 20)?;
/// let config = Config::default()
///     .with_limits(limits)
///     .with_grace(Duration::from_secs(10))
///     .with_observer(|event| tracing::warn!("{event}"));
/// # Ok::<(), hardline_wire::limits::LimitError>(())
/// ```
#[derive(Clone)]
pub struct Config {
    pub(crate) limits: Limits,
    pub(crate) grace: Duration,
    pub(crate) signal_grace: Option<Duration>,
    pub(crate) observer: Option<Arc<Observer>>,
    pub(crate) name: Option<String>,
}

/// What is called with each event.
pub(crate) type Observer = dyn Fn(&Event<'_>) + Send + Sync;

impl Config {
    /// Sets the limits: of frames, requests in flight, queues and replies without an id.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how long accepted requests may take after the peer has closed its side, 60 s by default.
    ///
    /// When it is over, those still open are answered with an error and the service sees the end.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long accepted requests may take after SIGTERM or SIGINT, 1 s by default.
    ///
    /// Then those still open are answered with an error and the service sees the end. A process
    /// that is still there a second later dies of the signal, and so does one that gets a second
    /// signal. Only [`stdio`](crate::stdio()) listens for signals, and only on Unix.
    #[must_use]
    pub fn with_signal_grace(mut self, grace: Duration) -> Self {
        self.signal_grace = Some(grace);
        self
    }

    /// Leaves SIGTERM and SIGINT to the program.
    #[must_use]
    pub fn without_signals(mut self) -> Self {
        self.signal_grace = None;
        self
    }

    /// Names the connection in logs: in the span `connection` of `tracing`.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Calls `observer` with each event: lines that were refused, requests that were not let in,
    /// messages that were dropped.
    ///
    /// It is called between two messages, so it should return soon.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            grace: Duration::from_secs(60),
            signal_grace: Some(Duration::from_secs(1)),
            observer: None,
            name: None,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Config")
            .field("limits", &self.limits)
            .field("grace", &self.grace)
            .field("signal_grace", &self.signal_grace)
            .field("observer", &self.observer.is_some())
            .field("name", &self.name)
            .finish()
    }
}
