//! Waits that never end if there is nothing to wait for.

use tokio::time::Instant;

/// Waits for a signal. Never returns without a listener.
#[cfg(unix)]
pub(crate) async fn heard(signal: &mut Option<crate::signal::Listener>) {
    match signal {
        Some(signal) => signal.heard().await,
        None => std::future::pending().await,
    }
}

/// Waits for a deadline. Never returns without one.
pub(crate) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end of a process. Never returns without one.
#[cfg(unix)]
pub(crate) async fn gone(server: &mut Option<crate::child::Server>) {
    match server {
        Some(server) => server.gone().await,
        None => std::future::pending().await,
    }
}
