//! `hardline tools`: lists the tools of servers, or shows one tool in full.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anstyle::Style;
use anyhow::{Result, bail};
use hardline_client::manager::{Freshness, Manager, ManagerSettings};
use tokio::time::Instant;

use super::all::{self, Answer, PATIENCE, State};
use super::print::name;
use super::server::Server;
use super::session::{self, RunContext};
use super::target::{TargetArgs, Which};
use super::tree::Tree;
use super::{Format, ShowArgs, first_line, nearest, tool, write};
use crate::terminal::complain;
use crate::terminal::table::{self, Cell, Layout, Table};

/// Time limit for a server whose tools are cached from an earlier run.
const SOON: Duration = Duration::from_secs(2);
/// Time limit for a named server whose tools are cached: the longest time that any connection setup
/// may take.
const OPEN_TIME: Duration = Duration::from_secs(60);
/// Limit on printed warnings about tools with confusable names.
const MAX_SHADOWS: usize = 10;

/// List the tools of MCP servers, or show one tool in full
///
/// Without SERVER, connects to all configured servers concurrently and lists their tools: name,
/// arguments (required ones have a star) and description. A server that does not answer is listed
/// with the reason; if its tools are cached from an earlier run, they are listed and marked.
///
/// With TOOL, shows the arguments and the full description of one tool.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hardline tools [OPTIONS] [SERVER] [TOOL]\n       \
    hardline tools [OPTIONS] [TOOL] --url <URL>\n       \
    hardline tools [OPTIONS] [TOOL] -- <CMD>...",
    after_help = "Exit status: 0 if the tools were listed, 1 if the server failed, or all servers did, 2 for wrong\n\
    use or a mistake in the configuration of the named server; 128 plus the signal number if a signal\n\
    ended this command.\n\n\
    Examples:\n  \
    hardline tools\n  \
    hardline tools github\n  \
    hardline tools github search_code\n  \
    hardline tools --config .mcp.json --format json | jq '.servers[] | {name, state}'\n  \
    hardline tools -- hardline demo-server\n  \
    hardline tools --url https://example.com/mcp --header 'Authorization: Bearer $TOKEN'\n  \
    hardline tools --format json -- my-server | jq '.tools[].name'"
)]
pub(crate) struct ToolsArgs {
    /// Name of the server in the configuration; leave it out with --url and --
    server: Option<String>,

    /// Name of a tool to show in full
    tool: Option<String>,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    show: ShowArgs,
}

/// Columns for one server and for many.
const ONE: Layout = Layout::cut(&["TOOL", "ARGUMENTS", "DESCRIPTION"], 2);
const MANY: Layout = Layout::cut(&["SERVER", "TOOL", "ARGUMENTS", "DESCRIPTION"], 3);

/// JSON of a tool, as the server wrote it.
type Json = Arc<str>;

pub(crate) fn run(args: &ToolsArgs) -> Result<ExitCode> {
    // With --url or --, the first word is not a server but the tool.
    let words: Vec<String> = [&args.server, &args.tool].into_iter().flatten().cloned().collect();
    let (which, rest) = args.target.choose(&words)?;
    let wanted = match rest {
        [] => None,
        [tool] => Some(tool.as_str()),
        _ => bail!("a server from --url or -- has no name: write `hardline tools [TOOL]`"),
    };
    session::run(&args.target, async |context| match which {
        Which::Given(server) => given(args, &context, &server, wanted).await,
        Which::Named(server) => named(args, &context, server, wanted).await,
        Which::All(servers) => of_all_servers(args, &context, servers).await,
    })
}

async fn given(
    args: &ToolsArgs,
    context: &RunContext,
    server: &Server,
    wanted: Option<&str>,
) -> Result<ExitCode> {
    let listed = async {
        let connection = context.connect(server).await?;
        connection.list_tools_json().await
    };
    let tools: Vec<Json> = match context.wait(|| server.connecting(), listed).await {
        Ok(tools) => tools.iter().map(|it| it.get().into()).collect(),
        Err(error) => return Ok(context.fail(server, &error)),
    };
    one(args, server, &tools, wanted)
}

async fn named(
    args: &ToolsArgs,
    context: &RunContext,
    server: Server,
    wanted: Option<&str>,
) -> Result<ExitCode> {
    let manager = start(context, std::slice::from_ref(&server));
    let patience = args.target.patience(OPEN_TIME);
    context.wait(|| server.connecting(), decided(&manager, &server, patience)).await;
    let answers = answers(&manager, std::slice::from_ref(&server), &all::too_late(patience));
    let Some(answer) = answers.first() else { bail!("there is no server") };
    let Some(tools) = &answer.items else {
        let reason = answer.reason.as_deref().unwrap_or_default();
        complain(&format!("{}: {reason}", name(&server.name)));
        return Ok(ExitCode::from(1));
    };
    // The list is printed before any warning about its age.
    let code = one(args, &server, tools, wanted)?;
    cut(&manager);
    // The tools come from the cache, so the failure is reported and the exit status is 1.
    if answer.state == State::Current {
        return Ok(code);
    }
    all::tell(&answers);
    Ok(ExitCode::from(1))
}

/// Lists the tools of one server, or shows one of them.
fn one(
    args: &ToolsArgs,
    server: &Server,
    tools: &[Json],
    wanted: Option<&str>,
) -> Result<ExitCode> {
    let Some(wanted) = wanted else {
        let is_written = write(args.show.color, |out, is_colored| match args.show.format {
            Format::Json => writeln!(out, "{{{}}}", json(tools)),
            Format::Text if tools.is_empty() => writeln!(out, "The server has no tools."),
            Format::Text => text(out, &[(None, tools)], is_colored),
        })?;
        return Ok(ExitCode::from(u8::from(!is_written)));
    };
    let names: Vec<String> = tools.iter().filter_map(|it| tool::name(it)).collect();
    // A server may list a name twice; the first one counts.
    let found = tools.iter().find(|it| tool::name(it).as_deref() == Some(wanted));
    let Some(found) = found else {
        let question = nearest::question(wanted, names.iter().map(String::as_str));
        let list = nearest::list(names.iter().map(String::as_str));
        complain(&format!(
            "{} has no tool {}{question} Its tools: {list}",
            server.label(),
            name(wanted)
        ));
        return Ok(ExitCode::from(1));
    };
    let is_written = write(args.show.color, |out, is_colored| match args.show.format {
        Format::Json => writeln!(out, "{}", crate::json::escaped(found)),
        Format::Text => tool::show(out, found, server, is_colored),
    })?;
    Ok(ExitCode::from(u8::from(!is_written)))
}

async fn of_all_servers(
    args: &ToolsArgs,
    context: &RunContext,
    servers: Vec<Server>,
) -> Result<ExitCode> {
    let manager = start(context, &servers);
    let patience = args.target.patience(PATIENCE);
    let waiting = || all::waiting_for(&unlisted(&manager));
    let waited = context.wait(waiting, listed(&manager, patience)).await;
    let answers = answers(&manager, &servers, &all::too_late(waited));
    let is_written = write(args.show.color, |out, is_colored| match args.show.format {
        Format::Json => all::json(out, &answers, |tools| json(tools)),
        Format::Text => {
            let lists: Vec<_> = answers
                .iter()
                .filter_map(|it| Some((Some(it.label()), it.items.as_deref()?)))
                .collect();
            if lists.is_empty() {
                return Ok(());
            }
            if lists.iter().all(|(_, tools)| tools.is_empty()) {
                return writeln!(out, "No tools.");
            }
            text(out, &lists, is_colored)
        }
    })?;
    // After the table, so that the reasons are the last lines on the screen.
    let code = all::tell(&answers);
    cut(&manager);
    shadows(&manager);
    Ok(if is_written { code } else { ExitCode::from(1) })
}

/// Starts to connect to servers, with the cache of an earlier run.
fn start(context: &RunContext, servers: &[Server]) -> Manager {
    let mut settings = ManagerSettings::default();
    if let Some(state) = crate::directory::state() {
        // The cache makes the list useful while a server is down.
        settings = settings.with_cache(state.join("tools"));
    }
    let manager = context.manager(settings, servers);
    for server in servers {
        // A second server of the same name is left out, as in the commands for one server.
        let _ = manager.add(&server.name, Arc::new(server.clone()));
    }
    manager
}

/// Waits until all servers have listed their tools or failed. The limit is shorter if the tools of
/// all late servers are cached. Returns the limit.
async fn listed(manager: &Manager, patience: Duration) -> Duration {
    let begun = Instant::now();
    let soon = SOON.min(patience);
    if tokio::time::timeout_at(begun + soon, manager.listed()).await.is_ok() {
        return soon;
    }
    let is_known = |it: &Arc<str>| manager.status(it).is_some_and(|it| it.tools.is_some());
    // Every late server has cached tools, so there is no need to wait longer.
    if unlisted(manager).iter().all(is_known) {
        return soon;
    }
    let _ = tokio::time::timeout_at(begun + patience, manager.listed()).await;
    patience
}

/// Waits until a server has listed its tools or failed. If its tools are cached, does not wait for
/// the end of its process as well, which can take as long again.
async fn decided(manager: &Manager, server: &Server, patience: Duration) {
    let mut listed = std::pin::pin!(manager.listed());
    if tokio::time::timeout(patience, &mut listed).await.is_err()
        && manager.status(&server.name).is_none_or(|it| it.tools.is_none())
    {
        listed.await;
    }
}

/// Returns the servers that have neither listed their tools nor failed.
fn unlisted(manager: &Manager) -> Vec<Arc<str>> {
    let statuses = manager.statuses().into_iter();
    let is_open = statuses.filter(|it| {
        let is_current = it.tools.is_some_and(|(_, freshness)| freshness == Freshness::Current);
        // A failed server will not answer, so it is not waited for.
        !is_current && it.list_failure.is_none() && !it.state.has_failed()
    });
    is_open.map(|it| it.server).collect()
}

/// Returns the answer of each server so far.
fn answers(manager: &Manager, servers: &[Server], late: &str) -> Vec<Answer<Vec<Json>>> {
    let catalog = manager.catalog();
    let tools = |server: &Arc<str>| {
        let tools = catalog.tools().iter().filter(|it| it.server == *server);
        tools.map(|it| Json::from(it.listed.json())).collect::<Vec<_>>()
    };
    let answer = |status: hardline_client::manager::ServerStatus| {
        // The last failure explains more than a state such as "connecting again".
        let reason = status.last_failure.as_deref().or(status.state.reason());
        let reason = reason.or(status.list_failure.as_deref()).unwrap_or(late).to_owned();
        // A configuration mistake is reported as such, not as a server that is down.
        let is_wrong =
            || servers.iter().any(|it| it.name == status.server && it.mistake().is_some());
        let state = match status.tools {
            None => return Answer::away(&status.server, is_wrong(), reason),
            Some((_, Freshness::Current)) => State::Current,
            Some((_, Freshness::Cached)) => State::Cached,
            Some(_) => State::Stale,
        };
        // A current list needs no reason, even after an earlier failure.
        let reason = (state != State::Current).then_some(reason);
        let items = Some(tools(&status.server));
        Answer { server: status.server, state, reason, items }
    };
    manager.statuses().into_iter().map(answer).collect()
}

/// Warns about servers with more tools than the list can hold.
fn cut(manager: &Manager) {
    for status in manager.statuses() {
        if let count @ 1.. = status.unlisted {
            let server = name(&status.server);
            complain(&format!("warning: {server} has {count} more tools that are not listed"));
        }
    }
}

/// Warns about tools with the same or confusable names. Pairs of servers with equal names share a
/// line.
fn shadows(manager: &Manager) {
    let catalog = manager.catalog();
    let mut same: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let mut alike = Vec::new();
    for it in catalog.shadows() {
        if it.is_exact() {
            same.entry((&it.server, &it.first_server)).or_default().push(&it.tool);
        } else {
            alike.push(it.to_string());
        }
    }
    let same = same.into_iter().map(|((server, first), tools)| {
        let (server, first) = (name(server), name(first));
        format!("{server} and {first} both have {}", nearest::list(tools))
    });
    let all: Vec<String> = alike.into_iter().chain(same).collect();
    for warning in all.iter().take(MAX_SHADOWS) {
        complain(&format!("warning: {warning} (tool.shadow)"));
    }
    if let Some(more @ 1..) = all.len().checked_sub(MAX_SHADOWS) {
        complain(&format!("warning: {more} more pairs like these (tool.shadow)"));
    }
}

fn json(tools: &[Json]) -> String {
    all::json_list("tools", tools.iter().map(|it| &**it))
}

fn text(
    out: &mut dyn Write,
    lists: &[(Option<String>, &[Json])],
    is_colored: bool,
) -> io::Result<()> {
    let is_many = lists.iter().any(|(server, _)| server.is_some());
    let mut table = Table::new(if is_many { MANY } else { ONE }, is_colored);
    for (server, tools) in lists {
        for tool in *tools {
            let mut row: Vec<Cell> = server.iter().map(Cell::firm).collect();
            let tree = Tree::read(tool);
            let field = |name: &str| tree.as_ref()?.get(name);
            match field("name").and_then(Tree::as_str) {
                Some(name) => row.extend([
                    Cell::firm(name).style(Style::new().bold()),
                    Cell::new(field("inputSchema").map(arguments).unwrap_or_default()),
                    Cell::new(first_line(field("description").and_then(Tree::as_str))),
                ]),
                // A tool without a name is still shown, as its JSON.
                None => row.extend([Cell::new("?"), Cell::new(""), Cell::new(tool)]),
            }
            table.push(row);
        }
    }
    table.write(out, table::width())
}

/// Returns the names of the arguments, with a star after required ones.
fn arguments(schema: &Tree<'_>) -> String {
    let required: HashSet<&str> = tool::required(schema).into_iter().collect();
    let properties = schema.get("properties").map(Tree::members).unwrap_or_default();
    let star = |name: &str| if required.contains(name) { "*" } else { "" };
    let names = properties.iter().map(|(name, _)| format!("{name}{}", star(name)));
    names.collect::<Vec<_>>().join(" ")
}
