//! The configuration of one server.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::describe;
use super::template::{Scope, Template};
use super::{HttpTransport, OAuthConfig};

/// One server in a configuration file.
///
/// Values are stored as templates. Each call of [`resolve`](Self::resolve) expands their variables anew.
#[derive(Clone)]
pub struct ServerConfig {
    pub(super) scope: Arc<Scope>,
    /// Name to use instead, for example because another file has a server of the same name.
    pub(super) alias: Option<Arc<str>>,
    pub(super) is_disabled: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) kind: Kind,
    pub(super) oauth: Option<OAuthConfig>,
}

/// A command to start, or an address to connect to.
#[derive(Clone)]
pub(super) enum Kind {
    Command(CommandConfig),
    Url(UrlConfig),
}

/// A server that is started as a process.
#[derive(Clone)]
pub(super) struct CommandConfig {
    pub(super) program: Template,
    pub(super) args: Vec<Template>,
    pub(super) env: Vec<(String, Template)>,
    /// Names of variables that the server inherits from our environment, if they are set.
    pub(super) passed: Vec<String>,
    pub(super) cwd: Option<Template>,
    pub(super) env_file: Option<Template>,
}

/// A server at an address.
#[derive(Clone)]
pub(super) struct UrlConfig {
    pub(super) url: Template,
    pub(super) headers: Vec<(String, HeaderConfig)>,
    pub(super) transport: HttpTransport,
}

/// The value of a header.
#[derive(Clone)]
pub(super) struct HeaderConfig {
    /// Prefix of the variable's value, such as `Bearer `.
    pub(super) prefix: &'static str,
    pub(super) value: Template,
    /// True if `value` is the name of a variable rather than a template.
    pub(super) is_variable: bool,
}

impl ServerConfig {
    /// Returns the name: the key in the file, unless [`renamed`](Self::renamed). Not escaped.
    pub fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.scope.server)
    }

    /// Changes the name, for example because another file has a server of the same name. Errors still show the
    /// key in the file.
    #[must_use]
    pub fn renamed(mut self, name: impl Into<Arc<str>>) -> Self {
        self.alias = Some(name.into());
        self
    }

    /// Returns the path of the file.
    pub fn file(&self) -> &Path {
        &self.scope.file
    }

    /// Returns true if the file disables the server.
    pub fn is_disabled(&self) -> bool {
        self.is_disabled
    }

    /// Returns the request timeout, if the file sets one.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns true if the server is at an address rather than started as a process.
    pub fn is_remote(&self) -> bool {
        matches!(self.kind, Kind::Url(_))
    }

    /// Describes the server for a terminal: `npx -y server` or `https://example.com/mcp`.
    ///
    /// Variables appear unexpanded. The query of an address, the values of `env` and `headers`, and arguments
    /// that look like secrets are left out.
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Command(command) => {
                // Templates rather than values, so that a description never contains a variable's value.
                let args = command.args.iter().map(|it| &*it.text);
                describe::command(&command.program.text, args)
            }
            Kind::Url(url) => describe::url(&url.url.text),
        }
    }

    /// Returns the OAuth settings, if the file has any.
    pub fn oauth(&self) -> Option<&OAuthConfig> {
        self.oauth.as_ref()
    }

    /// Returns true if the file sets an `Authorization` header or a bearer token.
    pub fn has_authorization(&self) -> bool {
        match &self.kind {
            Kind::Command(_) => false,
            Kind::Url(url) => url
                .headers
                .iter()
                // Header names are case-insensitive, and users type spaces.
                .any(|(name, _)| name.trim().eq_ignore_ascii_case("authorization")),
        }
    }
}

impl fmt::Debug for ServerConfig {
    /// Omits the values of `env` and `headers`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only names: values may be tokens.
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
