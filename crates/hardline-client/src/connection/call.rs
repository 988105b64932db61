//! A request from its parameters to its result.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::{
    Answer, Kind, Notice, Outcome, Request, Transport, TransportError,
};
use hardline_wire::excerpt::Excerpt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::unconstrained;
use tokio::time::Instant;

use super::cancel::Cancel;
use super::event::Beat;
use super::message::{self, Params};
use super::session::Session;
use super::{Connection, Inner, Progress, closed, lenient, round, tools};
use crate::{Error, RpcError};

/// Longer than anybody waits, and short enough for a clock.
const FOREVER: Duration = Duration::from_secs(1 << 30);
/// How much is said about an answer that is not what it should be.
const REASON_BYTES: usize = 300;

/// How one request differs from the others.
#[derive(Clone, Default)]
#[must_use]
pub struct Options {
    timeout: Option<Duration>,
    max_total: Option<Duration>,
    on_progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl Options {
    /// Sets how long it may take without progress; zero is for ever.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long it may take however much progress is reported.
    pub fn with_max_total(mut self, max_total: Duration) -> Self {
        self.max_total = Some(max_total);
        self
    }

    /// Calls `listener` with each progress that the server reports, before the result is there. It is
    /// called between two messages, so it should return soon.
    pub fn on_progress(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(listener));
        self
    }
}

/// A result as it came.
#[derive(Clone, Debug)]
pub struct RawResult {
    answer: Answer,
    /// What is wrong with a result may be said in its own words.
    hidden: Hidden,
}

/// What is not to be shown: what the settings name, and what the transport told the server to be let in.
#[derive(Clone, Debug)]
pub(super) struct Hidden {
    named: Secrets,
    told: Weak<dyn Transport>,
}

impl Hidden {
    pub(super) fn secrets(&self) -> Secrets {
        let told = self.told.upgrade().map(|it| it.secrets()).unwrap_or_default();
        self.named.and(&told)
    }
}

impl RawResult {
    /// The result, as JSON.
    pub fn get(&self) -> &str {
        match self.answer.outcome() {
            Outcome::Result(result) => result,
            Outcome::Error { .. } => "null",
        }
    }

    /// Reads it. `method` is named in the error.
    ///
    /// # Errors
    ///
    /// [`Error::Unexpected`], if it is something else.
    pub fn parse<T: DeserializeOwned>(&self, method: &str) -> Result<T, Error> {
        parse(method, self.get()).map_err(|error| error.hidden(&self.hidden.secrets()))
    }
}

impl Connection {
    /// Sends a request of any method and waits for its result, which may be one of the protocol or of
    /// an extension.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn request(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<RawResult, Error> {
        self.request_with(method, params, &Options::default()).await
    }

    /// The same, with options.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn request_with(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
        options: &Options,
    ) -> Result<RawResult, Error> {
        self.inner.perform(method, Params::new(params)?, options).await
    }

    /// The same, with parameters that are JSON already. Numbers and order stay as they are.
    ///
    /// # Errors
    ///
    /// [`Error`]: see there.
    pub async fn request_json(
        &self,
        method: &str,
        params: &str,
        options: &Options,
    ) -> Result<RawResult, Error> {
        self.inner.perform(method, Params::read(params)?, options).await
    }

    /// Sends a notification. Resolves when it is on its way, which may take no longer than a request.
    ///
    /// # Errors
    ///
    /// [`Error`], if it cannot be sent.
    pub async fn notify(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<(), Error> {
        let inner = &self.inner;
        let session = inner.session();
        let line = message::notification(method, Some(&Params::new(params)?), &session.meta);
        let mut notice = Notice::notification(line);
        if session.is_stateless() && inner.transport.kind() == Kind::Http {
            notice.headers = tools::standard(&notice.text);
        }
        let limits = Limits::new(inner, &Options::default());
        let sent = tokio::time::timeout_at(limits.until(), inner.transport.notify(notice)).await;
        let sent = sent.map_err(|_| limits.late(method)).and_then(|sent| Ok(sent?));
        sent.map_err(|error| error.hidden(&inner.hidden().secrets()))
    }
}

impl Inner {
    pub(super) fn new_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn hidden(&self) -> Hidden {
        Hidden { named: self.settings.secrets.clone(), told: Arc::downgrade(&self.transport) }
    }

    /// Sends a request, answers what the server wants to know first, and gives its result.
    pub(super) async fn perform(
        self: &Arc<Self>,
        method: &str,
        params: Params,
        options: &Options,
    ) -> Result<RawResult, Error> {
        let outcome = self.converse(method, params, options).await;
        outcome.map_err(|error| error.hidden(&self.hidden().secrets()))
    }

    async fn converse(
        self: &Arc<Self>,
        method: &str,
        params: Params,
        options: &Options,
    ) -> Result<RawResult, Error> {
        let limits = Limits::new(self, options);
        let mut more = None;
        for _ in 0..=self.settings.max_rounds {
            let params_now = more.as_ref().unwrap_or(&params);
            let (answer, session) = self.send(method, params_now, options, &limits).await?;
            let wanted = match result(method, &answer)? {
                result if session.is_stateless() => round::wanted(method, result)?,
                _ => None,
            };
            let Some(wanted) = wanted else {
                return Ok(RawResult { answer, hidden: self.hidden() });
            };
            let fulfilling = tokio::time::timeout_at(limits.last, self.fulfil(&wanted, &params));
            more = Some(fulfilling.await.map_err(|_| limits.late(method))??);
        }
        let rounds = self.settings.max_rounds;
        Err(Error::Input(format!("the server still asks for more after {rounds} rounds")))
    }

    /// Sends a request and waits for its answer, in a new session if need be.
    async fn send(
        self: &Arc<Self>,
        method: &str,
        params: &Params,
        options: &Options,
        limits: &Limits,
    ) -> Result<(Answer, Arc<Session>), Error> {
        let (mut is_renewed, mut is_listed) = (false, false);
        loop {
            if self.is_closed.load(Ordering::Acquire) {
                return Err(closed());
            }
            let ready = tokio::time::timeout_at(limits.until(), self.ready()).await;
            ready.map_err(|_| limits.late(method))??;
            let session = self.session();
            let outcome = self.attempt(&session, method, params, options, limits).await;
            match outcome {
                Err(Error::Transport(TransportError::SessionEnded)) if !is_renewed => {
                    is_renewed = true;
                    let renewing = self.renew(session.generation);
                    let renewed = tokio::time::timeout_at(limits.until(), renewing).await;
                    renewed.map_err(|_| limits.late(method))??;
                }
                Ok(answer) if !is_listed && tools::has_wrong_headers(method, &session, &answer) => {
                    is_listed = true;
                    // Without the list it is refused once more, and that is the answer.
                    let listing = self.list_for_headers();
                    let _ = tokio::time::timeout_at(limits.until(), listing).await;
                }
                outcome => return outcome.map(|answer| (answer, session)),
            }
        }
    }

    async fn attempt(
        self: &Arc<Self>,
        session: &Arc<Session>,
        method: &str,
        params: &Params,
        options: &Options,
        limits: &Limits,
    ) -> Result<Answer, Error> {
        let until = limits.until();
        let turn = tokio::time::timeout_at(until, self.turns.acquire()).await;
        let _turn = turn.map_err(|_| limits.late(method))?.map_err(|_| closed())?;

        let id = self.new_id();
        let wants_progress = options.on_progress.is_some() || method == "tools/call";
        let wants_progress = wants_progress && !params.has_token();
        let meta = if wants_progress { with_token(&session.meta, id) } else { String::new() };
        let meta = if wants_progress { meta.as_str() } else { &session.meta };
        let request = self.outgoing(session, id, method, params, meta);
        let beat = wants_progress.then(|| self.pulse.start(id, options.on_progress.clone()));
        let mut cancel = Cancel::new(self, session, id, method);
        let answer = pin!(self.transport.request(request));
        let outcome = self.wait(answer, until, limits, beat.as_deref()).await;
        // What came before the answer is to be seen before it.
        self.inbox.drain(self);
        let Some(outcome) = outcome else {
            cancel.reason = "the request timed out";
            return Err(limits.late(method));
        };
        match outcome {
            // A stream that broke leaves a server at work.
            Err(TransportError::Interrupted(_)) => {}
            Err(TransportError::Mistyped(_)) => cancel.reason = "no answer has the request's id",
            _ => cancel.disarm(),
        }
        let answer = outcome?;
        self.tools.learn(self, session, method, &answer);
        Ok(answer)
    }

    fn outgoing(
        &self,
        session: &Session,
        id: i64,
        method: &str,
        params: &Params,
        meta: &str,
    ) -> Request {
        let line = message::request(id, method, params, meta);
        let has_headers = session.is_stateless() && self.transport.kind() == Kind::Http;
        let headers = if has_headers { self.tools.headers(&line) } else { Vec::new() };
        Request::new(id, method, line).with_headers(headers)
    }

    /// Waits for the answer until its time is over: `None` then.
    async fn wait<T>(
        &self,
        mut answer: std::pin::Pin<&mut (impl Future<Output = T> + ?Sized)>,
        mut until: Instant,
        limits: &Limits,
        beat: Option<&Beat>,
    ) -> Option<T> {
        if limits.is_endless {
            return Some(answer.await);
        }
        let last = limits.last;
        let mut sleep = pin!(tokio::time::sleep_until(until));
        loop {
            tokio::select! {
                biased;
                outcome = &mut answer => return Some(outcome),
                () = Beat::next(beat) => {}
                // A flood of events takes all that a task may do at once, but not the time.
                () = unconstrained(sleep.as_mut()) => {
                    // A server that waits for our own answer cannot be faster.
                    let served = self.pulse.served();
                    if last <= Instant::now() || !self.pulse.is_serving() {
                        return None;
                    }
                    tokio::select! {
                        biased;
                        outcome = &mut answer => return Some(outcome),
                        () = served => {}
                        () = unconstrained(tokio::time::sleep_until(last)) => return None,
                    }
                }
            }
            until = limits.until();
            sleep.as_mut().reset(until);
        }
    }
}

/// How long a request may take, with all that belongs to it.
struct Limits {
    start: Instant,
    timeout: Duration,
    last: Instant,
    is_endless: bool,
}

impl Limits {
    fn new(inner: &Inner, options: &Options) -> Self {
        let timeout = options.timeout.unwrap_or(inner.settings.timeout);
        let is_endless = timeout.is_zero();
        let total = options.max_total.unwrap_or(inner.settings.max_total);
        let total = if is_endless { FOREVER } else { total.min(FOREVER) };
        let timeout = if is_endless { FOREVER } else { timeout.min(FOREVER) };
        let start = Instant::now();
        Self { start, timeout, last: start + total, is_endless }
    }

    /// When it has taken too long, if nothing happens from now on.
    fn until(&self) -> Instant {
        (Instant::now() + self.timeout).min(self.last)
    }

    fn late(&self, method: &str) -> Error {
        let is_capped = self.last <= Instant::now();
        let after = if is_capped { self.last - self.start } else { self.timeout };
        Error::Timeout { method: method.to_owned(), after }
    }
}

/// Adds the token that progress is reported with.
fn with_token(meta: &str, id: i64) -> String {
    let comma = if meta.is_empty() { "" } else { "," };
    format!(r#""progressToken":{id}{comma}{meta}"#)
}

/// The result in an answer.
pub(super) fn result<'a>(method: &str, answer: &'a Answer) -> Result<&'a str, Error> {
    match answer.outcome() {
        // MCP's results are objects, and nobody else's are taken for one.
        Outcome::Result(result) if result.starts_with('{') => Ok(result),
        Outcome::Result(_) => Err(Error::Unexpected {
            method: method.to_owned(),
            reason: "the result is no object".into(),
        }),
        Outcome::Error { code, message, data } => Err(Error::Rpc(RpcError {
            code,
            message: message.to_owned(),
            data: data.and_then(|data| serde_json::from_str(data).ok()),
        })),
    }
}

/// An answer is not what it should be. What is wrong with it may be said in the server's own words.
pub(super) fn unexpected(method: &str, reason: &str) -> Error {
    let reason = Excerpt::new(reason.as_bytes(), REASON_BYTES).to_string();
    Error::Unexpected { method: method.to_owned(), reason }
}

pub(super) fn parse<T: DeserializeOwned>(method: &str, result: &str) -> Result<T, Error> {
    lenient::read(method, result).map_err(|error| unexpected(method, &error.to_string()))
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("timeout", &self.timeout)
            .field("max_total", &self.max_total)
            .field("on_progress", &self.on_progress.is_some())
            .finish()
    }
}
