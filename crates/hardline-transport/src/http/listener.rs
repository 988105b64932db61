//! Listening for what the server sends of its own accord.

use std::sync::Arc;
use std::time::Duration;

use hardline_wire::sse::SseDecoder;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::body::Kind;
use super::event_stream::EventStream;
use super::link::Link;
use super::pace::Pace;
use super::session::Stamp;
use super::sieve::Sieve;
use crate::client::TransportError;

/// A stream that was open for so long was of use even if nothing came: servers and proxies close quiet
/// ones.
const LONG: Duration = Duration::from_secs(30);

/// Listens until the server does not want it, or too many streams in a row bring nothing. Tells
/// `started` when the first one is open, and drops it if there is none.
pub(super) async fn listen(link: Arc<Link>, stamp: Stamp, started: oneshot::Sender<()>) {
    let limits = &link.config.limits;
    let mut started = Some(started);
    let mut pace = Pace::new(link.config.max_reconnects.saturating_mul(2));
    let mut last_event_id: Option<String> = None;
    let mut retry = None;
    loop {
        match link.get(&stamp, last_event_id.as_deref()).await {
            Err(TransportError::Login(_)) => return,
            Err(_) if started.is_some() => return,
            Err(_) => {}
            Ok(response) if response.status().is_success() => {
                if Kind::of(&response) != Kind::EventStream {
                    return;
                }
                started = started.and_then(|started| started.send(()).ok()).and(None);
                let opened = Instant::now();
                let id = last_event_id.as_deref().unwrap_or_default();
                let decoder = SseDecoder::resuming(limits, id);
                let sieve = Sieve::new(limits, stamp.version);
                let mut stream = EventStream::new(response, sieve, decoder);
                while let Ok(Some(item)) = stream.next().await {
                    link.outlet.put(item.into_event()).await;
                }
                if stream.has_brought() || LONG <= opened.elapsed() {
                    pace.progress();
                }
                last_event_id = stream.last_event_id().map(str::to_owned);
                retry = stream.retry().or(retry);
            }
            Ok(response) => {
                let is_passing = response.status().is_server_error() || response.status() == 429;
                if started.is_some() || !is_passing {
                    return;
                }
            }
        }
        match pace.next_wait(retry) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => {
                tracing::debug!(target: "hardline::transport", "the server closes every stream: not listening any more");
                return;
            }
        }
    }
}
