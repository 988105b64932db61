//! One request and its answer, as a body or as an event of a stream.

use std::collections::VecDeque;

use hardline_wire::header::PROTOCOL_VERSION;
use hardline_wire::version::Version;
use reqwest::Response;

use super::body::{self, BodyError, Kind};
use super::classify::{Classifier, Item, is_for, progress_token};
use super::doubt::Doubt;
use super::error::{self, broken, no_answer};
use super::event_stream::EventStream;
use super::link::{Link, Sent};
use super::resume;
use super::session::{Session, Stamp, session_id};
use crate::client::{Answer, OutgoingRequest, TransportError};

/// The method that opens a session.
const INITIALIZE: &str = "initialize";

/// An answer, and its stream if that has not ended.
pub(super) type Exchanged = (Answer, Option<EventStream>);

impl Link {
    /// Sends a request and waits for its answer.
    pub(super) async fn exchange(
        &self,
        session: &Session,
        request: OutgoingRequest,
    ) -> Result<Exchanged, TransportError> {
        // A new session must not carry the id of the old one.
        let opens = &*request.method == INITIALIZE;
        let mut stamp = if opens { session.blank_stamp() } else { session.stamp() };
        let address = &self.settings.url;
        let response = self.post(address, request.text, &request.headers, &stamp).await?;
        let status = response.status();
        // The protocol: 404 for a request with a session id means that the session is gone.
        if status == 404 && stamp.id.is_some() {
            return Err(TransportError::SessionEnded);
        }
        if !status.is_success() {
            let limits = &self.settings.limits;
            let answer = error::answer_or_refusal(response, request.id, limits).await?;
            return Ok((answer, None));
        }
        if opens {
            let id = session_id(response.headers());
            session.open(&stamp, id.map_err(|reason| TransportError::Answer(reason.to_owned()))?);
            // The stream of this answer belongs to the new session.
            stamp.id = session.stamp().id;
        }
        // A session without `initialize` states its version in each request.
        if stamp.version.is_none() {
            let named = request.headers.iter().find(|(name, _)| name == PROTOCOL_VERSION);
            stamp.version = named.and_then(|(_, version)| version.parse().ok());
        }
        match Kind::of(&response) {
            _ if matches!(status.as_u16(), 202 | 204) => Err(no_answer(response).await),
            Kind::Json => Ok((self.whole(request.id, response, &stamp).await?, None)),
            Kind::EventStream => self.streamed(request.id, response, &stamp).await,
            Kind::Html | Kind::Other => Err(no_answer(response).await),
        }
    }

    /// Reads an answer that is the whole body.
    async fn whole(
        &self,
        id: i64,
        mut response: Response,
        stamp: &Stamp,
    ) -> Result<Answer, TransportError> {
        let status = response.status().as_u16();
        let sent = response.extensions_mut().remove::<Sent>();
        let body = body::read(response, self.settings.limits.max_frame_bytes()).await;
        let body = body.map_err(|error| match error {
            BodyError::TooLong { limit } => {
                TransportError::Answer(format!("it is longer than {limit} bytes"))
            }
            BodyError::Broken(error) => broken(error),
        })?;
        if body.is_empty() {
            return Err(error::empty(status));
        }
        let mut classifier = Classifier::new(&self.settings.limits, stamp.version);
        if !classifier.is_batch(&body) {
            let answer = classifier.answer(id, body);
            return answer.map_err(|reason| {
                let secrets = sent.map(|sent| sent.secrets()).unwrap_or_default();
                TransportError::Answer(reason).hidden(&secrets)
            });
        }
        let mut items = VecDeque::new();
        classifier.classify(&body, &mut items);
        let mut answer = None;
        for item in items {
            answer = self.take(id, item, None).await?.or(answer);
        }
        answer.ok_or_else(|| TransportError::Answer("it is not in the received batch".to_owned()))
    }

    /// Reads an answer from an event stream, and resumes the stream if it ends early.
    async fn streamed(
        &self,
        id: i64,
        response: Response,
        stamp: &Stamp,
    ) -> Result<Exchanged, TransportError> {
        let limits = &self.settings.limits;
        let classifier = Classifier::new(limits, stamp.version);
        let mut stream = EventStream::begin(response, classifier, limits);
        let mut resuming = None;
        let mut doubt = Doubt::default();
        loop {
            let end = loop {
                match doubt.limit(stream.next()).await? {
                    Ok(Some(item)) => {
                        if let Some(answer) = self.take(id, item, Some(&mut doubt)).await? {
                            return Ok((answer, Some(stream)));
                        }
                    }
                    Ok(None) => break ended(),
                    Err(error) => break broken(error),
                }
            };
            // The versions without a handshake have no resumable streams.
            let is_resumable = stamp.version.is_none_or(Version::has_handshake);
            if !is_resumable || stream.last_event_id().is_none() {
                return Err(doubt.end().unwrap_or(end));
            }
            let resuming = resuming.get_or_insert_with(|| resume::Resuming::new(self, stamp));
            stream = match doubt.limit(resuming.resume(stream, &end)).await? {
                Ok(stream) => stream,
                Err(error) => return Err(doubt.end().unwrap_or(error)),
            };
        }
    }

    /// Handles an item from the stream of a request: returns its answer, or queues an event.
    pub(super) async fn take(
        &self,
        request: i64,
        item: Item,
        doubt: Option<&mut Doubt>,
    ) -> Result<Option<Answer>, TransportError> {
        if let Some(doubt) = doubt {
            match &item {
                Item::Mistyped { request: meant, written, .. } if *meant == request => {
                    doubt.raise(request, written);
                }
                Item::Event(event)
                    if doubt.is_raised()
                        && progress_token(event, &self.settings.limits) == Some(request) =>
                {
                    doubt.clear();
                }
                _ => {}
            }
        }
        match item {
            Item::Answer { id, answer } if is_for(id.as_ref(), request) => return Ok(Some(answer)),
            Item::Overlong { answers, reason }
                if answers.iter().any(|id| is_for(Some(id), request)) =>
            {
                return Err(TransportError::Answer(reason));
            }
            other => self.events.put(other.into_event()).await,
        }
        Ok(None)
    }
}

fn ended() -> TransportError {
    TransportError::Interrupted("the event stream ended without the answer".to_owned())
}
