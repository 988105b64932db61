//! Fingerprints that identify a server by its configuration.

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::server::{CommandConfig, Kind, ServerConfig};
use super::template::Template;
use super::{HttpTransport, Variables};

impl ServerConfig {
    /// Returns the SHA-256, in hexadecimal, of everything that identifies the server: command, arguments,
    /// environment and working directory, or address, headers and type. Templates count as written, without the
    /// values of variables. Name, timeout and the disabled flag do not count.
    pub fn fingerprint(&self) -> String {
        let mut print = Fingerprinter::default();
        let mut add = |part: &str| print.add(part);
        // A text with variables has a different meaning in another dialect.
        add(if self.may_have_variables() { self.scope.dialect.client() } else { "" });
        match &self.kind {
            Kind::Command(command) => {
                add("command");
                add(&command.program.text);
                add(&command.args.len().to_string());
                command.args.iter().for_each(|arg| add(&arg.text));
                for part in [&command.cwd, &command.env_file] {
                    add(part.as_ref().map_or("", |it| &it.text));
                }
                if command.depends_on_folder() {
                    let folder = self.scope.folder().unwrap_or_default();
                    add(&folder.to_string_lossy());
                }
                let mut env: Vec<_> =
                    command.env.iter().map(|(name, value)| (name, &value.text)).collect();
                // The order of variables has no effect on the server.
                env.sort();
                for (name, value) in env {
                    add(name);
                    add(value);
                }
                let mut passed: Vec<_> = command.passed.iter().collect();
                passed.sort();
                passed.into_iter().for_each(|name| add(name));
            }
            Kind::Url(url) => {
                add("url");
                add(&url.url.text);
                add(match url.transport {
                    HttpTransport::Any => "any",
                    HttpTransport::Streamable => "streamable",
                    HttpTransport::Sse => "sse",
                });
                let mut headers: Vec<_> = url
                    .headers
                    .iter()
                    .map(|(name, it)| {
                        (name.to_ascii_lowercase(), it.prefix, &it.value.text, it.is_variable)
                    })
                    .collect();
                headers.sort();
                for (name, prefix, value, is_variable) in headers {
                    add(&name);
                    add(prefix);
                    add(value);
                    add(if is_variable { "variable" } else { "" });
                }
            }
        }
        print.finish()
    }

    /// Like [`fingerprint`](Self::fingerprint), and includes the current values of variables in the command, its
    /// arguments and paths, or the address. Values in `env` and headers do not count: they may be secret, and
    /// the fingerprint may be stored. Returns `None` if a variable is not set.
    pub fn fingerprint_with(&self, variables: &dyn Variables) -> Option<String> {
        let templates: Vec<&Template> = match &self.kind {
            Kind::Command(command) => {
                let paths = [&command.cwd, &command.env_file].into_iter().flatten();
                [&command.program].into_iter().chain(&command.args).chain(paths).collect()
            }
            Kind::Url(url) => vec![&url.url],
        };
        let mut print = Fingerprinter::default();
        print.add(&self.fingerprint());
        for template in templates {
            print.add(&template.expand(&self.scope, variables).ok()?);
        }
        Some(print.finish())
    }

    fn may_have_variables(&self) -> bool {
        let has_dollar = |template: &Template| template.text.contains('$');
        match &self.kind {
            Kind::Command(command) => {
                let optional = [&command.cwd, &command.env_file].into_iter().flatten();
                let env = command.env.iter().map(|(_, value)| value);
                let mut all =
                    [&command.program].into_iter().chain(&command.args).chain(optional).chain(env);
                all.any(has_dollar)
            }
            Kind::Url(url) => {
                has_dollar(&url.url) || url.headers.iter().any(|(_, it)| has_dollar(&it.value))
            }
        }
    }
}

impl CommandConfig {
    /// Returns true if the command's behavior depends on the project's directory or on ours.
    fn depends_on_folder(&self) -> bool {
        let is_whole =
            |it: &Template| it.text.starts_with("~/") || Path::new(&it.text).is_absolute();
        !self.cwd.as_ref().is_some_and(is_whole)
            || self.env_file.as_ref().is_some_and(|it| !is_whole(it))
    }
}

/// Hashes a sequence of texts.
#[derive(Default)]
struct Fingerprinter(Sha256);

impl Fingerprinter {
    fn add(&mut self, part: &str) {
        // The length prefix keeps ("ab", "c") and ("a", "bc") apart.
        self.0.update(part.len().to_le_bytes());
        self.0.update(part.as_bytes());
    }

    fn finish(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}
