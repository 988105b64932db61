//! Settings of a connection: the client's identity, capabilities, handlers and timeouts.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hardline_transport::Secrets;
use hardline_wire::version::Version;
use rmcp::model::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationCapability, FormElicitationCapability, Implementation,
    ListRootsResult, Root, RootsCapabilities, SamplingCapability,
};
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::RpcError;
use crate::guard::GuardSettings;
use crate::handler::{Handler, RequestContext, fixed, typed};

/// Limit on the servers whose [`Era`] one [`ConnectionSettings`] and its clones remember.
const MAX_ERAS: usize = 1024;
/// Shortest open timeout that a configured request timeout can impose, because servers start slowly.
const MIN_OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of a [`Connection`](crate::Connection). The defaults suit most clients.
#[derive(Clone)]
pub struct ConnectionSettings {
    pub(crate) info: Implementation,
    pub(crate) versions: Versions,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_total: Option<Duration>,
    pub(crate) open_timeout: Option<Duration>,
    pub(crate) probe: Duration,
    pub(crate) max_in_flight: usize,
    pub(crate) max_rounds: usize,
    pub(crate) max_pages: usize,
    pub(crate) roots: Arc<[Root]>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) handlers: HashMap<&'static str, Handler>,
    pub(crate) on_trouble: Option<Arc<Listener>>,
    pub(crate) server_name: Option<Arc<str>>,
    pub(crate) eras: Eras,
    pub(crate) guard: Option<GuardSettings>,
    pub(crate) secrets: Secrets,
    /// Once this turns true, a pending open fails and ends every process it has started.
    pub(crate) closing: Option<watch::Receiver<bool>>,
}

/// The protocol versions that a client offers to a server.
///
/// The default prefers versions without a handshake (since 2026-07-28). In them, a server cannot send requests to
/// the client; a server that wants a sample or an answer from the user returns a result that asks for it.
/// A server that supports such a version but asks in the old way fails there, usually with "capability not
/// declared". Choose [`WithHandshake`](Self::WithHandshake) for such a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Versions {
    /// The newest version that both sides know, negotiated when the connection opens.
    #[default]
    Any,
    /// The versions that begin with `initialize`, and in which servers can send requests: sampling,
    /// elicitation, roots. The client does not probe for a newer version.
    WithHandshake,
    /// Exactly this version.
    Only(Version),
}

/// Callback that receives a description of each problem.
pub(crate) type Listener = dyn Fn(&str) + Send + Sync;

impl ConnectionSettings {
    /// Sets the name and version that the client sends as its `clientInfo`.
    #[must_use]
    pub fn with_info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Implementation::new(name, version);
        self
    }

    /// Sets the name under which this program knows the server. Handlers get it with each request
    /// ([`RequestContext::server`]). A [`Manager`](crate::Manager) sets it for each of its servers.
    #[must_use]
    pub fn with_server_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    /// Sets the protocol versions that the client offers. [`Versions`] tells which one to choose for a server
    /// that sends requests.
    #[must_use]
    pub fn with_versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// Sets the request timeout, 30 s by default. Each progress notification from the server restarts it.
    /// `None` removes it.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use hardline_client::ConnectionSettings;
    ///
    /// let patient = ConnectionSettings::default().with_timeout(Duration::from_secs(600));
    /// let endless = ConnectionSettings::default().with_timeout(None);
    /// ```
    #[must_use]
    pub fn with_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = timeout.into();
        self
    }

    /// Sets the limit on a request's total duration. Progress does not extend it. By default the limit is
    /// 1 hour for requests that have a [timeout](Self::with_timeout), and there is none for others.
    #[must_use]
    pub fn with_max_total(mut self, max_total: Duration) -> Self {
        self.max_total = Some(max_total);
        self
    }

    /// Sets the timeout for opening the connection, 60 s by default. `None` removes it.
    #[must_use]
    pub fn with_open_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.open_timeout = timeout.into();
        self
    }

    /// Sets the request timeout to the one in a server's configuration
    /// ([`ServerConfig::timeout`](crate::config::ServerConfig::timeout)). Lowers the open timeout to the same
    /// value, but not below 5 s, because a server may be slow to start.
    #[must_use]
    pub fn with_configured_timeout(mut self, timeout: Duration) -> Self {
        // The configured value replaces even a longer one from the program: the user knows the server.
        self.timeout = Some(timeout);
        let limit = timeout.max(MIN_OPEN_TIMEOUT);
        self.open_timeout = Some(self.open_timeout.map_or(limit, |it| it.min(limit)));
        self
    }

    /// Sets the time that a server has to answer the probe for 2026-07-28 before the client also sends
    /// `initialize`, 2 s by default.
    #[must_use]
    pub fn with_probe(mut self, probe: Duration) -> Self {
        self.probe = probe;
        self
    }

    /// Sets the limit on concurrent requests, 1000 by default. Further requests wait for a free slot.
    #[must_use]
    pub fn with_max_in_flight(mut self, max_in_flight: usize) -> Self {
        // Zero would make every request wait forever.
        self.max_in_flight = max_in_flight.max(1);
        self
    }

    /// Sets the roots that the client returns for `roots/list`. None by default.
    #[must_use]
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots = roots.into_iter().collect();
        self
    }

    /// Declares the sampling capability and answers the server's sampling requests with `handler`.
    ///
    /// ```
    /// use hardline_client::{ConnectionSettings, RpcError};
    ///
    /// let settings = ConnectionSettings::default().on_sampling(async |request, context| {
    ///     let server = context.server().unwrap_or("a server").to_owned();
    ///     println!("{server} asks the model for up to {} tokens", request.max_tokens);
    ///     Err(RpcError::new(-1, "the user rejected the request"))
    /// });
    /// ```
    ///
    /// A server of 2026-07-28 must ask in a result; one that still sends a request of its own needs
    /// [`Versions::WithHandshake`].
    #[must_use]
    pub fn on_sampling<F>(
        mut self,
        handler: impl Fn(CreateMessageRequestParams, RequestContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, RpcError>> + Send + 'static,
    {
        self.capabilities.sampling = Some(SamplingCapability::default());
        self.handlers.insert("sampling/createMessage", typed(handler));
        self
    }

    /// Declares the elicitation capability for forms and answers the server's questions to the user with
    /// `handler`. Other kinds of elicitation are declared with [`with_capabilities`](Self::with_capabilities).
    ///
    /// ```
    /// use hardline_client::ConnectionSettings;
    /// use hardline_client::model::{ElicitResult, ElicitationAction};
    ///
    /// let settings = ConnectionSettings::default().on_elicitation(async |_question, context| {
    ///     println!("{} asks the user", context.server().unwrap_or("a server"));
    ///     Ok(ElicitResult::new(ElicitationAction::Decline))
    /// });
    /// ```
    ///
    /// A server of 2026-07-28 must ask in a result; one that still sends a request of its own fails with
    /// "capability not declared" and needs [`Versions::WithHandshake`].
    #[must_use]
    pub fn on_elicitation<F>(
        mut self,
        handler: impl Fn(ElicitRequestParams, RequestContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<ElicitResult, RpcError>> + Send + 'static,
    {
        let mut elicitation = ElicitationCapability::default();
        // URL elicitation needs a user interface that a plain handler does not have.
        elicitation.form = Some(FormElicitationCapability::default());
        self.capabilities.elicitation = Some(elicitation);
        self.handlers.insert("elicitation/create", typed(handler));
        self
    }

    /// Answers requests from the server for `method`, which may belong to an extension or override a built-in
    /// answer. `handler` receives the parameters and returns the result, both as JSON.
    #[must_use]
    pub fn on_request<F>(
        mut self,
        method: &'static str,
        handler: impl Fn(Option<Box<RawValue>>, RequestContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Box<RawValue>, RpcError>> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |params, context| {
            let answer = handler(params, context);
            Box::pin(async move { answer.await.map(|it| it.get().to_owned()) })
        });
        self.handlers.insert(method, handler);
        self
    }

    /// Calls `listener` with a description of each line or message from the server that the client cannot use.
    /// The text is safe for a terminal. The call blocks the reading of the next message, so `listener` should
    /// return quickly.
    #[must_use]
    pub fn on_trouble(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_trouble = Some(Arc::new(listener));
        self
    }

    /// Changes the declared capabilities. Call it after the `on_…` methods, which declare their own.
    #[must_use]
    pub fn with_capabilities(mut self, change: impl FnOnce(&mut ClientCapabilities)) -> Self {
        change(&mut self.capabilities);
        self
    }

    /// Guards the connection: the raw lines of a server that the client starts, and the messages of any other
    /// server. See [`guard`](crate::guard).
    #[must_use]
    pub fn with_guard(mut self, guard: GuardSettings) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Aborts a pending open once `closing` turns true. The open then fails, after it has ended what it started
    /// in the same orderly way as at the end of a session. Dropping the future instead kills the server.
    #[must_use]
    pub fn with_closing(mut self, closing: watch::Receiver<bool>) -> Self {
        self.closing = Some(closing);
        self
    }

    /// Adds values that errors and reports of problems show as `[redacted]`, no matter which side wrote them.
    /// Results from the server are left unchanged.
    #[must_use]
    pub fn with_secrets(mut self, secrets: &Secrets) -> Self {
        self.secrets = self.secrets.and(secrets);
        self
    }

    /// Returns true if the caller has asked to abort a pending open.
    #[cfg(unix)]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| *closing.borrow())
    }

    /// Resolves once the caller asks to abort a pending open.
    pub(crate) async fn closed(&self) {
        if let Some(mut closing) = self.closing.clone()
            && closing.wait_for(|is_closing| *is_closing).await.is_ok()
        {
            return;
        }
        // Without a sender there is no request to abort, so this future must never win a `select!`.
        std::future::pending::<()>().await;
    }

    /// Returns the handler for a request from the server: the caller's own, or a built-in answer.
    pub(crate) fn handler(&self, method: &str) -> Option<Handler> {
        if let Some(handler) = self.handlers.get(method) {
            return Some(Arc::clone(handler));
        }
        self.known_answer(method).map(fixed)
    }

    /// Returns the built-in answer to `method`, unless the caller has installed a handler for it.
    pub(crate) fn known_answer(&self, method: &str) -> Option<String> {
        match method {
            // A handler of the caller overrides the built-in answer.
            _ if self.handlers.contains_key(method) => None,
            "ping" => Some("{}".to_owned()),
            // The list is fixed for the lifetime of the settings, so no handler has to run.
            "roots/list" => serde_json::to_string(&ListRootsResult::new(self.roots.to_vec())).ok(),
            _ => None,
        }
    }
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        let mut capabilities = ClientCapabilities::default();
        // Declared even without roots, because `roots/list` is always answered.
        capabilities.roots = Some(RootsCapabilities::default());
        Self {
            info: Implementation::new("hardline", env!("CARGO_PKG_VERSION")),
            versions: Versions::Any,
            timeout: Some(Duration::from_secs(30)),
            max_total: None,
            open_timeout: Some(Duration::from_secs(60)),
            probe: Duration::from_secs(2),
            max_in_flight: 1000,
            max_rounds: 10,
            max_pages: 1000,
            roots: Arc::default(),
            capabilities,
            handlers: HashMap::new(),
            on_trouble: None,
            server_name: None,
            eras: Eras::default(),
            guard: None,
            secrets: Secrets::default(),
            closing: None,
        }
    }
}

impl fmt::Debug for ConnectionSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConnectionSettings")
            .field("info", &self.info)
            .field("versions", &self.versions)
            .field("timeout", &self.timeout)
            .field("max_total", &self.max_total)
            .field("handlers", &self.handlers.keys())
            .finish_non_exhaustive()
    }
}

/// The way in which sessions with a server begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    /// The client sends `initialize`.
    Handshake,
    /// The client sends `initialize` over the HTTP+SSE transport of 2024-11-05.
    Sse,
    /// There is no handshake; every request names its version.
    Stateless,
}

/// Cache of each server's [`Era`], shared by all clones, so that a server is probed only once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eras(Arc<Mutex<HashMap<String, Era>>>);

impl Eras {
    pub(crate) fn find(&self, server: &str) -> Option<Era> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).copied()
    }

    pub(crate) fn remember(&self, server: &str, era: Era) {
        let mut eras = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A full cache drops new servers rather than old ones: probing again is only slow.
        if eras.len() < MAX_ERAS || eras.contains_key(server) {
            eras.insert(server.to_owned(), era);
        }
    }

    pub(crate) fn forget(&self, server: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(server);
    }
}
