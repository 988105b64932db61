//! Resolves a server that is started as a process: command line, environment and working directory.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};

use hardline_transport::process::{Command, Environment};

use super::error::show;
use super::server::CommandConfig;
use super::template::{Scope, Template};
use super::{ConfigError, Problem, Resolved, Variables};

/// Limit on the size of an `envFile`.
const MAX_ENV_FILE_BYTES: usize = 1 << 20;

impl CommandConfig {
    pub(super) fn resolve(
        &self,
        scope: &Scope,
        variables: &dyn Variables,
    ) -> Result<Resolved, ConfigError> {
        let expand = |template: &Template| expand(template, scope, variables);
        let program = expand(&self.program)?;
        if program.trim().is_empty() {
            return Err(scope.error(&self.program, Problem::EmptyCommand));
        }
        let program = with_home(&program, &self.program, scope)?;
        let mut command = Command::new(program, Environment::Base);
        for arg in &self.args {
            command = command.arg(expand(arg)?);
        }
        // Later assignments win: inherited variables, then the file, then `env`.
        for name in &self.passed {
            if let Some(value) = variables.find(name) {
                command = command.env(name, value);
            }
        }
        if let Some(file) = &self.env_file {
            let path = path(&expand(file)?, file, scope)?;
            for (name, value) in read_env_file(&path, file, scope)? {
                command = command.env(name, value);
            }
        }
        for (name, value) in &self.env {
            command = command.env(name, expand(value)?);
        }
        // A project's server runs in the project, as its client would start it.
        let cwd = self.cwd.as_ref().map(|cwd| path(&expand(cwd)?, cwd, scope)).transpose()?;
        if let Some(cwd) = cwd.or_else(|| scope.folder.clone()) {
            command = command.current_dir(cwd);
        }
        Ok(Resolved::Command(command))
    }
}

/// Expands a template and rejects a NUL, which no program can receive.
fn expand(
    template: &Template,
    scope: &Scope,
    variables: &dyn Variables,
) -> Result<String, ConfigError> {
    let value = template.expand(scope, variables)?;
    if value.contains('\0') {
        return Err(scope.error(template, Problem::Nul));
    }
    Ok(value)
}

fn path(text: &str, template: &Template, scope: &Scope) -> Result<PathBuf, ConfigError> {
    let path = with_home(text, template, scope)?;
    if path.is_absolute() {
        return Ok(path);
    }
    let folder = scope.folder();
    let folder =
        folder.ok_or_else(|| scope.error(template, Problem::Where("the current directory")))?;
    Ok(folder.join(path))
}

fn with_home(text: &str, template: &Template, scope: &Scope) -> Result<PathBuf, ConfigError> {
    let rest = match text.strip_prefix('~') {
        Some("") => "",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => return Ok(PathBuf::from(text)),
    };
    let home = env::home_dir();
    let home = home.ok_or_else(|| scope.error(template, Problem::Where("the home directory")))?;
    Ok(home.join(rest))
}

/// Reads `NAME=value` lines. Errors do not contain their values.
fn read_env_file(
    path: &Path,
    template: &Template,
    scope: &Scope,
) -> Result<Vec<(String, String)>, ConfigError> {
    let wrong = |reason: String| {
        // Shows the unexpanded path: the values of variables in it may be secret.
        let path = show(template.text.as_bytes());
        scope.error(template, Problem::EnvFile { path, reason })
    };
    let mut bytes = Vec::new();
    let file = hardline_transport::file::open(path).map_err(|error| wrong(error.to_string()))?;
    #[expect(clippy::disallowed_methods, reason = "bounded by take()")]
    let read = file.take(MAX_ENV_FILE_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| wrong(error.to_string()))?;
    if bytes.len() > MAX_ENV_FILE_BYTES {
        return Err(wrong(format!("it is larger than {MAX_ENV_FILE_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
    let mut variables = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        match env_line(line) {
            Ok(variable) => variables.extend(variable),
            Err(()) => return Err(wrong(format!("line {} is not NAME=value", index + 1))),
        }
    }
    Ok(variables)
}

/// Parses one line. Returns `None` for blank lines and comments.
fn env_line(line: &str) -> Result<Option<(String, String)>, ()> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=').ok_or(())?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || name.contains(char::is_whitespace) || line.contains('\0') {
        return Err(());
    }
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'' | '`')) => {
            let inner = value.trim_start_matches(quote);
            match value.get(1..).and_then(|rest| rest.split_once(quote)) {
                Some((inside, _)) if quote == '"' => inside.replace("\\n", "\n"),
                Some((inside, _)) => inside.to_owned(),
                None => inner.to_owned(),
            }
        }
        // As in dotenv, an unquoted value ends at ` #`, but not at a `#` within a word.
        _ => value.split_once(" #").map_or(value, |(value, _)| value.trim_end()).to_owned(),
    };
    Ok(Some((name.to_owned(), value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lines_of_variables() {
        for (line, expected) in [
            ("A=b", Some(("A", "b"))),
            (" export A = b c # d", Some(("A", "b c"))),
            ("A=\"b # c\" # d", Some(("A", "b # c"))),
            ("A='b\\n'", Some(("A", "b\\n"))),
            ("A=\"b\\nc\"", Some(("A", "b\nc"))),
            ("A=", Some(("A", ""))),
            ("A=b=c#d", Some(("A", "b=c#d"))),
            ("# A=b", None),
            ("", None),
        ] {
            let actual = env_line(line).unwrap();
            let actual = actual.as_ref().map(|(name, value)| (&**name, &**value));
            assert_eq!(actual, expected, "{line}");
        }
        for line in ["A", "=b", "A B=c", "A=\0"] {
            assert!(env_line(line).is_err(), "{line}");
        }
    }
}
