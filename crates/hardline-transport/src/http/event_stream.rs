//! The messages of one event stream.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::limits::Limits;
use hardline_wire::sse::SseDecoder;
use reqwest::Response;
use reqwest::header::HeaderValue;

use super::sieve::{Item, Sieve, refused};

/// An event stream, read to what its events say.
///
/// A call that is dropped loses nothing: what was read is kept for the next one.
#[derive(Debug)]
pub(super) struct EventStream {
    response: Response,
    decoder: SseDecoder,
    sieve: Sieve,
    /// What was received and not decoded yet.
    chunk: Bytes,
    /// What was decoded and not given out yet.
    items: VecDeque<Item>,
    /// How many bytes were received.
    received: u64,
    /// Whether an event said something; one that only sets an id does not.
    has_brought: bool,
}

impl EventStream {
    pub(super) fn new(response: Response, sieve: Sieve, decoder: SseDecoder) -> Self {
        Self {
            response,
            decoder,
            sieve,
            chunk: Bytes::new(),
            items: VecDeque::new(),
            received: 0,
            has_brought: false,
        }
    }

    /// A stream from its beginning.
    pub(super) fn begin(response: Response, sieve: Sieve, limits: &Limits) -> Self {
        Self::new(response, sieve, SseDecoder::new(limits))
    }

    /// What comes next; `None` at the end.
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

    /// The id to take the stream up again from, if it has one that can be sent.
    pub(super) fn last_event_id(&self) -> Option<&str> {
        let id = self.decoder.last_event_id();
        (!id.is_empty() && HeaderValue::from_bytes(id.as_bytes()).is_ok()).then_some(id)
    }

    /// How long the server asks to wait before the stream is taken up again.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.decoder.retry_ms().map(Duration::from_millis)
    }

    pub(super) fn has_brought(&self) -> bool {
        self.has_brought
    }

    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Decodes one event. Returns whether there was one.
    fn decode(&mut self) -> bool {
        let mut input = &*self.chunk;
        let is_event = match self.decoder.next_event(&mut input) {
            Ok(None) => false,
            Ok(Some(event)) => {
                let data = event.data;
                let is_blank = data.trim_ascii().is_empty();
                self.has_brought |= !is_blank;
                match event.name {
                    _ if is_blank => {}
                    "message" => self.sieve.sift(data, &mut self.items),
                    "endpoint" => self.items.push_back(Item::Endpoint(data.into())),
                    name => {
                        let name = Excerpt::new(name.as_bytes(), 64);
                        let reason = format!("an event that is called {name}");
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
        let used = self.chunk.len() - input.len();
        self.chunk.advance(used);
        is_event
    }
}
