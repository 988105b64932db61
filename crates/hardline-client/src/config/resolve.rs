//! Putting variables in: what is started or reached, with what they hold now.

use std::fmt;

use hardline_transport::http::{Config, Headers};

use super::error::show;
use super::server::{Kind, ServerConfig, UrlConfig};
use super::template::{Scope, Template};
use super::{ConfigError, Problem, Variables};

/// A server that can be connected to. Debug shows nothing of it, as variables may hold secrets.
#[non_exhaustive]
pub enum Resolved {
    /// A process to start. Its environment is [`Base`](hardline_transport::process::Environment::Base)
    /// and what the file adds.
    #[cfg(unix)]
    Command(hardline_transport::process::Command),
    /// An address.
    Url {
        /// The address and the headers.
        config: Config,
        /// What is spoken there.
        way: Way,
    },
}

/// What is spoken at an address.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Way {
    /// The file does not say: Streamable HTTP, or HTTP+SSE if that is all that the server speaks.
    #[default]
    Any,
    /// Streamable HTTP.
    Streamable,
    /// The HTTP+SSE of 2024-11-05.
    Sse,
}

impl ServerConfig {
    /// Puts in what the variables hold now, and reads the `envFile` if there is one.
    ///
    /// A relative `cwd` or `envFile` begins at the directory of the project whose file it is, else at
    /// the current one; `~/` is the user's home. A server of a project's file without a `cwd` runs in the
    /// project's directory. A relative command with a `/` in it begins where the server runs.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], with the key: a variable that is not set and has no default, or what they make
    /// is no address, no header, or nothing that a program can be given.
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
        let config = Config::new(&url).map_err(|error| match has_variables {
            // Whatever is said about an address that was put together may hold a piece of a variable.
            true => {
                let what = "what the variables make of this is not the address of a server";
                scope.error(&self.url, Problem::Url(what.to_owned()))
            }
            false => scope.error(&self.url, Problem::Url(error.to_string())),
        })?;
        let mut headers = Headers::new();
        for (name, header) in &self.headers {
            let value = match header.is_variable {
                true => find(&header.value, scope, variables)?,
                false => header.value.expand(scope, variables)?,
            };
            let value = format!("{}{value}", header.prefix);
            headers = headers
                .with(name, &value)
                .map_err(|error| scope.error(&header.value, Problem::Header(error.to_string())))?;
        }
        Ok(Resolved::Url { config: config.with_headers(headers), way: self.way })
    }
}

impl fmt::Debug for Resolved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(unix)]
            Self::Command(_) => formatter.write_str("Command(…)"),
            Self::Url { way, .. } => {
                formatter.debug_struct("Url").field("way", way).finish_non_exhaustive()
            }
        }
    }
}

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
