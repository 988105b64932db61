//! Sends a request and returns its result: retries, rounds of input, progress and deadlines.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::{
    Answer, AnswerOutcome, OneWayMessage, OutgoingRequest, Transport, TransportError, TransportKind,
};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::limits::FOREVER;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::unconstrained;
use tokio::time::Instant;

use super::cancel::Cancel;
use super::event::ProgressWatch;
use super::message::{self, Params};
use super::session::NegotiatedSession;
use super::{Connection, Inner, Progress, closed, input, lenient, tools};
use crate::{Error, RpcError};

/// Limit on the total duration of a request that has a timeout, unless the settings say otherwise. A server
/// could keep a request alive forever with progress alone.
const MAX_TOTAL: Duration = Duration::from_secs(3600);
/// Number of bytes that an error quotes about an unexpected answer.
const REASON_BYTES: usize = 300;

/// Options of a single request, which override the connection's [`ConnectionSettings`](crate::ConnectionSettings).
#[derive(Clone, Default)]
#[must_use]
pub struct RequestOptions {
    /// The outer `Option` tells if the timeout was set, the inner one is its value.
    timeout: Option<Option<Duration>>,
    max_total: Option<Duration>,
    on_progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl RequestOptions {
    /// Sets the timeout, which each progress notification restarts. `None` removes it.
    pub fn with_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = Some(timeout.into());
        self
    }

    /// Sets the limit on the total duration. Progress does not extend it. For a request through a
    /// [`Manager`](crate::Manager), the limit includes the wait for the server and repeated attempts.
    pub fn with_max_total(mut self, max_total: Duration) -> Self {
        self.max_total = Some(max_total);
        self
    }

    /// Returns the limit on the total duration, if one was set.
    pub(crate) fn max_total(&self) -> Option<Duration> {
        self.max_total
    }

    /// Calls `listener` with each progress notification for this request, before the result is returned. The
    /// call blocks the next message, so `listener` should return quickly.
    pub fn on_progress(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(listener));
        self
    }
}

/// A result as the server sent it.
#[derive(Clone, Debug)]
pub struct RawResult {
    answer: Answer,
    /// Secrets to hide in parse errors, which may quote the result.
    secrets: SecretSource,
}

/// Source of the values to hide: those in the settings, and credentials that the transport has sent.
#[derive(Clone, Debug)]
pub(super) struct SecretSource {
    configured: Secrets,
    transport: Weak<dyn Transport>,
}

impl SecretSource {
    pub(super) fn secrets(&self) -> Secrets {
        let sent = self.transport.upgrade().map(|it| it.secrets()).unwrap_or_default();
        self.configured.and(&sent)
    }
}

impl RawResult {
    /// Returns the result as JSON.
    pub fn get(&self) -> &str {
        match self.answer.outcome() {
            AnswerOutcome::Result(result) => result,
            AnswerOutcome::Error { .. } => "null",
        }
    }

    /// Deserializes the result. `method` appears in the error.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unexpected`] if the result does not fit the type.
    pub fn parse<T: DeserializeOwned>(&self, method: &str) -> Result<T, Error> {
        parse(method, self.get()).map_err(|error| error.hidden(&self.secrets.secrets()))
    }
}

impl Connection {
    /// Sends a request for any method, of the protocol or of an extension, and waits for its result.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the request could not be sent, or if the server's answer is not a result.
    pub async fn request(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<RawResult, Error> {
        self.request_with(method, params, &RequestOptions::default()).await
    }

    /// Like [`request`](Self::request), with options.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`request`](Self::request).
    pub async fn request_with(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        options: &RequestOptions,
    ) -> Result<RawResult, Error> {
        self.inner.perform(method, &Params::new(params)?, options).await
    }

    /// Like [`request_with`](Self::request_with), with parameters that are JSON already. Numbers and the order
    /// of members are preserved.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`request`](Self::request), and [`Error::Params`] if `params` is not a JSON
    /// object.
    pub async fn request_json(
        &self,
        method: &str,
        params: &str,
        options: &RequestOptions,
    ) -> Result<RawResult, Error> {
        self.inner.perform(method, &Params::read(params)?, options).await
    }

    /// Sends a notification. Resolves once the transport has accepted it, within the request timeout.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the notification cannot be sent.
    pub async fn notify(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<(), Error> {
        let inner = &self.inner;
        let session = inner.session();
        let text = message::notification(method, Some(&Params::new(params)?), &session.meta);
        let mut message = OneWayMessage::notification(text);
        if session.is_stateless() && inner.transport.kind() == TransportKind::Http {
            message.headers = tools::standard(&message.text);
        }
        let deadline = Deadline::new(inner, &RequestOptions::default());
        let sent = tokio::time::timeout_at(deadline.next(), inner.transport.notify(message)).await;
        let sent = sent.map_err(|_| deadline.error(method)).and_then(|sent| Ok(sent?));
        sent.map_err(|error| error.hidden(&inner.secret_source().secrets()))
    }
}

impl Inner {
    pub(super) fn new_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn secret_source(&self) -> SecretSource {
        SecretSource {
            configured: self.settings.secrets.clone(),
            transport: Arc::downgrade(&self.transport),
        }
    }

    /// Sends a request, provides input that the server requests, and returns the result.
    pub(crate) async fn perform(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        options: &RequestOptions,
    ) -> Result<RawResult, Error> {
        let outcome = self.perform_rounds(method, params, options).await;
        outcome.map_err(|error| error.hidden(&self.secret_source().secrets()))
    }

    async fn perform_rounds(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        options: &RequestOptions,
    ) -> Result<RawResult, Error> {
        let deadline = Deadline::new(self, options);
        let mut repeated = None;
        // One more than the rounds: the last answer may be the result.
        for _ in 0..=self.settings.max_rounds {
            let current = repeated.as_ref().unwrap_or(params);
            let (answer, session) = self.send(method, current, options, &deadline).await?;
            let required = match result(method, &answer)? {
                result if session.is_stateless() => input::input_required(method, result)?,
                _ => None,
            };
            let Some(required) = required else {
                return Ok(RawResult { answer, secrets: self.secret_source() });
            };
            // Handlers may wait for a person, so only the hard limit applies to them.
            let providing =
                tokio::time::timeout_at(deadline.last, self.provide_input(&required, params));
            repeated = Some(providing.await.map_err(|_| deadline.error(method))??);
        }
        let rounds = self.settings.max_rounds;
        Err(Error::Input(format!("the server still asks for more after {rounds} rounds")))
    }

    /// Sends a request and waits for its answer. Renews the session or the tool headers once if necessary.
    async fn send(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        options: &RequestOptions,
        deadline: &Deadline,
    ) -> Result<(Answer, Arc<NegotiatedSession>), Error> {
        let (mut is_renewed, mut has_listed) = (false, false);
        loop {
            // Checked in every iteration, because a renewal may outlast the connection.
            if self.is_closed.load(Ordering::Acquire) {
                return Err(closed());
            }
            let ready = tokio::time::timeout_at(deadline.next(), self.ready()).await;
            ready.map_err(|_| deadline.error(method))??;
            let session = self.session();
            let outcome = self.attempt(&session, method, params, options, deadline).await;
            match outcome {
                Err(Error::Transport(TransportError::SessionEnded)) if !is_renewed => {
                    is_renewed = true;
                    let renewing = self.renew(session.generation);
                    let renewed = tokio::time::timeout_at(deadline.next(), renewing).await;
                    renewed.map_err(|_| deadline.error(method))??;
                }
                Ok(answer)
                    if !has_listed && tools::has_wrong_headers(method, &session, &answer) =>
                {
                    has_listed = true;
                    // If listing fails, the server rejects the call again, and that error is the answer.
                    let listing = self.list_for_headers();
                    let _ = tokio::time::timeout_at(deadline.next(), listing).await;
                }
                outcome => return outcome.map(|answer| (answer, session)),
            }
        }
    }

    /// Sends a request once, without any retry.
    async fn attempt(
        self: &Arc<Self>,
        session: &Arc<NegotiatedSession>,
        method: &str,
        params: &Params,
        options: &RequestOptions,
        deadline: &Deadline,
    ) -> Result<Answer, Error> {
        // Waiting for a slot counts: a caller does not care what a request waits for.
        let until = deadline.next();
        let slot = tokio::time::timeout_at(until, self.slots.acquire()).await;
        let _slot = slot.map_err(|_| deadline.error(method))?.map_err(|_| closed())?;

        let id = self.new_id();
        // Tool calls ask for progress even without a listener, because progress restarts their timeout.
        let wants_progress = options.on_progress.is_some() || method == "tools/call";
        let wants_progress = wants_progress && !params.has_token();
        let meta = if wants_progress { with_token(&session.meta, id) } else { String::new() };
        let meta = if wants_progress { meta.as_str() } else { &session.meta };
        let request = self.build_request(session, id, method, params, meta);
        let watch =
            wants_progress.then(|| self.activity.watch_progress(id, options.on_progress.clone()));
        // Armed before the request is sent, so that dropping this future at any await cancels it.
        let mut cancel = Cancel::new(self, session, id, method);
        let answer = pin!(self.transport.request(request));
        let outcome = self.wait(answer, until, deadline, watch.as_deref()).await;
        // Events that arrived before the answer must be delivered before it.
        self.inbox.drain(self);
        let Some(outcome) = outcome else {
            cancel.reason = "the request timed out";
            return Err(deadline.error(method));
        };
        match outcome {
            // The stream broke, but the server may still be processing the request.
            Err(TransportError::Interrupted(_)) => {}
            // The server believes that it has answered, but may also still be working.
            Err(TransportError::Mistyped(_)) => cancel.reason = "no answer has the request's id",
            _ => cancel.disarm(),
        }
        let answer = outcome?;
        self.tools.learn(self, session, method, &answer);
        Ok(answer)
    }

    fn build_request(
        &self,
        session: &NegotiatedSession,
        id: i64,
        method: &str,
        params: &Params,
        meta: &str,
    ) -> OutgoingRequest {
        let text = message::request(id, method, params, meta);
        let has_headers = session.is_stateless() && self.transport.kind() == TransportKind::Http;
        let headers = if has_headers { self.tools.headers(&text) } else { Vec::new() };
        OutgoingRequest::new(id, method, text).with_headers(headers)
    }

    /// Waits for the answer until the deadline. Returns `None` if the deadline expires.
    async fn wait<T>(
        &self,
        mut answer: std::pin::Pin<&mut (impl Future<Output = T> + ?Sized)>,
        mut until: Instant,
        deadline: &Deadline,
        watch: Option<&ProgressWatch>,
    ) -> Option<T> {
        // Subscriptions last until the server ends them; no timer is needed.
        if deadline.is_infinite {
            return Some(answer.await);
        }
        let last = deadline.last;
        let mut sleep = pin!(tokio::time::sleep_until(until));
        loop {
            tokio::select! {
                biased;
                outcome = &mut answer => return Some(outcome),
                () = ProgressWatch::next(watch) => {}
                // A flood of events exhausts the task's cooperative budget; the timer must fire nevertheless.
                () = unconstrained(sleep.as_mut()) => {
                    // The server may be waiting for our answer to its own request, so the timeout pauses.
                    let answered = self.activity.answered();
                    if last <= Instant::now() || !self.activity.is_serving() {
                        return None;
                    }
                    tokio::select! {
                        biased;
                        outcome = &mut answer => return Some(outcome),
                        () = answered => {}
                        () = unconstrained(tokio::time::sleep_until(last)) => return None,
                    }
                }
            }
            until = deadline.next();
            sleep.as_mut().reset(until);
        }
    }
}

/// The deadline of a request, including all its retries and rounds.
struct Deadline {
    start: Instant,
    timeout: Duration,
    /// Time that no progress can extend.
    last: Instant,
    is_infinite: bool,
}

impl Deadline {
    fn new(inner: &Inner, options: &RequestOptions) -> Self {
        let timeout = options.timeout.unwrap_or(inner.settings.timeout);
        let total = options.max_total.or(inner.settings.max_total);
        // A request without a timeout, such as a subscription, is not meant to end within the hour.
        let total = total.or(timeout.and(Some(MAX_TOTAL)));
        let (timeout, is_infinite) = (timeout.unwrap_or(FOREVER).min(FOREVER), total.is_none());
        let start = Instant::now();
        let last = start + total.unwrap_or(FOREVER).min(FOREVER);
        Self { start, timeout, last, is_infinite }
    }

    /// Returns the time at which the request times out if the server is silent from now on.
    fn next(&self) -> Instant {
        (Instant::now() + self.timeout).min(self.last)
    }

    /// Returns the timeout error for a request that missed this deadline.
    fn error(&self, method: &str) -> Error {
        let is_capped = self.last <= Instant::now();
        let after = if is_capped { self.last - self.start } else { self.timeout };
        Error::Timeout { method: method.to_owned(), after }
    }
}

/// Adds the request's id as its progress token.
fn with_token(meta: &str, id: i64) -> String {
    let comma = if meta.is_empty() { "" } else { "," };
    format!(r#""progressToken":{id}{comma}{meta}"#)
}

/// Returns the result in an answer.
pub(super) fn result<'a>(method: &str, answer: &'a Answer) -> Result<&'a str, Error> {
    match answer.outcome() {
        // MCP results are always objects.
        AnswerOutcome::Result(result) if result.starts_with('{') => Ok(result),
        AnswerOutcome::Result(_) => Err(Error::Unexpected {
            method: method.to_owned(),
            reason: "the result is not an object".into(),
        }),
        AnswerOutcome::Error { code, message, data } => Err(Error::Rpc(RpcError {
            code,
            message: message.to_owned(),
            data: data.and_then(|data| serde_json::from_str(data).ok()),
        })),
    }
}

/// Creates the error for an unexpected answer. Truncates and escapes `reason`, which may quote the server.
pub(super) fn unexpected(method: &str, reason: &str) -> Error {
    let reason = Excerpt::new(reason.as_bytes(), REASON_BYTES).to_string();
    Error::Unexpected { method: method.to_owned(), reason }
}

pub(super) fn parse<T: DeserializeOwned>(method: &str, result: &str) -> Result<T, Error> {
    lenient::read(method, result).map_err(|error| unexpected(method, &error.to_string()))
}

impl fmt::Debug for RequestOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RequestOptions")
            .field("timeout", &self.timeout)
            .field("max_total", &self.max_total)
            .field("on_progress", &self.on_progress.is_some())
            .finish()
    }
}
