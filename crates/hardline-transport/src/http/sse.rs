//! HTTP with server-sent events, as in 2024-11-05: one stream for all messages of the server, and
//! an address, named by the first event of the stream, for all messages of the client.

use std::sync::{Arc, Mutex, PoisonError};

use hardline_wire::excerpt::Excerpt;
use hardline_wire::version::Version;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use super::body::{self, Kind as Body};
use super::classify::{Classifier, Item};
use super::error::{self, broken, no_answer};
use super::event_stream::EventStream;
use super::link::Link;
use super::pending::Pending;
use super::session::Stamp;
use super::settings::{Address, Elsewhere, HttpSettings};
use crate::Secrets;
use crate::client::{
    Answer, BoxFuture, OneWayMessage, OutgoingRequest, Transport, TransportError, TransportEvents,
    TransportKind,
};
use crate::mistyped::Overtime;

/// Transport to a server over HTTP with server-sent events, 2024-11-05.
#[derive(Debug)]
pub struct Sse {
    link: Arc<Link>,
    /// Address for messages. Always on the origin of the stream.
    endpoint: Address,
    pending: Arc<Pending>,
    reader: Mutex<JoinSet<()>>,
}

impl Sse {
    /// Opens the stream, and waits until the server has named the address for messages.
    ///
    /// # Errors
    ///
    /// [`TransportError`], if there is no such stream, it names no address in time, or it names one
    /// on another origin.
    pub async fn connect(settings: HttpSettings) -> Result<Self, TransportError> {
        let link = Link::new(settings);
        let link = link.map_err(|error| TransportError::Unreachable(error.to_string()))?;
        let wait = link.settings.endpoint_wait;
        let (endpoint, stream) =
            tokio::time::timeout(wait, open(&link)).await.unwrap_or_else(|_| {
                let origin = link.settings.url.origin();
                Err(TransportError::Unreachable(format!(
                    "{origin} named no address to send messages to within {wait:?}"
                )))
            })?;
        let pending = Arc::new(Pending::new(&link.settings.limits));
        let link = Arc::new(link);
        let mut reader = JoinSet::new();
        reader.spawn(read(Arc::clone(&link), Arc::clone(&pending), stream));
        Ok(Self { link, endpoint, pending, reader: Mutex::new(reader) })
    }

    async fn exchange(&self, request: OutgoingRequest) -> Result<Answer, TransportError> {
        // Register first: the answer may arrive before the POST has returned.
        let mut waiting = self.pending.wait_for(request.id)?;
        let posted = async {
            let stamp = Stamp::default();
            let (text, headers) = (request.text, &request.headers);
            let response = self.link.post(&self.endpoint, text, headers, &stamp).await?;
            if response.status().is_success() {
                body::discard(response).await;
                return Ok(None);
            }
            let limits = &self.link.settings.limits;
            error::answer_or_refusal(response, request.id, limits).await.map(Some)
        };
        tokio::select! {
            biased;
            // The answer may arrive before the server ends the POST.
            outcome = waiting.outcome() => return outcome,
            // A response with an error status may carry the answer in its body.
            posted = posted => if let Some(answer) = posted? {
                return Ok(answer);
            },
        }
        waiting.outcome().await
    }

    async fn send(&self, message: OneWayMessage) -> Result<(), TransportError> {
        let stamp = Stamp::default();
        let (text, headers) = (message.text, &message.headers);
        let response = self.link.post(&self.endpoint, text, headers, &stamp).await?;
        if response.status().is_success() {
            body::discard(response).await;
            return Ok(());
        }
        Err(error::refusal(response, &self.link.settings.limits).await)
    }
}

/// Opens the stream and reads it up to the address.
async fn open(link: &Link) -> Result<(Address, EventStream), TransportError> {
    let response = link.get(&Stamp::default(), None).await?;
    let limits = &link.settings.limits;
    if !response.status().is_success() {
        return Err(error::refusal(response, limits).await);
    }
    if Body::of(&response) != Body::EventStream {
        return Err(no_answer(response).await);
    }
    let classifier = Classifier::new(limits, Some(Version::V2024_11_05));
    let mut stream = EventStream::begin(response, classifier, limits);
    while let Some(item) = stream.next().await.map_err(broken)? {
        if let Item::Address(address) = item {
            // An address on another origin would receive our headers.
            let text = String::from_utf8_lossy(&address);
            let endpoint = link.settings.url.join(text.trim()).map_err(|Elsewhere(origin)| {
                let shown = Excerpt::new(&address, 200);
                TransportError::Unreachable(format!(
                    "the server names an address for messages on another origin, {origin}, which is not allowed: {shown}"
                ))
            })?;
            return Ok((endpoint, stream));
        }
    }
    Err(TransportError::Unreachable(
        "the event stream ended before it named an address to send messages to".to_owned(),
    ))
}

/// Reads the stream to its end, which ends the transport too.
async fn read(link: Arc<Link>, pending: Arc<Pending>, mut stream: EventStream) {
    let mut overtime = Overtime::default();
    let end = loop {
        let next = match pending.next_deadline() {
            None => Some(stream.next().await),
            Some(deadline) => match overtime.end(deadline) {
                Some(end) => timeout_at(end, stream.next()).await.ok(),
                None => None,
            },
        };
        overtime.found();
        let Some(next) = next else {
            overtime = Overtime::default();
            pending.expire();
            continue;
        };
        match next {
            Ok(Some(item)) => {
                if let Some(event) = pending.take(item) {
                    link.events.put(event).await;
                }
            }
            Ok(None) => break "the event stream ended".to_owned(),
            Err(error) => break broken(error).to_string(),
        }
    };
    // 2024-11-05 has no resumption, so the end of the stream is final.
    pending.end(&end);
    link.events.close(TransportError::Closed(end));
    link.events.finish();
}

impl Transport for Sse {
    fn request(&self, request: OutgoingRequest) -> BoxFuture<'_, Result<Answer, TransportError>> {
        Box::pin(self.exchange(request))
    }

    fn notify(&self, message: OneWayMessage) -> BoxFuture<'_, Result<(), TransportError>> {
        Box::pin(self.link.events.unless_closed(self.send(message)))
    }

    fn agree(&self, _version: Version) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn forget_session(&self) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        let reason = TransportError::Closed("the connection was closed".to_owned());
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.pending.close(&reason);
        self.link.events.close(reason);
        self.link.events.finish();
        Box::pin(std::future::ready(()))
    }

    fn is_connected(&self) -> bool {
        !self.link.events.is_closed()
    }

    fn take_events(&self) -> Option<TransportEvents> {
        self.link.events.take_events()
    }

    fn kind(&self) -> TransportKind {
        // All answers share one stream, so cancelling takes a message, as on stdio.
        TransportKind::Lines
    }

    fn secrets(&self) -> Secrets {
        self.link.secrets()
    }
}
