//! Which servers are meant: at a URL, as a command, or in a configuration.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hardline_client::Settings;
#[cfg(unix)]
use hardline_client::config::Process;
use hardline_client::config::ServerConfig;
use hardline_client::manager::Configured;
use hardline_transport::Secrets;
use hardline_transport::http::{Config, Headers};

use super::again::{Again, quoted};
use super::config::{self, Servers};
use super::credentials::Given;
use super::guard::GuardArgs;
use super::print::name;
#[cfg(unix)]
use super::server::kept;
use super::server::{Kind, Server};
use super::{credentials, header, nearest};
use crate::span;
use crate::terminal::{complain, harmless};

/// Longer than anybody waits.
const FOREVER: Duration = Duration::from_secs(1 << 30);
/// What a server is called that was given on the command line.
const GIVEN: &str = "server";

/// Servers: those of a configuration, or one at a URL or as a command.
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    /// A file with servers, as MCP clients have them (`mcpServers`). Can be given several times. Without it,
    /// the files of the clients on this machine are read; .mcp.json and the like here, for a server that is named
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "command"])]
    config: Vec<PathBuf>,

    /// The server, in the place of SERVER: for a name that begins with a dash, as --server=-name
    #[arg(id = "by_name", long = "server", value_name = "NAME", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["url", "command"])]
    by_name: Option<String>,

    /// A server at this address, as `https://example.com/mcp`, instead of one in a configuration
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<String>,

    /// A header for every request to the URL, as 'Authorization: Bearer $TOKEN'. $NAME and ${NAME} stand
    /// for variables of the environment. Can be given several times
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,

    /// How long a request may take, as 500ms or 30s, and the opening too; progress that the server reports
    /// begins it anew, for an hour at most. 0 is for ever. Without it, 30 seconds, and 60 for the opening
    #[arg(long, value_name = "TIME", value_parser = span::read_or_none)]
    pub(super) timeout: Option<Duration>,

    /// Show what servers write to their standard error, and what they log; otherwise only their last
    /// lines, if they fail
    #[arg(long, short)]
    pub(super) verbose: bool,

    #[command(flatten)]
    pub(super) guard: GuardArgs,

    /// A server to be started, and its arguments, instead of one in a configuration. It has the variables
    /// of this environment
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Which servers are meant.
#[derive(Debug)]
pub(super) enum Which {
    /// One that was given on the command line.
    Given(Server),
    /// One of a configuration.
    Named(Server),
    /// All that are not disabled.
    All(Vec<Server>),
}

impl TargetArgs {
    /// Which servers, and what else was written. The name of a server of a configuration comes first; one
    /// that was given in another way has no name.
    ///
    /// # Errors
    ///
    /// There is no such server, or no configuration.
    pub(super) fn choose<'a>(&self, words: &'a [String]) -> Result<(Which, &'a [String])> {
        if let Some(server) = self.given()? {
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

    /// The one server, with the words behind it, for what cannot be asked of all.
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
        let is_json = |word: &String| word.starts_with(['{', '@']) || word == "-";
        // Whoever has one server does not expect that it needs a name.
        if !is_known(wanted) && rest.first().is_none_or(is_json) {
            let again = Again::named(&self.config);
            bail!("{}", which(&servers, |server| again.phrase(command, server, &[wanted])));
        }
        Ok((find(servers, wanted)?, rest))
    }

    /// The server at a URL or after `--`, if there is one.
    fn given(&self) -> Result<Option<Server>> {
        if let Some(url) = &self.url {
            let config = Config::new(url).context("--url")?;
            let mut headers = Headers::new();
            let (mut names, mut values) = (HashSet::new(), Vec::new());
            for header in &self.header {
                let (name, value) = header::split(header)?;
                if !names.insert(name.trim().to_ascii_lowercase()) {
                    bail!("--header {name} is given twice");
                }
                headers = headers.with(name, &value).context("--header")?;
                values.push(value);
            }
            let again = Again::url(url, !names.is_empty());
            let source = match names.contains("authorization") {
                true => Arc::new(Given::new("in --header", "", &again)),
                false => credentials::of_url(url, &again).context("--url")?,
            };
            let config = config.with_headers(headers).with_header_source(source);
            let kind = Kind::Url(Arc::new(config), Secrets::new(values));
            return Ok(Some(Server { name: GIVEN.into(), kind, is_project: false, again }));
        }
        if !self.header.is_empty() {
            bail!("--header is for servers at a --url");
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

    /// All servers of the configuration, those that are disabled or wrong too. Warnings are told.
    fn configured(&self, wanted: Option<&str>) -> Result<Vec<Server>> {
        read(&self.config, wanted, self.verbose)
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

    /// How long all servers are waited for together, given what one may take if there were no others.
    pub(super) fn patience(&self, usual: Duration) -> Duration {
        match self.timeout {
            None => usual,
            Some(Duration::ZERO) => FOREVER,
            Some(time) => time,
        }
    }
}

/// One server at a URL or of a configuration, for what is not about its tools.
#[derive(Debug, clap::Args)]
pub(super) struct ServerArgs {
    /// The server, by its name in the configuration; it has none with --url
    #[arg(required_unless_present_any = ["url", "by_name"], conflicts_with_all = ["url", "by_name"])]
    server: Option<String>,

    /// The server, in the place of SERVER: for a name that begins with a dash, as --server=-name
    #[arg(id = "by_name", long = "server", value_name = "NAME", allow_hyphen_values = true)]
    #[arg(conflicts_with = "url")]
    by_name: Option<String>,

    /// A server at this address, as `https://example.com/mcp`, instead of one in a configuration
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,

    /// A file with servers, as MCP clients have them (`mcpServers`). Can be given several times. Without it,
    /// the files of the clients on this machine are read; .mcp.json and the like here, for a server that is named
    #[arg(long, value_name = "FILE", conflicts_with = "url")]
    config: Vec<PathBuf>,
}

impl ServerArgs {
    /// The server of the configuration.
    ///
    /// # Errors
    ///
    /// There is none of that name.
    pub(super) fn server(&self) -> Result<Server> {
        let wanted = self.server.as_deref().or(self.by_name.as_deref());
        find(read(&self.config, wanted, false)?, wanted.unwrap_or_default())
    }
}

/// All servers of configurations, those that are disabled or wrong too. Warnings are told, but for those about
/// other servers than the one that is wanted, if that is there.
fn read(files: &[PathBuf], wanted: Option<&str>, is_verbose: bool) -> Result<Vec<Server>> {
    let again = Again::named(files);
    let Servers { servers, project, wrong, mut warnings, files } = config::servers(files)?;
    let mut names = servers.iter().chain(&project).map(ServerConfig::name);
    let wanted = wanted.filter(|wanted| {
        names.any(|it| it == *wanted) || wrong.iter().any(|it| it.name == *wanted)
    });
    // Who names one is told what is wrong with it; who does not is warned.
    let (wrong, unused): (Vec<_>, Vec<_>) =
        wrong.into_iter().partition(|it| it.is_asked_for || wanted == Some(&it.name));
    let has_wrong = !unused.is_empty();
    warnings.extend(unused.into_iter().map(|it| it.mistake));
    let is_about = |wanted: &str, server: &str| {
        // One of several of a name has something behind it.
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
            bail!("there is no server that can be used, as the warnings say");
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
    let servers = servers.into_iter().map(|it| (it, false));
    let project = project.into_iter().map(|it| (it, true));
    Ok(servers.chain(project).map(usable).chain(wrong).collect())
}

fn configured(config: ServerConfig, is_verbose: bool, again: &Again) -> Configured {
    let place = format!("in {}", harmless(&config.file().to_string_lossy()));
    let given = Given::new(&place, config.name(), again);
    let again = again.clone();
    let configured = Configured::new(config)
        .with_credentials(move |server, url| credentials::of_server(server, url, &again))
        .with_refusals(Arc::new(given));
    #[cfg(unix)]
    let configured = {
        let server = configured.server().clone();
        configured.prepare(move |command| {
            // What variables hold now is what the server was given.
            let secrets = is_verbose.then(|| server.resolve_with_secrets(&Process::new()).1);
            kept(command, server.name(), secrets.as_ref())
        })
    };
    // What is started has a standard error; where nothing can be, there is nothing to show.
    #[cfg(not(unix))]
    let _ = is_verbose;
    configured
}

/// What is said where there are no servers.
fn nothing(files: &[PathBuf]) -> String {
    let own = config::own_file().map(|it| it.display().to_string());
    let own = own.map(|it| format!(", {it}")).unwrap_or_default();
    let looked = match files {
        [] => format!(
            "no configuration with servers was found: looked for .mcp.json and other files of MCP clients in this \
             directory{own}, and the files of the clients that `hardline doctor` knows"
        ),
        files => {
            let files: Vec<_> = files.iter().map(|it| it.display().to_string()).collect();
            format!("there are no servers in {}", files.join(", "))
        }
    };
    format!(
        "{looked}. Give a file with --config FILE, the server's address with --url URL, or its command after --"
    )
}

#[cfg(unix)]
fn command(program: &OsString, args: &[OsString], is_verbose: bool) -> Result<Kind> {
    use hardline_transport::process::{Command, Environment};

    let command = Command::new(program, Environment::Inherit).args(args);
    // Its command was given here, and its environment is ours: nobody said what is a secret.
    let secrets = is_verbose.then(Secrets::default);
    Ok(Kind::Command(Arc::new(kept(command, GIVEN, secrets.as_ref()))))
}

#[cfg(not(unix))]
fn command(_: &OsString, _: &[OsString], _: bool) -> Result<Kind> {
    bail!("servers can be started on Unix alone so far: give an address with --url");
}

/// What is said where a server has to be named, with the command that names one.
fn which(servers: &[Server], phrase: impl Fn(&str) -> String) -> String {
    let usable: Vec<&Server> = servers.iter().filter(|it| it.is_usable()).collect();
    let (only, known) = match &*usable {
        [] => match servers.iter().find_map(Server::mistake) {
            Some(mistake) => return mistake,
            None => ("SERVER", "is none that is not disabled".to_owned()),
        },
        [only] => (&*only.name, format!("is {}", nearest::list([&*only.name].into_iter()))),
        _ => {
            let names = usable.iter().map(|it| &*it.name);
            ("SERVER", format!("are {}", nearest::list(names)))
        }
    };
    format!("which server? Write {}; there {known}", phrase(only))
}

/// The server that is called so, if it can be used.
fn find(servers: Vec<Server>, wanted: &str) -> Result<Server> {
    let usable = servers.iter().filter(|it| it.is_usable());
    let names: Vec<Arc<str>> = usable.map(|it| Arc::clone(&it.name)).collect();
    let Some(server) = servers.into_iter().find(|it| &*it.name == wanted) else {
        let names = || names.iter().map(|it| &**it);
        let question = nearest::question(wanted, names());
        bail!(
            "there is no server {}{question} There are: {}",
            name(wanted),
            nearest::list(names())
        );
    };
    if server.is_disabled() {
        bail!("the server {} is disabled in {}", name(wanted), server.file());
    }
    let Some(mistake) = server.mistake() else { return Ok(server) };
    let is_other = |it: &&Arc<str>| it.strip_prefix(wanted).is_some_and(|it| it.starts_with('@'));
    match names.iter().find(is_other) {
        Some(other) => bail!("{mistake}. Another server of this name is {}", name(other)),
        None => bail!("{mistake}"),
    }
}

/// Those that may be used by who names none.
fn enabled(servers: Vec<Server>) -> Result<Vec<Server>> {
    let count = servers.len();
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

/// What is said about servers of the current directory's files.
fn unused(project: &[Server]) -> Option<String> {
    let project: Vec<&Server> = project.iter().filter(|it| !it.is_disabled()).collect();
    let file = quoted(&project.first()?.file());
    let names = nearest::list(project.iter().map(|it| &*it.name));
    let they = if project.len() == 1 { "it comes" } else { "they come" };
    Some(format!(
        "not used, as {they} from a file in this directory, which somebody else may have written: {names}; name one \
         to use it, or give --config {file}"
    ))
}
