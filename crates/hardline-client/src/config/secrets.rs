//! What of a server's configuration is not to be shown.

use std::sync::{Mutex, PoisonError};

use hardline_transport::Secrets;

use super::server::{Kind, ServerConfig};
use super::{ConfigError, Resolved, Variables};

impl ServerConfig {
    /// [Resolves](Self::resolve) it, and gives what is not to be shown of it however that turned out: what
    /// was put in for variables, and the values of `env`, `envFile` and headers, also those that are written
    /// in the file. What every program knows, such as the user's home, is no secret.
    pub fn resolve_with_secrets(
        &self,
        variables: &dyn Variables,
    ) -> (Result<Resolved, ConfigError>, Secrets) {
        let noting = Noting { variables, values: Mutex::default() };
        let resolved = self.resolve(&noting);
        let values = match &self.kind {
            Kind::Command(command) => {
                let values =
                    command.env.iter().map(|(_, value)| value.expand(&self.scope, &noting));
                values.filter_map(Result::ok).collect::<Vec<_>>()
            }
            Kind::Url(url) => {
                let values = url.headers.iter().filter(|(_, header)| !header.is_variable);
                let values = values.map(|(_, header)| header.value.expand(&self.scope, &noting));
                values.filter_map(Result::ok).collect()
            }
        };
        let login = self.oauth.as_ref().and_then(|it| it.client_secret(&noting).ok().flatten());
        let mut all = noting.values.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.extend(values.into_iter().chain(login));
        leave_out_common(&mut all, resolved.as_ref().ok());
        (resolved, Secrets::new(all))
    }
}

/// Adds what the process gets, and takes out what every process gets.
#[cfg(unix)]
fn leave_out_common(values: &mut Vec<String>, resolved: Option<&Resolved>) {
    use hardline_transport::process::{Command, Environment};

    let of = |command: &Command| -> Vec<String> {
        let all = command.variables().into_iter();
        all.filter_map(|(_, value)| value.into_string().ok()).collect()
    };
    if let Some(Resolved::Command(command)) = resolved {
        values.extend(of(command));
    }
    let common = of(&Command::new("", Environment::Base));
    values.retain(|value| !common.contains(value));
}

#[cfg(not(unix))]
fn leave_out_common(_: &mut Vec<String>, _: Option<&Resolved>) {}

/// Takes note of all values that are found.
struct Noting<'v> {
    variables: &'v dyn Variables,
    values: Mutex<Vec<String>>,
}

impl Variables for Noting<'_> {
    fn find(&self, name: &str) -> Option<String> {
        let value = self.variables.find(name)?;
        self.values.lock().unwrap_or_else(PoisonError::into_inner).push(value.clone());
        Some(value)
    }
}
