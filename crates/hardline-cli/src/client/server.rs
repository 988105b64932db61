//! A server that can be connected to: given on the command line, or in a configuration.

use std::sync::Arc;
use std::time::Duration;

use hardline_client::config::Process;
use hardline_client::manager::{Configured, Connect};
use hardline_client::{Connection, Error, Settings};
use hardline_transport::Secrets;
use hardline_transport::client::BoxFuture;
use hardline_transport::http::Config;
#[cfg(unix)]
use hardline_transport::process::Command;

use super::again::Again;
use super::print::name;
use crate::terminal::harmless;

/// One server. Clones are cheap.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// What it is called: unescaped.
    pub(super) name: Arc<str>,
    pub(super) kind: Kind,
    /// Whether it comes from a file of the current directory, so that it is for who names it alone.
    pub(super) is_project: bool,
    /// How it was found.
    pub(super) again: Again,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// At an address that was given, with headers that are not to be shown.
    Url(Arc<Config>, Secrets),
    /// A command that was given.
    #[cfg(unix)]
    Command(Arc<Command>),
    /// As a file says.
    Configured(Arc<Configured>),
    /// As a file says, but that is wrong: what is, fit for a terminal.
    Wrong(Arc<str>),
}

impl Server {
    pub(super) fn is_disabled(&self) -> bool {
        matches!(&self.kind, Kind::Configured(it) if it.server().is_disabled())
    }

    /// Whether it may be named: that what a file says of it is not wrong in itself, and not disabled.
    pub(super) fn is_usable(&self) -> bool {
        !self.is_disabled() && !matches!(self.kind, Kind::Wrong(_))
    }

    /// Why what a configuration says of it is of no use, if it is not: then nobody can be asked. Fit for a
    /// terminal.
    pub(super) fn mistake(&self) -> Option<String> {
        match &self.kind {
            Kind::Configured(it) => {
                let (resolved, secrets) = it.server().resolve_with_secrets(&Process::new());
                let mistake = resolved.err()?.to_string();
                Some(secrets.hide(&mistake).into_owned())
            }
            Kind::Wrong(reason) => Some(reason.to_string()),
            _ => None,
        }
    }

    /// What it is called in a sentence, fit for a terminal.
    pub(super) fn label(&self) -> String {
        if self.is_given() { "the server".to_owned() } else { name(&self.name) }
    }

    /// A command about it, to be suggested in a sentence.
    pub(super) fn suggest(&self, command: &str, words: &[&str]) -> String {
        self.again.phrase(command, &self.name, words)
    }

    /// What is said while it is connected to.
    pub(super) fn connecting(&self) -> String {
        format!("connecting to {}", self.label())
    }

    /// Whether it was given on the command line, so that it has no name.
    pub(super) fn is_given(&self) -> bool {
        match &self.kind {
            Kind::Url(..) => true,
            #[cfg(unix)]
            Kind::Command(_) => true,
            Kind::Configured(_) | Kind::Wrong(_) => false,
        }
    }

    /// The file that it is in, fit for a terminal; empty if it is in none.
    pub(super) fn file(&self) -> String {
        match &self.kind {
            Kind::Configured(it) => harmless(&it.server().file().to_string_lossy()).into_owned(),
            _ => String::new(),
        }
    }

    /// What is not to be shown of what it writes.
    pub(super) fn secrets(&self) -> Secrets {
        match &self.kind {
            Kind::Url(_, secrets) => secrets.clone(),
            Kind::Configured(it) => it.server().resolve_with_secrets(&Process::new()).1,
            _ => Secrets::default(),
        }
    }

    /// How long a request may take, if a file says so.
    pub(super) fn timeout(&self) -> Option<Duration> {
        match &self.kind {
            Kind::Configured(it) => it.server().timeout(),
            _ => None,
        }
    }

    async fn open(&self, settings: Settings) -> Result<Connection, Error> {
        match &self.kind {
            Kind::Url(config, _) => Connection::connect_with(Config::clone(config), settings).await,
            #[cfg(unix)]
            Kind::Command(command) => Connection::spawn(command, settings).await,
            Kind::Configured(server) => server.connect(settings).await,
            Kind::Wrong(reason) => Err(Error::Start(reason.to_string())),
        }
    }
}

/// A command with somebody to end it, whatever becomes of us. With secrets, even none, what it writes to its
/// standard error is shown without them.
#[cfg(unix)]
pub(super) fn kept(command: Command, label: &str, secrets: Option<&Secrets>) -> Command {
    use hardline_transport::process::{Keeper, Stderr, adopt_orphans};

    let stderr = match secrets {
        Some(secrets) => Stderr::forward(&name(label)).without(secrets),
        None => Stderr::tail_only(),
    };
    let command = command.stderr(stderr);
    // Without these, the server still ends with its standard input.
    let _ = adopt_orphans();
    match Keeper::this_program(["keeper"]) {
        Ok(keeper) => command.keeper(keeper),
        Err(_) => command,
    }
}

impl Connect for Server {
    fn connect(&self, settings: Settings) -> BoxFuture<'_, Result<Connection, Error>> {
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
