//! What a client is and can do, and how long it waits.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_transport::client::BoxFuture;
use hardline_wire::version::Version;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationCapability, FormElicitationCapability, Implementation,
    ListRootsResult, Root, RootsCapabilities, SamplingCapability,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::RpcError;
use crate::guard::GuardSettings;

/// Servers whose era is remembered by one [`Settings`] and its clones.
const MAX_ERAS: usize = 1024;
/// How long a server may take to start, whatever its configuration says.
const MIN_OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of a [`Connection`](crate::Connection). The defaults are right for almost everyone.
#[derive(Clone)]
pub struct Settings {
    pub(crate) info: Implementation,
    pub(crate) versions: Versions,
    pub(crate) timeout: Duration,
    pub(crate) max_total: Duration,
    pub(crate) open_timeout: Duration,
    pub(crate) probe: Duration,
    pub(crate) max_in_flight: usize,
    pub(crate) max_rounds: usize,
    pub(crate) max_pages: usize,
    pub(crate) roots: Arc<[Root]>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) handlers: HashMap<&'static str, Handler>,
    pub(crate) on_trouble: Option<Arc<Listener>>,
    pub(crate) eras: Eras,
    pub(crate) guard: Option<GuardSettings>,
    pub(crate) secrets: Secrets,
    /// An opening under way is given up once this is true, and nothing of it is left.
    pub(crate) closing: Option<watch::Receiver<bool>>,
}

/// Which versions of the protocol a client speaks with a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Versions {
    /// The newest that both sides know, found out when the connection is opened.
    #[default]
    Any,
    /// The four that begin with `initialize`: the server is not asked for a newer one.
    WithHandshake,
    /// This one and no other.
    Only(Version),
}

/// Is told in words what happened.
pub(crate) type Listener = dyn Fn(&str) + Send + Sync;

/// Answers a request of the server: with a result as JSON, or an error.
pub(crate) type Handler = Arc<
    dyn Fn(Option<Box<RawValue>>) -> BoxFuture<'static, Result<String, RpcError>> + Send + Sync,
>;

impl Settings {
    /// Sets what the client says of itself.
    #[must_use]
    pub fn with_info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Implementation::new(name, version);
        self
    }

    /// Sets the versions that may be spoken.
    #[must_use]
    pub fn with_versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// Sets how long a request may take, 30 s by default; zero is for ever. Progress that the server
    /// reports begins it anew.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how long a request may take however much progress is reported, 1 hour by default.
    #[must_use]
    pub fn with_max_total(mut self, max_total: Duration) -> Self {
        self.max_total = max_total;
        self
    }

    /// Sets how long opening the connection may take, 60 s by default.
    #[must_use]
    pub fn with_open_timeout(mut self, timeout: Duration) -> Self {
        self.open_timeout = timeout;
        self
    }

    /// Sets how long a request may take to what a server's configuration says
    /// ([`ServerConfig::timeout`](crate::config::ServerConfig::timeout)). Opening the connection takes no
    /// longer either, unless that is less than 5 s: a server may be slow to start. Zero is for ever, and
    /// changes nothing about the opening.
    #[must_use]
    pub fn with_configured_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        if !timeout.is_zero() {
            self.open_timeout = self.open_timeout.min(timeout.max(MIN_OPEN_TIMEOUT));
        }
        self
    }

    /// Sets how long a server may take to say that it speaks 2026-07-28 before it is also greeted with
    /// `initialize`, 2 s by default.
    #[must_use]
    pub fn with_probe(mut self, probe: Duration) -> Self {
        self.probe = probe;
        self
    }

    /// Sets how many requests are under way at once, 1000 by default; more wait for their turn.
    #[must_use]
    pub fn with_max_in_flight(mut self, max_in_flight: usize) -> Self {
        self.max_in_flight = max_in_flight.max(1);
        self
    }

    /// Sets the directories and files that a server is told about when it asks. None by default.
    #[must_use]
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots = roots.into_iter().collect();
        self
    }

    /// Lets servers ask a model: `handler` does it.
    #[must_use]
    pub fn on_sampling<F>(
        mut self,
        handler: impl Fn(CreateMessageRequestParams) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, RpcError>> + Send + 'static,
    {
        self.capabilities.sampling = Some(SamplingCapability::default());
        self.handlers.insert("sampling/createMessage", typed(handler));
        self
    }

    /// Lets servers ask the user: `handler` does it. Questions are forms, see
    /// [`with_capabilities`](Self::with_capabilities) for what else there is.
    #[must_use]
    pub fn on_elicitation<F>(
        mut self,
        handler: impl Fn(ElicitRequestParams) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ElicitResult, RpcError>> + Send + 'static,
    {
        let mut elicitation = ElicitationCapability::default();
        elicitation.form = Some(FormElicitationCapability::default());
        self.capabilities.elicitation = Some(elicitation);
        self.handlers.insert("elicitation/create", typed(handler));
        self
    }

    /// Answers requests of the server with this method: an extension's, or one of the protocol in
    /// another way. `handler` is given the parameters and gives the result, both as JSON.
    #[must_use]
    pub fn on_request<F>(
        mut self,
        method: &'static str,
        handler: impl Fn(Option<Box<RawValue>>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Box<RawValue>, RpcError>> + Send + 'static,
    {
        let handler = move |params| -> BoxFuture<'static, Result<String, RpcError>> {
            let answer = handler(params);
            Box::pin(async move { answer.await.map(|it| it.get().to_owned()) })
        };
        self.handlers.insert(method, Arc::new(handler));
        self
    }

    /// Calls `listener` with whatever arrives and cannot be used, from the first line on: in words that
    /// are fit for a terminal. It is called between two messages, so it should return soon.
    #[must_use]
    pub fn on_trouble(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_trouble = Some(Arc::new(listener));
        self
    }

    /// Changes the capabilities that are declared, after those that handlers bring with them.
    #[must_use]
    pub fn with_capabilities(mut self, change: impl FnOnce(&mut ClientCapabilities)) -> Self {
        change(&mut self.capabilities);
        self
    }

    /// Puts a guard on the connection: on the lines of a server that is started, and on the messages of any
    /// other. See [`guard`](crate::guard).
    #[must_use]
    pub fn with_guard(mut self, guard: GuardSettings) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Gives up an opening once this is true: it fails, after whatever it has started was ended as at the end
    /// of a session. Dropping its future would kill that.
    #[must_use]
    pub fn with_closing(mut self, closing: watch::Receiver<bool>) -> Self {
        self.closing = Some(closing);
        self
    }

    /// Hides these values too: in errors and in what is told of trouble, `[hidden]` stands for them, whoever
    /// wrote them there. What a server answers is left as it is.
    #[must_use]
    pub fn with_secrets(mut self, secrets: &Secrets) -> Self {
        self.secrets = self.secrets.and(secrets);
        self
    }

    /// Whether whatever is being opened is not wanted any more.
    #[cfg(unix)]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| *closing.borrow())
    }

    /// Resolves when whatever is being opened is not wanted any more.
    pub(crate) async fn closed(&self) {
        if let Some(mut closing) = self.closing.clone()
            && closing.wait_for(|is_closing| *is_closing).await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }

    /// What becomes of a request of the server with this method.
    pub(crate) fn handler(&self, method: &str) -> Option<Handler> {
        if let Some(handler) = self.handlers.get(method) {
            return Some(Arc::clone(handler));
        }
        self.known_answer(method).map(fixed)
    }

    /// The answer that is known before the question, unless a handler gives another.
    pub(crate) fn known_answer(&self, method: &str) -> Option<String> {
        match method {
            _ if self.handlers.contains_key(method) => None,
            "ping" => Some("{}".to_owned()),
            "roots/list" => serde_json::to_string(&ListRootsResult::new(self.roots.to_vec())).ok(),
            _ => None,
        }
    }
}

fn fixed(result: String) -> Handler {
    Arc::new(move |_| {
        let result = result.clone();
        Box::pin(async move { Ok(result) })
    })
}

/// A handler that is given and gives typed values.
fn typed<P, R, F>(handler: impl Fn(P) -> F + Send + Sync + 'static) -> Handler
where
    P: DeserializeOwned,
    R: Serialize,
    F: Future<Output = Result<R, RpcError>> + Send + 'static,
{
    Arc::new(move |params| {
        let text = params.as_deref().map_or("{}", RawValue::get);
        match serde_json::from_str(text) {
            Ok(params) => {
                let answer = handler(params);
                Box::pin(async move {
                    let result = answer.await?;
                    serde_json::to_string(&result)
                        .map_err(|error| RpcError::internal(&error.to_string()))
                })
            }
            Err(error) => {
                let error = RpcError::invalid_params(&error.to_string());
                Box::pin(async move { Err(error) })
            }
        }
    })
}

impl Default for Settings {
    fn default() -> Self {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        Self {
            info: Implementation::new("hardline", env!("CARGO_PKG_VERSION")),
            versions: Versions::Any,
            timeout: Duration::from_secs(30),
            max_total: Duration::from_secs(3600),
            open_timeout: Duration::from_secs(60),
            probe: Duration::from_secs(2),
            max_in_flight: 1000,
            max_rounds: 10,
            max_pages: 1000,
            roots: Arc::default(),
            capabilities,
            handlers: HashMap::new(),
            on_trouble: None,
            eras: Eras::default(),
            guard: None,
            secrets: Secrets::default(),
            closing: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Settings")
            .field("info", &self.info)
            .field("versions", &self.versions)
            .field("timeout", &self.timeout)
            .field("max_total", &self.max_total)
            .field("handlers", &self.handlers.keys())
            .finish_non_exhaustive()
    }
}

/// How sessions with a server begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    /// With `initialize`.
    Handshake,
    /// With `initialize`, over the HTTP+SSE of 2024-11-05.
    Sse,
    /// Without: every request says its version.
    Stateless,
}

/// What was found out about servers, shared by clones: a server that was asked once is not asked again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eras(Arc<Mutex<HashMap<String, Era>>>);

impl Eras {
    pub(crate) fn find(&self, server: &str) -> Option<Era> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).copied()
    }

    pub(crate) fn remember(&self, server: &str, era: Era) {
        let mut eras = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if eras.len() < MAX_ERAS || eras.contains_key(server) {
            eras.insert(server.to_owned(), era);
        }
    }

    pub(crate) fn forget(&self, server: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(server);
    }
}
