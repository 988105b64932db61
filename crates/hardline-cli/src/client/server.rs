//! A server to connect to: given on the command line, or from a configuration file.

use std::sync::Arc;
use std::time::Duration;

use hardline_client::config::ProcessVariables;
use hardline_client::manager::{ConfiguredServer, Connect};
use hardline_client::{Connection, ConnectionSettings, Error, StartError};
use hardline_transport::Secrets;
use hardline_transport::client::BoxFuture;
use hardline_transport::http::HttpSettings;
#[cfg(unix)]
use hardline_transport::process::Command;

use super::again::Again;
use super::print::name;
use crate::terminal::harmless;

/// A server. Clones are cheap.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// Name, not escaped.
    pub(super) name: Arc<str>,
    pub(super) kind: Kind,
    /// True if it comes from a project file in the current directory; then it is used only by name.
    pub(super) is_project: bool,
    /// Options with which it was found, for suggested commands.
    pub(super) again: Again,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Address from the command line, with headers that must not be shown.
    Url(Arc<HttpSettings>, Secrets),
    /// Command from the command line.
    #[cfg(unix)]
    Command(Arc<Command>),
    /// Entry of a configuration file.
    Configured(Arc<ConfiguredServer>),
    /// Invalid entry of a configuration file, with the mistake, escaped for a terminal.
    Wrong(Arc<str>),
}

impl Server {
    pub(super) fn is_disabled(&self) -> bool {
        matches!(&self.kind, Kind::Configured(it) if it.server().is_disabled())
    }

    /// Returns true if the entry is valid and not disabled.
    pub(super) fn is_usable(&self) -> bool {
        !self.is_disabled() && !matches!(self.kind, Kind::Wrong(_))
    }

    /// Returns the mistake in its configuration, if there is one, escaped for a terminal. Such a
    /// server is never connected to.
    pub(super) fn mistake(&self) -> Option<String> {
        match &self.kind {
            Kind::Configured(it) => {
                // A mistake may quote the value of a variable.
                let (resolved, secrets) =
                    it.server().resolve_with_secrets(&ProcessVariables::new());
                let mistake = resolved.err()?.to_string();
                Some(secrets.hide(&mistake).into_owned())
            }
            Kind::Wrong(reason) => Some(reason.to_string()),
            _ => None,
        }
    }

    /// Returns its name for a sentence, escaped for a terminal.
    pub(super) fn label(&self) -> String {
        if self.is_given() { "the server".to_owned() } else { name(&self.name) }
    }

    /// Returns a command about it, to suggest in a sentence.
    pub(super) fn suggest(&self, command: &str, words: &[&str]) -> String {
        self.again.phrase(command, &self.name, words)
    }

    /// Returns the progress text while connecting.
    pub(super) fn connecting(&self) -> String {
        format!("connecting to {}", self.label())
    }

    /// Returns true if it was given on the command line, so that it has no name.
    pub(super) fn is_given(&self) -> bool {
        match &self.kind {
            Kind::Url(..) => true,
            #[cfg(unix)]
            Kind::Command(_) => true,
            Kind::Configured(_) | Kind::Wrong(_) => false,
        }
    }

    /// Returns its configuration file, escaped for a terminal; empty if there is none.
    pub(super) fn file(&self) -> String {
        match &self.kind {
            Kind::Configured(it) => harmless(&it.server().file().to_string_lossy()).into_owned(),
            _ => String::new(),
        }
    }

    /// Returns the values that must not appear in its output.
    pub(super) fn secrets(&self) -> Secrets {
        match &self.kind {
            Kind::Url(_, secrets) => secrets.clone(),
            Kind::Configured(it) => it.server().resolve_with_secrets(&ProcessVariables::new()).1,
            _ => Secrets::default(),
        }
    }

    /// Returns the request time limit from its configuration.
    pub(super) fn timeout(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Configured(it) => it.server().timeout(),
            _ => None,
        }
    }

    async fn open(&self, settings: ConnectionSettings) -> Result<Connection, Error> {
        match &self.kind {
            Kind::Url(config, _) => {
                Connection::connect_with(HttpSettings::clone(config), settings).await
            }
            #[cfg(unix)]
            Kind::Command(command) => Connection::spawn(command, settings).await,
            Kind::Configured(server) => server.connect(settings).await,
            // Never connected to, but the error must still explain why.
            Kind::Wrong(reason) => Err(StartError::from_text(&**reason).into()),
        }
    }
}

/// Adds a keeper to a command, which ends the server if this process dies. With `secrets`, even
/// empty ones, the server's standard error is shown without them.
#[cfg(unix)]
pub(super) fn with_keeper(command: Command, label: &str, secrets: Option<&Secrets>) -> Command {
    use hardline_transport::process::{Keeper, Stderr, adopt_orphans};

    let stderr = match secrets {
        Some(secrets) => Stderr::forward(&name(label)).without(secrets),
        // The last lines explain a server that fails.
        None => Stderr::tail_only(),
    };
    let command = command.stderr(stderr);
    // Without the keeper, the server still ends when its standard input closes.
    let _ = adopt_orphans();
    match Keeper::this_program(["keeper"]) {
        Ok(keeper) => command.keeper(keeper),
        Err(_) => command,
    }
}

impl Connect for Server {
    fn connect(&self, settings: ConnectionSettings) -> BoxFuture<'_, Result<Connection, Error>> {
        Box::pin(self.open(settings))
    }

    fn is_remote(&self) -> bool {
        match &self.kind {
            Kind::Url(..) => true,
            Kind::Configured(it) => it.is_remote(),
            _ => false,
        }
    }

    fn fingerprint(&self) -> Option<String> {
        match &self.kind {
            Kind::Configured(it) => it.fingerprint(),
            _ => None,
        }
    }

    fn program(&self) -> Option<String> {
        match &self.kind {
            Kind::Configured(it) => it.program(),
            _ => None,
        }
    }
}
