//! Waiting for what may never come.

use tokio::time::Instant;

/// Waits for a signal, for ever if nobody listens for one.
#[cfg(unix)]
pub(crate) async fn heard(signal: &mut Option<crate::signal::Listener>) {
    match signal {
        Some(signal) => signal.heard().await,
        None => std::future::pending().await,
    }
}

/// Waits for a time, for ever if there is none.
pub(crate) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of a process, for ever if there is none.
#[cfg(unix)]
pub(crate) async fn gone(server: &mut Option<crate::child::Server>) {
    match server {
        Some(server) => server.gone().await,
        None => std::future::pending().await,
    }
}
