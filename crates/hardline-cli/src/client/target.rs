//! Which server is meant, and how it is reached.

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use hardline_client::{Connection, Error, Settings};
use hardline_transport::http::{Config, Headers};

use crate::span;

/// Longer than anybody waits.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// A server: at a URL, or as a command.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    /// A server at this address, as `https://example.com/mcp`
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,

    /// A header for every request to the URL, as 'Authorization: Bearer $TOKEN'. $NAME and ${NAME} stand
    /// for variables of the environment. Can be given several times
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,

    /// How long a request may take, as 500ms or 30s, and the opening too; progress that the server reports
    /// begins it anew, for an hour at most. 0 is for ever. Without it, 30 seconds, and 60 for the opening
    #[arg(long, value_name = "TIME", value_parser = span::read_or_none)]
    timeout: Option<Duration>,

    /// Show what the server writes to its standard error; otherwise only its last lines, if it fails
    #[arg(long, short)]
    pub(super) verbose: bool,

    /// A server to be started, and its arguments. It has the variables of this environment
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// A server that can be connected to.
pub(super) enum Target {
    Url(Box<Config>),
    #[cfg(unix)]
    Command(Box<hardline_transport::process::Command>),
}

impl TargetArgs {
    /// What was given, or what is missing.
    pub(super) fn target(&self) -> Result<Target> {
        if let Some(url) = &self.url {
            let config = Config::new(url).context("--url")?;
            let mut headers = Headers::new();
            let mut names = HashSet::new();
            for header in &self.header {
                let (name, value) = split(header)?;
                if !names.insert(name.trim().to_ascii_lowercase()) {
                    bail!("--header {name} is given twice");
                }
                headers = headers.with(name, &value).context("--header")?;
            }
            return Ok(Target::Url(Box::new(config.with_headers(headers))));
        }
        if !self.header.is_empty() {
            bail!("--header is for servers at a --url");
        }
        if self.command.is_empty() {
            bail!("no server: give its address with --url URL, or its command after --");
        }
        self.command()
    }

    #[cfg(unix)]
    fn command(&self) -> Result<Target> {
        use hardline_transport::process::{Command, Environment, Keeper, Stderr};

        let (program, rest) = self.command.split_first().context("no command was given")?;
        let stderr = if self.verbose { Stderr::forward("server") } else { Stderr::tail_only() };
        let command = Command::new(program, Environment::Inherit).args(rest).stderr(stderr);
        let keeper = std::env::current_exe().map(|this| Keeper::new(this, ["keeper"]));
        // Without one, the server still ends with its standard input.
        let command = match keeper {
            Ok(keeper) => command.keeper(keeper),
            Err(_) => command,
        };
        Ok(Target::Command(Box::new(command)))
    }

    #[cfg(not(unix))]
    fn command(&self) -> Result<Target> {
        bail!("servers can be started on Unix alone so far: give an address with --url");
    }

    pub(super) fn settings(&self) -> Settings {
        let settings = Settings::default();
        match self.timeout {
            None => settings,
            Some(Duration::ZERO) => {
                settings.with_timeout(Duration::ZERO).with_open_timeout(FOREVER)
            }
            Some(time) => settings
                .with_timeout(time)
                .with_open_timeout(time)
                .with_max_total(time.max(Duration::from_secs(3600))),
        }
    }
}

impl Target {
    pub(super) async fn connect(self, settings: Settings) -> Result<Connection, Error> {
        match self {
            Self::Url(config) => Connection::connect_with(*config, settings).await,
            #[cfg(unix)]
            Self::Command(command) => Connection::spawn(&command, settings).await,
        }
    }
}

/// Splits a header. Neither its value nor a variable's is ever shown.
fn split(header: &str) -> Result<(&str, String)> {
    let Some((name, value)) = header.split_once(':') else {
        bail!("--header: write it as 'Name: value'");
    };
    let value = expand(value.trim(), |variable| std::env::var(variable).ok());
    let value = value.map_err(|variable| anyhow!("the variable {variable} is not set"));
    Ok((name, value.with_context(|| format!("--header {name}"))?))
}

/// Puts variables in their places: `$NAME` and `${NAME}`. Any other `$` is one.
///
/// # Errors
///
/// The name of a variable that there is not.
fn expand(value: &str, find: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        let (is_braced, text) = match after.strip_prefix('{') {
            Some(text) => (true, text),
            None => (false, after),
        };
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let (name, behind) = text.split_at(text.find(|it| !is_part(it)).unwrap_or(text.len()));
        let behind = if is_braced { behind.strip_prefix('}') } else { Some(behind) };
        let is_name = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
        match behind.filter(|_| is_name) {
            Some(behind) => {
                result.push_str(&find(name).ok_or_else(|| name.to_owned())?);
                rest = behind;
            }
            None => {
                result.push('$');
                rest = after;
            }
        }
    }
    result.push_str(rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Result<&str, &str>) {
        let find = |name: &str| (name == "KEY").then(|| "s3cr3t".to_owned());
        let actual = expand(value, find);
        assert_eq!(actual.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn variables_stand_where_they_are_named() {
        check("Bearer $KEY", Ok("Bearer s3cr3t"));
        check("${KEY}x $KEY.", Ok("s3cr3tx s3cr3t."));
        check("a$ $$ $1 ${} ${KEY", Ok("a$ $$ $1 ${} ${KEY"));
        check("$$KEY", Ok("$s3cr3t"));
        check("Bearer $NONE", Err("NONE"));
        check("${NONE}", Err("NONE"));
        check("", Ok(""));
    }
}
