//! Connects to a server from a configuration file.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

#[cfg(unix)]
use hardline_transport::Secrets;
use hardline_transport::client::BoxFuture;
use hardline_transport::http::{HeaderSource, Streamable};
#[cfg(unix)]
use hardline_transport::process::{Command, Stderr};

use super::Connect;
use crate::config::{HttpTransport, ProcessVariables, Resolved, ServerConfig, Variables};
use crate::{Connection, ConnectionSettings, Error, StartError};

/// A server from a configuration file, with the sources of its variables and credentials. Both are looked up
/// anew for every connection, and errors never show their values: see
/// [`resolve_with_secrets`](ServerConfig::resolve_with_secrets).
#[derive(Clone)]
pub struct ConfiguredServer {
    server: ServerConfig,
    name: Arc<str>,
    variables: Arc<dyn Variables + Send + Sync>,
    credentials: Option<Arc<Credentials>>,
    refusals: Option<Arc<dyn HeaderSource>>,
    #[cfg(unix)]
    prepare: Option<Arc<Prepare>>,
}

/// Returns the credentials for the server at this URL, if there are any.
type Credentials = dyn Fn(&ServerConfig, &str) -> Option<Arc<dyn HeaderSource>> + Send + Sync;

#[cfg(unix)]
type Prepare = dyn Fn(Command) -> Command + Send + Sync;

impl ConfiguredServer {
    /// Creates a server with its name from the file and the environment variables of this process.
    pub fn new(server: ServerConfig) -> Self {
        Self {
            name: server.name().into(),
            server,
            variables: Arc::new(ProcessVariables),
            credentials: None,
            refusals: None,
            #[cfg(unix)]
            prepare: None,
        }
    }

    /// Renames the server, for example because another server has the same name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the source of variables.
    #[must_use]
    pub fn with_variables(mut self, variables: Arc<dyn Variables + Send + Sync>) -> Self {
        self.variables = variables;
        self
    }

    /// Sets the source of credentials for a server at a URL. It is not asked if the configuration sets an
    /// `Authorization` header. Usually an [`Auth`](crate::auth::Auth) provides the credentials.
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

    /// Shows `source` the refusals from a server whose configuration sets an `Authorization` header. Such a
    /// server has no login, but `source` can turn the refusal into advice for the user.
    #[must_use]
    pub fn with_refusals(mut self, source: Arc<dyn HeaderSource>) -> Self {
        self.refusals = Some(source);
        self
    }

    /// Changes the command that starts the server, for example its keeper or its standard error. By default,
    /// lines on the server's standard error go to ours, prefixed with the server's configured name and without
    /// the values of variables.
    #[cfg(unix)]
    #[must_use]
    pub fn prepare(mut self, prepare: impl Fn(Command) -> Command + Send + Sync + 'static) -> Self {
        self.prepare = Some(Arc::new(prepare));
        self
    }

    /// Returns the server's configuration.
    pub fn server(&self) -> &ServerConfig {
        &self.server
    }

    /// Returns the server's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the command with its standard error directed, or as the caller has prepared it.
    #[cfg(unix)]
    fn prepared(&self, command: Command, secrets: &Secrets) -> Command {
        match &self.prepare {
            // After resolution: the caller can change how, but not what is started.
            Some(prepare) => prepare(command),
            // The user knows the server by its configured name, not by `npx` or `node`.
            None => command.stderr(Stderr::forward(&self.name).without(secrets)),
        }
    }

    async fn open(&self, settings: ConnectionSettings) -> Result<Connection, Error> {
        let (resolved, secrets) = self.server.resolve_with_secrets(&*self.variables);
        // Before anything can fail, so that no error shows a value.
        let settings = settings.with_secrets(&secrets);
        match resolved.map_err(|error| Error::from(StartError::new(error)).hidden(&secrets))? {
            #[cfg(unix)]
            Resolved::Command(command) => {
                Connection::spawn(&self.prepared(command, &secrets), settings).await
            }
            Resolved::Url { mut config, transport } => {
                let source = if self.server.has_authorization() {
                    // A configured header must win: a token from a login would replace it.
                    self.refusals.clone()
                } else {
                    let find = self.credentials.as_ref();
                    find.and_then(|find| find(&self.server, config.url()))
                };
                if let Some(source) = source {
                    config = config.with_header_source(source);
                }
                match transport {
                    // Only this variant falls back to HTTP+SSE.
                    HttpTransport::Any => Connection::connect_with(config, settings).await,
                    HttpTransport::Sse => Connection::connect_sse(config, settings).await,
                    HttpTransport::Streamable => {
                        let transport = Streamable::new(config);
                        let transport = transport.map_err(|error| {
                            Error::from(StartError::new(error)).hidden(&secrets)
                        })?;
                        Connection::open(Arc::new(transport), settings).await
                    }
                }
            }
        }
    }
}

impl Connect for ConfiguredServer {
    fn connect(&self, settings: ConnectionSettings) -> BoxFuture<'_, Result<Connection, Error>> {
        Box::pin(self.open(settings))
    }

    fn timeout(&self) -> Option<Duration> {
        self.server.timeout()
    }

    fn is_remote(&self) -> bool {
        self.server.is_remote()
    }

    fn fingerprint(&self) -> Option<String> {
        self.server.fingerprint_with(&*self.variables)
    }

    fn program(&self) -> Option<String> {
        // Two entries with the same command and values are the same program.
        self.fingerprint()
    }
}

impl From<ServerConfig> for ConfiguredServer {
    fn from(server: ServerConfig) -> Self {
        Self::new(server)
    }
}

impl fmt::Debug for ConfiguredServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ConfiguredServer");
        shown.field("name", &self.name).field("server", &self.server).finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use hardline_transport::process::Environment;

    use super::*;
    use crate::config::{self, Dialect};

    #[test]
    fn standard_error_has_the_configured_name() {
        let text = br#"{"mcpServers": {"docs": {"command": "npx"}}}"#;
        let mut file = config::parse("mcp.json".as_ref(), text, Dialect::Generic).unwrap();
        let server = ConfiguredServer::new(file.servers.remove(0));
        let label = |server: &ConfiguredServer| {
            let command = Command::new("npx", Environment::Base);
            format!("{:?}", server.prepared(command, &Secrets::default()))
        };
        assert!(label(&server).contains("Forward(docs)"), "{}", label(&server));
        let renamed = server.named("docs-2");
        assert!(label(&renamed).contains("Forward(docs-2)"));
        let prepared = renamed.prepare(|it| it.stderr(Stderr::tail_only()));
        assert!(label(&prepared).contains("Tail"));
    }
}
