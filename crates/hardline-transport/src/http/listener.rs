//! The listening stream: messages that the server sends on its own.

use std::sync::Arc;
use std::time::Duration;

use hardline_wire::sse::SseDecoder;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::body::Kind;
use super::classify::Classifier;
use super::event_stream::EventStream;
use super::link::Link;
use super::reconnect::Reconnects;
use super::session::Stamp;
use crate::client::TransportError;

/// A stream that was open this long counts as useful even without events: servers and proxies close
/// idle streams.
const LONG: Duration = Duration::from_secs(30);

/// Listens until the server refuses, or too many streams in a row bring no event. Signals `started`
/// when the first stream is open, and drops it if there is none.
pub(super) async fn listen(link: Arc<Link>, stamp: Stamp, started: oneshot::Sender<()>) {
    let limits = &link.settings.limits;
    let mut started = Some(started);
    let mut reconnects = Reconnects::new(link.settings.max_reconnects.saturating_mul(2));
    let mut last_event_id: Option<String> = None;
    let mut retry = None;
    loop {
        match link.get(&stamp, last_event_id.as_deref()).await {
            // Retrying without a login would fail the same way.
            Err(TransportError::Login(_)) => return,
            // Listening is optional in the protocol: a server that refuses the first stream has
            // none.
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
                let classifier = Classifier::new(limits, stamp.version);
                let mut stream = EventStream::new(response, classifier, decoder);
                while let Ok(Some(item)) = stream.next().await {
                    link.events.put(item.into_event()).await;
                }
                if stream.has_brought() || opened.elapsed() >= LONG {
                    reconnects.reset();
                }
                last_event_id = stream.last_event_id().map(str::to_owned);
                retry = stream.retry().or(retry);
            }
            Ok(response) => {
                // These may pass; any other status is final.
                let is_passing = response.status().is_server_error() || response.status() == 429;
                if started.is_some() || !is_passing {
                    return;
                }
            }
        }
        match reconnects.next_delay(retry) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => {
                tracing::debug!(target: "hardline::transport", "the server closes every listening stream: giving up on listening");
                return;
            }
        }
    }
}
