//! Messages of one event stream.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::limits::Limits;
use hardline_wire::sse::SseDecoder;
use reqwest::Response;
use reqwest::header::HeaderValue;

use super::classify::{Classifier, Item, refused};

/// Reads messages from an event stream.
///
/// Dropping the future of [`next`](Self::next) loses nothing: received bytes are kept for the next
/// call.
#[derive(Debug)]
pub(super) struct EventStream {
    response: Response,
    decoder: SseDecoder,
    classifier: Classifier,
    /// Bytes received and not decoded yet.
    chunk: Bytes,
    /// Items decoded and not returned yet.
    items: VecDeque<Item>,
    /// Number of bytes received.
    received: u64,
    /// True if an event had data; an event that only sets an id has none.
    has_brought: bool,
}

impl EventStream {
    pub(super) fn new(response: Response, classifier: Classifier, decoder: SseDecoder) -> Self {
        Self {
            response,
            decoder,
            classifier,
            chunk: Bytes::new(),
            items: VecDeque::new(),
            received: 0,
            has_brought: false,
        }
    }

    /// Starts at the beginning of a stream.
    pub(super) fn begin(response: Response, classifier: Classifier, limits: &Limits) -> Self {
        Self::new(response, classifier, SseDecoder::new(limits))
    }

    /// Returns the next item; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the stream breaks.
    pub(super) async fn next(&mut self) -> Result<Option<Item>, reqwest::Error> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Ok(Some(item));
            }
            if self.decode() {
                continue;
            }
            match self.response.chunk().await? {
                Some(chunk) => {
                    self.received = self.received.saturating_add(chunk.len() as u64);
                    self.chunk = chunk;
                }
                None => return Ok(None),
            }
        }
    }

    /// Returns the event id to resume from, if there is one that can be sent as a header.
    pub(super) fn last_event_id(&self) -> Option<&str> {
        let id = self.decoder.last_event_id();
        // The client resumes with a header, which cannot carry every id.
        (!id.is_empty() && HeaderValue::from_bytes(id.as_bytes()).is_ok()).then_some(id)
    }

    /// Returns the delay that the server requests before the stream is resumed.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.decoder.retry_ms().map(Duration::from_millis)
    }

    pub(super) fn has_brought(&self) -> bool {
        self.has_brought
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Decodes one event. Returns true if there was one.
    fn decode(&mut self) -> bool {
        let mut input = &*self.chunk;
        let is_event = match self.decoder.next_event(&mut input) {
            Ok(None) => false,
            Ok(Some(event)) => {
                let data = event.data;
                let is_blank = data.trim_ascii().is_empty();
                self.has_brought |= !is_blank;
                match event.name {
                    // Servers send blank events as keep-alives or to set an id.
                    _ if is_blank => {}
                    "message" => self.classifier.classify(data, &mut self.items),
                    "endpoint" => self.items.push_back(Item::Address(data.into())),
                    name => {
                        let name = Excerpt::new(name.as_bytes(), 64);
                        let reason = format!("an event of the unknown type {name}");
                        self.items.push_back(refused(&reason, data));
                    }
                }
                true
            }
            Err(overlong) => {
                self.has_brought = true;
                let answers = overlong.recovered.iter().filter(|it| it.is_response);
                let answers = answers.filter_map(|it| it.id.clone()).collect();
                self.items.push_back(Item::Overlong { answers, reason: overlong.to_string() });
                true
            }
        };
        // Advance only now, because `input` borrows from the chunk.
        let used = self.chunk.len() - input.len();
        self.chunk.advance(used);
        is_event
    }
}
