//! Collects the secret values of a server's configuration.

use std::sync::{Mutex, PoisonError};

use hardline_transport::Secrets;

use super::server::{Kind, ServerConfig};
use super::{ConfigError, Resolved, Variables};

impl ServerConfig {
    /// [Resolves](Self::resolve) the server. Also returns the values to hide, even if that fails: the values of
    /// variables, and those of `env`, `envFile` and headers, including values written in the file. Values that
    /// every process gets, such as the user's home, are not secret.
    pub fn resolve_with_secrets(
        &self,
        variables: &dyn Variables,
    ) -> (Result<Resolved, ConfigError>, Secrets) {
        let recorder = RecordingVariables { variables, values: Mutex::default() };
        let resolved = self.resolve(&recorder);
        // Values written in the file are secret too, although no lookup returns them.
        let values = match &self.kind {
            Kind::Command(command) => {
                let values =
                    command.env.iter().map(|(_, value)| value.expand(&self.scope, &recorder));
                values.filter_map(Result::ok).collect::<Vec<_>>()
            }
            Kind::Url(url) => {
                let values = url.headers.iter().filter(|(_, header)| !header.is_variable);
                let values = values.map(|(_, header)| header.value.expand(&self.scope, &recorder));
                values.filter_map(Result::ok).collect()
            }
        };
        let login = self.oauth.as_ref().and_then(|it| it.client_secret(&recorder).ok().flatten());
        let mut all = recorder.values.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.extend(values.into_iter().chain(login));
        leave_out_common(&mut all, resolved.as_ref().ok());
        (resolved, Secrets::new(all))
    }
}

/// Adds the environment of the server's process, and removes what every process gets.
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
    // Hiding the home directory or the locale would garble every error.
    values.retain(|value| !common.contains(value));
}

#[cfg(not(unix))]
fn leave_out_common(_: &mut Vec<String>, _: Option<&Resolved>) {}

/// Records every value that a lookup returns.
struct RecordingVariables<'v> {
    variables: &'v dyn Variables,
    values: Mutex<Vec<String>>,
}

impl Variables for RecordingVariables<'_> {
    fn find(&self, name: &str) -> Option<String> {
        let value = self.variables.find(name)?;
        self.values.lock().unwrap_or_else(PoisonError::into_inner).push(value.clone());
        Some(value)
    }
}
