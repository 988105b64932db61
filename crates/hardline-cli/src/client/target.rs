//! Selects servers: at a URL, by a command, or from configuration files.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hardline_client::ConnectionSettings;
#[cfg(unix)]
use hardline_client::config::ProcessVariables;
use hardline_client::config::ServerConfig;
use hardline_client::manager::ConfiguredServer;
use hardline_transport::Secrets;
use hardline_transport::http::{Headers, HttpSettings};
use hardline_wire::limits::FOREVER;

use super::again::{Again, quoted};
use super::config::{self, Servers};
use super::credentials::Given;
use super::guard::GuardArgs;
use super::print::name;
#[cfg(unix)]
use super::server::with_keeper;
use super::server::{Kind, Server};
use super::{credentials, header, nearest};
use crate::duration;
use crate::terminal::{complain, harmless};

/// Name of a server that is given on the command line.
const GIVEN: &str = "server";

/// Options that select servers: from configuration files, at a URL, or by a command.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    /// Configuration file with servers in the format of an MCP client (`mcpServers`). Can be
    /// repeated. Default: the files of the clients on this machine, and, for a named server, also
    /// project files such as .mcp.json in the current directory
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "command"])]
    config: Vec<PathBuf>,

    /// Name of the server, if it begins with a dash, as in --server=-name
    #[arg(id = "by_name", long = "server", value_name = "NAME", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["url", "command"])]
    by_name: Option<String>,

    /// Address of a server, such as `https://example.com/mcp`, instead of one from a configuration
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,

    /// Header for every request to the URL, such as 'Authorization: Bearer $TOKEN'. $NAME and
    /// ${NAME} stand for environment variables. Can be repeated
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,

    /// Time limit for connecting and for each request, such as 500ms or 30s. Progress reports of
    /// the server restart it, up to one hour in total. 0 means no limit. Default: 60s to connect,
    /// 30s per request
    #[arg(long, value_name = "TIME", value_parser = duration::read_or_none)]
    pub(super) timeout: Option<Duration>,

    /// Show the standard error and the log messages of servers; default: only the last lines, if a
    /// server fails
    #[arg(long, short)]
    pub(super) verbose: bool,

    #[command(flatten)]
    pub(super) guard: GuardArgs,

    /// Command and arguments of a server to start, instead of one from a configuration. It inherits
    /// this environment
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Selected servers.
#[derive(Debug)]
pub(super) enum Which {
    /// A server from the command line.
    Given(Server),
    /// A configured server.
    Named(Server),
    /// All servers that are not disabled.
    All(Vec<Server>),
}

impl TargetArgs {
    /// Returns the selected servers and the remaining words. The name of a configured server is the
    /// first word; a server from the command line has no name.
    ///
    /// # Errors
    ///
    /// There is no such server, or no configuration.
    pub(super) fn choose<'a>(&self, words: &'a [String]) -> Result<(Which, &'a [String])> {
        if let Some(server) = self.given()? {
            // With a server on the command line, all words are for the command.
            return Ok((Which::Given(server), words));
        }
        if let Some(wanted) = &self.by_name {
            return Ok((Which::Named(find(self.configured(Some(wanted))?, wanted)?), words));
        }
        let servers = self.configured(words.first().map(String::as_str))?;
        match words.split_first() {
            Some((wanted, rest)) => Ok((Which::Named(find(servers, wanted)?), rest)),
            None => Ok((Which::All(enabled(servers)?), words)),
        }
    }

    /// Returns one server and the words after it, for commands that need exactly one server.
    ///
    /// # Errors
    ///
    /// As for [`choose`](Self::choose).
    pub(super) fn one<'a>(
        &self,
        words: &'a [String],
        command: &str,
    ) -> Result<(Server, &'a [String])> {
        if let Some(server) = self.given()? {
            return Ok((server, words));
        }
        if let Some(wanted) = &self.by_name {
            return Ok((find(self.configured(Some(wanted))?, wanted)?, words));
        }
        let servers = self.configured(words.first().map(String::as_str))?;
        let is_known = |word: &String| servers.iter().any(|it| *it.name == **word);
        let (wanted, rest) = words.split_first().context("no words")?;
        // JSON, a file of it or standard input are arguments, so the word before them is a tool.
        let is_json = |word: &String| word.starts_with(['{', '@']) || word == "-";
        // With a single server configured, users often leave out its name.
        if !is_known(wanted) && rest.first().is_none_or(is_json) {
            let again = Again::named(&self.config);
            bail!("{}", which(&servers, |server| again.phrase(command, server, &[wanted])));
        }
        Ok((find(servers, wanted)?, rest))
    }

    /// Returns the server at a URL or after `--`, if there is one.
    fn given(&self) -> Result<Option<Server>> {
        if let Some(url) = &self.url {
            let config = HttpSettings::new(url).context("--url")?;
            let mut headers = Headers::new();
            // Header names are case-insensitive, so the set holds them in lower case.
            let (mut names, mut values) = (HashSet::new(), Vec::new());
            for header in &self.header {
                let (name, value) = header::split(header)?;
                if !names.insert(name.trim().to_ascii_lowercase()) {
                    bail!("--header {name} was given twice");
                }
                headers = headers.with(name, &value).context("--header")?;
                // The values must never appear in messages, so they become secrets.
                values.push(value);
            }
            // Suggested commands repeat no header values, only the fact that there were some.
            let again = Again::url(url, !names.is_empty());
            // A header given here replaces a stored login.
            let source = if names.contains("authorization") {
                Arc::new(Given::new("in --header", "", &again))
            } else {
                credentials::of_url(url, &again).context("--url")?
            };
            let config = config.with_headers(headers).with_header_source(source);
            let kind = Kind::Url(Arc::new(config), Secrets::new(values));
            return Ok(Some(Server { name: GIVEN.into(), kind, is_project: false, again }));
        }
        if !self.header.is_empty() {
            bail!("--header needs a server at a --url");
        }
        match self.command.split_first() {
            Some((program, args)) => {
                let kind = command(program, args, self.verbose)?;
                let again = Again::Command;
                Ok(Some(Server { name: GIVEN.into(), kind, is_project: false, again }))
            }
            None => Ok(None),
        }
    }

    /// Returns all configured servers, including disabled and wrong ones. Prints warnings.
    fn configured(&self, wanted: Option<&str>) -> Result<Vec<Server>> {
        read(&self.config, wanted, self.verbose)
    }

    pub(super) fn settings(&self) -> ConnectionSettings {
        let settings = ConnectionSettings::default();
        match self.timeout {
            None => settings,
            // Zero means no limit, also for opening the session.
            Some(Duration::ZERO) => settings.with_timeout(None).with_open_timeout(None),
            Some(time) => settings
                .with_timeout(time)
                .with_open_timeout(time)
                // Progress restarts the timeout, so a separate limit bounds the total.
                .with_max_total(time.max(Duration::from_secs(3600))),
        }
    }

    /// Returns the time limit for all servers together; `usual` is the limit without `--timeout`.
    pub(super) fn patience(&self, usual: Duration) -> Duration {
        match self.timeout {
            None => usual,
            Some(Duration::ZERO) => FOREVER,
            Some(time) => time,
        }
    }
}

/// Options that select one server at a URL or from a configuration, for commands without tools.
#[derive(Debug, clap::Args)]
pub(super) struct ServerArgs {
    /// Name of the server in the configuration; leave it out with --url
    #[arg(required_unless_present_any = ["url", "by_name"], conflicts_with_all = ["url", "by_name"])]
    server: Option<String>,

    /// Name of the server, if it begins with a dash, as in --server=-name
    #[arg(id = "by_name", long = "server", value_name = "NAME", allow_hyphen_values = true)]
    #[arg(conflicts_with = "url")]
    by_name: Option<String>,

    /// Address of a server, such as `https://example.com/mcp`, instead of one from a configuration
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,

    /// Configuration file with servers in the format of an MCP client (`mcpServers`). Can be
    /// repeated. Default: the files of the clients on this machine, and, for a named server, also
    /// project files such as .mcp.json in the current directory
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Vec<PathBuf>,
}

impl ServerArgs {
    /// Returns the server from the configuration.
    ///
    /// # Errors
    ///
    /// No server has that name.
    pub(super) fn server(&self) -> Result<Server> {
        let wanted = self.server.as_deref().or(self.by_name.as_deref());
        find(read(&self.config, wanted, false)?, wanted.unwrap_or_default())
    }
}

/// Returns all configured servers, including disabled and wrong ones. Prints warnings; if `wanted`
/// exists, only those about it.
fn read(files: &[PathBuf], wanted: Option<&str>, is_verbose: bool) -> Result<Vec<Server>> {
    let again = Again::named(files);
    let Servers { servers, project, wrong, mut warnings, files } = config::servers(files)?;
    let mut names = servers.iter().chain(&project).map(ServerConfig::name);
    let wanted = wanted.filter(|wanted| {
        names.any(|it| it == *wanted) || wrong.iter().any(|it| it.name == *wanted)
    });
    // A mistake in the wanted server becomes an error later; mistakes in others are warnings.
    let (wrong, unused): (Vec<_>, Vec<_>) =
        wrong.into_iter().partition(|it| it.is_asked_for || wanted == Some(&it.name));
    // Remembered before the list moves into the warnings.
    let has_wrong = !unused.is_empty();
    warnings.extend(unused.into_iter().map(|it| it.mistake));
    let is_about = |wanted: &str, server: &str| {
        // The second definition of a name has a suffix, such as `github@cursor`.
        let rest = wanted.strip_prefix(server);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
    };
    for warning in &warnings {
        if let (Some(wanted), Some(server)) = (wanted, warning.server())
            && !is_about(wanted, server)
        {
            continue;
        }
        complain(&format!("warning: {warning}"));
    }
    if servers.is_empty() && project.is_empty() && wrong.is_empty() {
        if has_wrong {
            bail!("no server can be used; see the warnings above");
        }
        bail!("{}", nothing(&files));
    }
    let usable = |(config, is_project): (ServerConfig, bool)| Server {
        name: config.name().into(),
        kind: Kind::Configured(Arc::new(configured(config, is_verbose, &again))),
        is_project,
        again: again.clone(),
    };
    let wrong = wrong.into_iter().map(|it| Server {
        name: it.name.into(),
        kind: Kind::Wrong(it.mistake.to_string().into()),
        is_project: false,
        again: again.clone(),
    });
    // Order matters: project servers come last, as in the list of precedence.
    let servers = servers.into_iter().map(|it| (it, false));
    let project = project.into_iter().map(|it| (it, true));
    Ok(servers.chain(project).map(usable).chain(wrong).collect())
}

fn configured(config: ServerConfig, is_verbose: bool, again: &Again) -> ConfiguredServer {
    // A path can contain control characters.
    let place = format!("in {}", harmless(&config.file().to_string_lossy()));
    let given = Given::new(&place, config.name(), again);
    let again = again.clone();
    let configured = ConfiguredServer::new(config)
        .with_credentials(move |server, url| credentials::of_server(server, url, &again))
        .with_refusals(Arc::new(given));
    #[cfg(unix)]
    let configured = {
        let server = configured.server().clone();
        configured.prepare(move |command| {
            // Resolved at the start of the server, so the secrets are those that it gets.
            let secrets =
                is_verbose.then(|| server.resolve_with_secrets(&ProcessVariables::new()).1);
            with_keeper(command, server.name(), secrets.as_ref())
        })
    };
    // Only started servers have a standard error, and none can be started on this platform.
    #[cfg(not(unix))]
    let _ = is_verbose;
    configured
}

/// Returns the message for a configuration without servers.
fn nothing(files: &[PathBuf]) -> String {
    let own = config::own_file().map(|it| it.display().to_string());
    let own = own.map(|it| format!(", {it}")).unwrap_or_default();
    let looked = match files {
        [] => format!(
            "no configuration with servers was found: searched .mcp.json and other MCP client files in this \
                         directory{own}, and the files of the clients that `hardline doctor` knows"
        ),
        files => {
            let files: Vec<_> = files.iter().map(|it| it.display().to_string()).collect();
            format!("there are no servers in {}", files.join(", "))
        }
    };
    format!(
        "{looked}. Give a file with --config FILE, a server address with --url URL, or a server command after --"
    )
}

#[cfg(unix)]
fn command(program: &OsString, args: &[OsString], is_verbose: bool) -> Result<Kind> {
    use hardline_transport::process::{Command, Environment};

    let command = Command::new(program, Environment::Inherit).args(args);
    // The command line and our environment do not mark which values are secrets.
    let secrets = is_verbose.then(Secrets::default);
    Ok(Kind::Command(Arc::new(with_keeper(command, GIVEN, secrets.as_ref()))))
}

#[cfg(not(unix))]
fn command(_: &OsString, _: &[OsString], _: bool) -> Result<Kind> {
    bail!("starting servers is supported on Unix only: give an address with --url");
}

/// Returns the message for a missing server name, with the command that names one.
fn which(servers: &[Server], phrase: impl Fn(&str) -> String) -> String {
    let usable: Vec<&Server> = servers.iter().filter(|it| it.is_usable()).collect();
    let example = match &*usable {
        // A mistake in the configuration explains more than a list of names.
        [] => {
            let none = || format!("name a server: {}; all servers are disabled", phrase("SERVER"));
            return servers.iter().find_map(Server::mistake).unwrap_or_else(none);
        }
        [only] => &*only.name,
        _ => "SERVER",
    };
    let known = nearest::list(usable.iter().map(|it| &*it.name));
    format!("name a server: {}; known servers: {known}", phrase(example))
}

/// Finds a server by name. Fails if it cannot be used.
fn find(servers: Vec<Server>, wanted: &str) -> Result<Server> {
    let usable = servers.iter().filter(|it| it.is_usable());
    // Suggestions must not include disabled or wrong servers.
    let names: Vec<Arc<str>> = usable.map(|it| Arc::clone(&it.name)).collect();
    let Some(server) = servers.into_iter().find(|it| &*it.name == wanted) else {
        let names = || names.iter().map(|it| &**it);
        let question = nearest::question(wanted, names());
        bail!(
            "there is no server {}{question} Known servers: {}",
            name(wanted),
            nearest::list(names())
        );
    };
    if server.is_disabled() {
        bail!("the server {} is disabled in {}", name(wanted), server.file());
    }
    let Some(mistake) = server.mistake() else { return Ok(server) };
    // Another definition of the same name may be valid.
    let is_other = |it: &&Arc<str>| it.strip_prefix(wanted).is_some_and(|it| it.starts_with('@'));
    match names.iter().find(is_other) {
        Some(other) => bail!("{mistake}. Another server of this name is {}", name(other)),
        None => bail!("{mistake}"),
    }
}

/// Returns the servers that are used if no name is given.
fn enabled(servers: Vec<Server>) -> Result<Vec<Server>> {
    let count = servers.len();
    // Project servers run code of this directory, so they are used by name only.
    let (project, servers): (Vec<_>, Vec<_>) = servers.into_iter().partition(|it| it.is_project);
    let enabled: Vec<Server> = servers.into_iter().filter(|it| !it.is_disabled()).collect();
    let unused = unused(&project);
    match unused {
        Some(unused) if enabled.is_empty() => bail!("{unused}"),
        Some(unused) => complain(&unused),
        None if enabled.is_empty() && count == 1 => {
            bail!("the only server of the configuration is disabled")
        }
        None if enabled.is_empty() => {
            bail!("all {count} servers of the configuration are disabled")
        }
        None => {}
    }
    Ok(enabled)
}

/// Returns a message about the unused servers of project files in the current directory.
fn unused(project: &[Server]) -> Option<String> {
    let project: Vec<&Server> = project.iter().filter(|it| !it.is_disabled()).collect();
    let file = quoted(&project.first()?.file());
    let names = nearest::list(project.iter().map(|it| &*it.name));
    let they = if project.len() == 1 { "it comes" } else { "they come" };
    Some(format!(
        "not used, because {they} from a file in this directory, which may be written by others: {names}; name one \
                 to use it, or give --config {file}"
    ))
}
