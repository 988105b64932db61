//! Which server is meant, and how it is reached.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hardline_client::{Connection, Error, Settings};
use hardline_transport::http::{Config, Headers};

use crate::span;

/// A server: at a URL, or as a command.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    /// A server at this address, such as https://example.com/mcp
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,

    /// A header for every request to the URL, as 'Authorization: Bearer …'. Can be given several times;
    /// a value that begins with $ is taken from that variable of the environment
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,

    /// How long a request may take, as 500ms or 30s; progress that the server reports begins it anew. 0
    /// is for ever
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = span::read_or_none)]
    pub(super) timeout: Duration,

    /// Show what the server writes to its standard error; otherwise only its last lines, if it fails
    #[arg(long, short)]
    verbose: bool,

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
            for header in &self.header {
                let (name, value) = split(header)?;
                headers = headers.with(name, &value).context("--header")?;
            }
            return Ok(Target::Url(Box::new(config.with_headers(headers))));
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
        let mut settings = Settings::default().with_timeout(self.timeout);
        if !self.timeout.is_zero() {
            settings = settings.with_open_timeout(self.timeout.max(Duration::from_secs(1)));
        }
        settings
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

/// Splits a header. Neither the value nor a variable's is ever shown.
fn split(header: &str) -> Result<(&str, String)> {
    let Some((name, value)) = header.split_once(':') else {
        bail!("--header: write it as 'Name: value'");
    };
    let value = value.trim();
    match value.strip_prefix('$') {
        Some(variable) => match std::env::var(variable) {
            Ok(value) => Ok((name, value)),
            Err(_) => bail!("--header {name}: the variable {variable} is not set"),
        },
        None => Ok((name, value.to_owned())),
    }
}
