//! `hardline call`: calls a tool and shows what it says.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use hardline_client::connection::RawResult;
use hardline_client::{Connection, Options};
use hardline_wire::encode::code;

use super::save::{self, Folder};
use super::server::Server;
use super::session::{self, Desk};
use super::target::TargetArgs;
use super::{Format, ShowArgs, arguments, nearest, print, tool, write};
use crate::terminal::{Color, complain};

/// How long the list of tools may take that a mistake is looked up in.
const LIST_TIME: Duration = Duration::from_secs(5);

/// Call a tool of an MCP server
///
/// Connects to a server of the configuration, at a URL, or starts one; calls the tool and shows its result.
/// Images, sounds and other files in the result are saved, and named. Ctrl-C cancels the call at the server.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hardline call [OPTIONS] <SERVER> <TOOL> [JSON]\n       \
    hardline call [OPTIONS] <TOOL> [JSON] --url <URL>\n       \
    hardline call [OPTIONS] <TOOL> [JSON] -- <CMD>...",
    after_help = "Exit status: 0 if the tool succeeded, 1 if it says that it failed, or if the call failed, 2 for\n\
    wrong use, and for a mistake in the configuration of the server: nothing was started; 128 and the\n\
    number of the signal that ended this.\n\n\
    Examples:\n  \
    hardline call github search_code '{\"query\": \"mcp\"}'\n  \
    hardline call echo '{\"text\": \"hello\"}' -- hardline demo-server\n  \
    hardline call search '{\"query\": \"mcp\"}' --url https://example.com/mcp\n  \
    hardline call search @query.json --url https://example.com/mcp --header 'Authorization: Bearer $TOKEN'\n  \
    hardline call report --timeout 10m --format json -- my-server | jq .structuredContent\n  \
    hardline call charts draw @data.json --save ."
)]
pub(crate) struct Args {
    /// The server, by its name in the configuration; it has none with --url and --
    #[arg(required = true)]
    server: Option<String>,

    /// The tool
    tool: Option<String>,

    /// Its arguments: a JSON object, @FILE with one, or - for standard input
    #[arg(value_name = "JSON")]
    arguments: Option<String>,

    #[command(flatten)]
    target: TargetArgs,

    /// Where to save images, sounds and files of the result; without it, where temporary files are
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,

    /// Print text as the server sent it, whatever it does to a terminal, and nothing else
    #[arg(long, conflicts_with_all = ["format", "save"])]
    raw: bool,

    #[command(flatten)]
    show: ShowArgs,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let words = [&args.server, &args.tool, &args.arguments];
    let words: Vec<String> = words.into_iter().flatten().cloned().collect();
    let (server, rest) = args.target.one(&words, "call")?;
    let (tool, arguments) = match rest {
        [tool] => (tool, None),
        [tool, arguments] => (tool, Some(arguments.as_str())),
        [] => {
            let list = server.suggest("tools", &[]);
            bail!("which tool of {}? {list} lists them", print::name(&server.name));
        }
        _ => bail!("with --url and -- the server has no name: write `hardline call TOOL [JSON]`"),
    };
    let params = params(tool, arguments)?;
    save::prepare(args.save.as_deref(), args.show.format)?;
    session::run(&args.target, async |desk| call(args, &desk, &server, tool, &params).await)
}

async fn call(
    args: &Args,
    desk: &Desk,
    server: &Server,
    tool: &str,
    params: &str,
) -> Result<ExitCode> {
    let connection = match desk.wait(|| server.connecting(), desk.connect(server)).await {
        Ok(connection) => connection,
        Err(error) => return Ok(desk.fail(server, &error)),
    };
    let line = desk.line.clone();
    let options = Options::default().on_progress(move |progress| line.show(&progress));
    let request = connection.request_json("tools/call", params, &options);
    let outcome = desk.attend(&print::name(tool), request).await;
    let outcome = outcome.and_then(|it| Ok((print::Shown::read(&it)?, it)));
    match outcome {
        Ok((shown, result)) => {
            if !show(args, tool, &shown, &result)? {
                return Ok(ExitCode::from(1));
            }
            if !shown.is_error() {
                return Ok(ExitCode::SUCCESS);
            }
            if args.show.format == Format::Text {
                let meant = meant(&connection, server, tool).await;
                let help = meant.unwrap_or_else(|| help(server, tool));
                complain(&format!("the tool {} says that it failed; {help}", print::name(tool)));
            }
            Ok(ExitCode::from(1))
        }
        Err(error) => {
            let meant = match error.rpc() {
                Some(it) => {
                    let is_wrong = it.code == code::INVALID_PARAMS;
                    let meant = meant(&connection, server, tool).await;
                    meant.or_else(|| is_wrong.then(|| help(server, tool)))
                }
                None => None,
            };
            match meant {
                Some(meant) => complain(&format!("{error}; {meant}")),
                None => return Ok(desk.fail(server, &error)),
            }
            Ok(ExitCode::from(1))
        }
    }
}

/// Shows a result. Returns whether it could be written, and its files saved.
fn show(args: &Args, tool: &str, shown: &print::Shown, result: &RawResult) -> Result<bool> {
    let color = if args.raw { Color::Always } else { args.show.color };
    let mut folder = Folder::new(args.save.as_deref(), tool);
    Ok(write(color, |out, _| match args.show.format {
        Format::Json => writeln!(out, "{}", crate::json::escaped(result.get())),
        // As it came, whatever it is.
        Format::Text if args.raw => print::raw(out, shown),
        Format::Text => print::text(out, shown, &mut folder),
    })? && folder.tell())
}

/// Where the arguments of a tool are shown.
fn help(server: &Server, tool: &str) -> String {
    format!("{} shows its arguments", server.suggest("tools", &[tool]))
}

/// What may have been meant, if the server has no tool of that name: not all servers say so.
async fn meant(connection: &Connection, server: &Server, tool: &str) -> Option<String> {
    let listed = tokio::time::timeout(LIST_TIME, connection.list_tools_json()).await.ok()?.ok()?;
    let names: Vec<String> = listed.iter().filter_map(|it| tool::name(it.get())).collect();
    if names.iter().any(|it| it == tool) {
        return None;
    }
    let names = || names.iter().map(String::as_str);
    let (tool, question) = (print::name(tool), nearest::question(tool, names()));
    Some(format!(
        "{} has no tool {tool}{question} Its tools: {}",
        server.label(),
        nearest::list(names())
    ))
}

/// The parameters of the call. Numbers stay as they are written.
fn params(tool: &str, arguments: Option<&str>) -> Result<String> {
    let arguments = arguments::read(arguments)?;
    let tool = serde_json::to_string(tool)?;
    Ok(format!(r#"{{"name":{tool},"arguments":{arguments}}}"#))
}
