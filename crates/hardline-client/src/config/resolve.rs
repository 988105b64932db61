//! Resolves a server: expands variables into a command to start or an address to connect to.

use std::fmt;

use hardline_transport::http::{Headers, HttpSettings};

use super::error::show;
use super::server::{Kind, ServerConfig, UrlConfig};
use super::template::{Scope, Template};
use super::{ConfigError, Problem, Variables};

/// A server that can be connected to. `Debug` shows no values, because variables may hold secrets.
#[non_exhaustive]
pub enum Resolved {
    /// A process to start. Its environment is [`Base`](hardline_transport::process::Environment::Base) plus the
    /// variables that the file adds.
    #[cfg(unix)]
    Command(hardline_transport::process::Command),
    /// An address to connect to.
    Url {
        /// URL and headers.
        config: HttpSettings,
        /// Transport to use.
        transport: HttpTransport,
    },
}

/// The HTTP transport of a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum HttpTransport {
    /// Not specified: Streamable HTTP, with a fallback to HTTP+SSE.
    #[default]
    Any,
    /// Streamable HTTP only.
    Streamable,
    /// The HTTP+SSE transport of 2024-11-05.
    Sse,
}

impl ServerConfig {
    /// Expands the variables with their current values, and reads the `envFile` if there is one.
    ///
    /// A relative `cwd` or `envFile` is relative to the directory of the project that the file belongs to, or
    /// else to the current directory; `~/` is the user's home. A server in a project's file without a `cwd`
    /// runs in the project's directory. A relative command with a `/` in it is relative to the directory in
    /// which the server runs.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] with the key if a variable without a default is not set, or if an expanded
    /// value is not a valid URL, header, argument or path.
    pub fn resolve(&self, variables: &dyn Variables) -> Result<Resolved, ConfigError> {
        match &self.kind {
            Kind::Command(command) => command.resolve(&self.scope, variables),
            Kind::Url(url) => url.resolve(&self.scope, variables),
        }
    }
}

#[cfg(not(unix))]
impl super::server::CommandConfig {
    fn resolve(&self, scope: &Scope, _: &dyn Variables) -> Result<Resolved, ConfigError> {
        Err(scope.error(&self.program, Problem::NoProcesses))
    }
}

impl UrlConfig {
    fn resolve(&self, scope: &Scope, variables: &dyn Variables) -> Result<Resolved, ConfigError> {
        let url = self.url.expand(scope, variables)?;
        let has_variables = self.url.has_variables(scope.dialect);
        let config = HttpSettings::new(&url).map_err(|error| {
            let reason = if has_variables {
                // The parser's message may quote the URL, and with it the value of a variable.
                "with its variables expanded, this is not a valid server URL".to_owned()
            } else {
                error.to_string()
            };
            scope.error(&self.url, Problem::Url(reason))
        })?;
        let mut headers = Headers::new();
        for (name, header) in &self.headers {
            let value = if header.is_variable {
                find(&header.value, scope, variables)?
            } else {
                header.value.expand(scope, variables)?
            };
            let value = format!("{}{value}", header.prefix);
            // The key of the header is named, but never its value.
            headers = headers
                .with(name, &value)
                .map_err(|error| scope.error(&header.value, Problem::Header(error.to_string())))?;
        }
        Ok(Resolved::Url { config: config.with_headers(headers), transport: self.transport })
    }
}

impl fmt::Debug for Resolved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(unix)]
            Self::Command(_) => formatter.write_str("Command(…)"),
            Self::Url { transport, .. } => {
                formatter.debug_struct("Url").field("transport", transport).finish_non_exhaustive()
            }
        }
    }
}

/// Returns the value of the variable that the template names as a whole.
fn find(
    template: &Template,
    scope: &Scope,
    variables: &dyn Variables,
) -> Result<String, ConfigError> {
    variables.find(&template.text).ok_or_else(|| {
        let name = show(template.text.as_bytes());
        let help = "set it in the environment".to_owned();
        scope.error(template, Problem::MissingVariable { name, help })
    })
}
