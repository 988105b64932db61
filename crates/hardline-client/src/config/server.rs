//! One server of a configuration file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::describe;
use super::template::{Scope, Template};
use super::{OAuthConfig, Way};

/// One server of a configuration file.
///
/// Values stay templates: variables are put in by [`resolve`](Self::resolve) alone, each time anew.
#[derive(Clone)]
pub struct ServerConfig {
    pub(super) scope: Arc<Scope>,
    /// What it is called instead, where several files have a server of its name.
    pub(super) alias: Option<Arc<str>>,
    pub(super) is_disabled: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) kind: Kind,
    pub(super) oauth: Option<OAuthConfig>,
}

/// How a server is reached.
#[derive(Clone)]
pub(super) enum Kind {
    Command(CommandConfig),
    Url(UrlConfig),
}

/// A server to be started.
#[derive(Clone)]
pub(super) struct CommandConfig {
    pub(super) program: Template,
    pub(super) args: Vec<Template>,
    pub(super) env: Vec<(String, Template)>,
    /// Variables of our environment that the server gets too, if they are set.
    pub(super) passed: Vec<String>,
    pub(super) cwd: Option<Template>,
    pub(super) env_file: Option<Template>,
}

/// A server at an address.
#[derive(Clone)]
pub(super) struct UrlConfig {
    pub(super) url: Template,
    pub(super) headers: Vec<(String, HeaderConfig)>,
    pub(super) way: Way,
}

/// The value of a header.
#[derive(Clone)]
pub(super) struct HeaderConfig {
    /// What stands before the value of the variable, as `Bearer `.
    pub(super) prefix: &'static str,
    pub(super) value: Template,
    /// Whether the value is the name of a variable.
    pub(super) is_variable: bool,
}

impl ServerConfig {
    /// Its key in the file, unless it was [renamed](Self::renamed). Unescaped.
    pub fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.scope.server)
    }

    /// The same server under another name, as where several files have one of its name. Errors name the
    /// key in the file all the same.
    #[must_use]
    pub fn renamed(mut self, name: impl Into<Arc<str>>) -> Self {
        self.alias = Some(name.into());
        self
    }

    /// The file that it is in.
    pub fn file(&self) -> &Path {
        &self.scope.file
    }

    /// Whether the file says that it is not to be used for now.
    pub fn is_disabled(&self) -> bool {
        self.is_disabled
    }

    /// How long a request to it may take, if the file says so.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Whether it is at an address, rather than started.
    pub fn is_remote(&self) -> bool {
        matches!(self.kind, Kind::Url(_))
    }

    /// What it is, fit for a terminal: `npx -y server` or `https://example.com/mcp`.
    ///
    /// Variables are shown as they are written. The query of an address, the values of `env` and
    /// `headers`, and arguments that look like secrets are left out.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Command(command) => {
                let args = command.args.iter().map(|it| &*it.text);
                describe::command(&command.program.text, args)
            }
            Kind::Url(url) => describe::url(&url.url.text),
        }
    }

    /// What the file says about logging in, if it says something.
    pub fn oauth(&self) -> Option<&OAuthConfig> {
        self.oauth.as_ref()
    }

    /// Whether the file gives a header `Authorization`, or a bearer token.
    pub fn has_authorization(&self) -> bool {
        match &self.kind {
            Kind::Command(_) => false,
            Kind::Url(url) => url
                .headers
                .iter()
                .any(|(name, _)| name.trim().eq_ignore_ascii_case("authorization")),
        }
    }
}

impl fmt::Debug for ServerConfig {
    /// Leaves out the values of `env` and `headers`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = match &self.kind {
            Kind::Command(command) => command.env.iter().map(|(name, _)| name).collect(),
            Kind::Url(url) => url.headers.iter().map(|(name, _)| name).collect(),
        };
        formatter
            .debug_struct("ServerConfig")
            .field("name", &self.name())
            .field("file", &self.file())
            .field("dialect", &self.scope.dialect)
            .field("is_disabled", &self.is_disabled)
            .field("timeout", &self.timeout)
            .field("server", &self.describe())
            .field(if self.is_remote() { "headers" } else { "env" }, &names)
            .field("oauth", &self.oauth)
            .finish()
    }
}
