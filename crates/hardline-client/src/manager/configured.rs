//! A server of a configuration file as something to connect to.

use std::fmt;
use std::sync::Arc;

use hardline_transport::client::BoxFuture;
use hardline_transport::http::{HeaderSource, Streamable};

use super::Connect;
use crate::config::{Process, Resolved, ServerConfig, Variables, Way};
use crate::{Connection, Error, Settings};

/// A server of a configuration file, and what is to be known to connect to it. Variables and credentials
/// are looked up anew for every connection. No error shows them: see
/// [`resolve_with_secrets`](ServerConfig::resolve_with_secrets).
#[derive(Clone)]
pub struct Configured {
    server: ServerConfig,
    name: Arc<str>,
    variables: Arc<dyn Variables + Send + Sync>,
    credentials: Option<Arc<Credentials>>,
    refusals: Option<Arc<dyn HeaderSource>>,
    #[cfg(unix)]
    prepare: Option<Arc<Prepare>>,
}

/// Gives the credentials for a server at a URL.
type Credentials = dyn Fn(&ServerConfig, &str) -> Option<Arc<dyn HeaderSource>> + Send + Sync;

#[cfg(unix)]
type Prepare = dyn Fn(hardline_transport::process::Command) -> hardline_transport::process::Command
    + Send
    + Sync;

impl Configured {
    /// A server with its name in the file, and the variables of this process.
    pub fn new(server: ServerConfig) -> Self {
        Self {
            name: server.name().into(),
            server,
            variables: Arc::new(Process),
            credentials: None,
            refusals: None,
            #[cfg(unix)]
            prepare: None,
        }
    }

    /// Calls it something else, because another has that name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Takes variables from there.
    #[must_use]
    pub fn with_variables(mut self, variables: Arc<dyn Variables + Send + Sync>) -> Self {
        self.variables = variables;
        self
    }

    /// Asks for credentials, if the server is at a URL, and no header `Authorization` is configured for it.
    /// An [`Auth`](crate::auth::Auth) is what gives them, as a rule.
    #[must_use]
    pub fn with_credentials(
        mut self,
        credentials: impl Fn(&ServerConfig, &str) -> Option<Arc<dyn HeaderSource>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.credentials = Some(Arc::new(credentials));
        self
    }

    /// Shows `source` the refusals of a server at a URL for which a header `Authorization` is configured:
    /// nobody can log in there, but somebody can be told what to do.
    #[must_use]
    pub fn with_refusals(mut self, source: Arc<dyn HeaderSource>) -> Self {
        self.refusals = Some(source);
        self
    }

    /// Changes how the server is started: who keeps it, and where its standard error goes. Otherwise that
    /// goes to ours, under the name of the program.
    #[cfg(unix)]
    #[must_use]
    pub fn prepare(
        mut self,
        prepare: impl Fn(hardline_transport::process::Command) -> hardline_transport::process::Command
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.prepare = Some(Arc::new(prepare));
        self
    }

    /// What the file says of it.
    pub fn server(&self) -> &ServerConfig {
        &self.server
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    async fn open(&self, settings: Settings) -> Result<Connection, Error> {
        let (resolved, secrets) = self.server.resolve_with_secrets(&*self.variables);
        let settings = settings.with_secrets(&secrets);
        match resolved.map_err(|error| Error::Start(error.to_string()).hidden(&secrets))? {
            #[cfg(unix)]
            Resolved::Command(command) => {
                let command = match &self.prepare {
                    Some(prepare) => prepare(command),
                    None => command,
                };
                Connection::spawn(&command, settings).await
            }
            Resolved::Url { mut config, way } => {
                let source = match self.server.has_authorization() {
                    true => self.refusals.clone(),
                    false => {
                        let find = self.credentials.as_ref();
                        find.and_then(|find| find(&self.server, config.url()))
                    }
                };
                if let Some(source) = source {
                    config = config.with_header_source(source);
                }
                match way {
                    Way::Any => Connection::connect_with(config, settings).await,
                    Way::Sse => Connection::connect_sse(config, settings).await,
                    Way::Streamable => {
                        let transport = Streamable::new(config);
                        let transport = transport
                            .map_err(|error| Error::Start(error.to_string()).hidden(&secrets))?;
                        Connection::open(Arc::new(transport), settings).await
                    }
                }
            }
        }
    }
}

impl Connect for Configured {
    fn connect(&self, settings: Settings) -> BoxFuture<'_, Result<Connection, Error>> {
        Box::pin(self.open(settings))
    }

    fn is_remote(&self) -> bool {
        self.server.is_remote()
    }

    fn fingerprint(&self) -> Option<String> {
        self.server.fingerprint_with(&*self.variables)
    }

    fn program(&self) -> Option<String> {
        self.fingerprint()
    }
}

impl From<ServerConfig> for Configured {
    fn from(server: ServerConfig) -> Self {
        Self::new(server)
    }
}

impl fmt::Debug for Configured {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Configured");
        shown.field("name", &self.name).field("server", &self.server).finish_non_exhaustive()
    }
}
