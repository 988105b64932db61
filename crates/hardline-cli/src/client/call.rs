//! `hardline call`: calls a tool and shows its result.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use hardline_client::connection::RawResult;
use hardline_client::{Connection, RequestOptions};
use hardline_wire::encode::code;

use super::save::{self, Folder};
use super::server::Server;
use super::session::{self, RunContext};
use super::target::TargetArgs;
use super::{Format, ShowArgs, arguments, nearest, print, tool, write};
use crate::terminal::{Color, complain};

/// Time limit for the tool list that is fetched to explain a failed call.
const LIST_TIME: Duration = Duration::from_secs(5);

/// Call a tool of an MCP server
///
/// Connects to a server from the configuration or at a URL, or starts one. Calls the tool and shows
/// its result. Images, audio and files in the result are saved, and their paths printed. Ctrl-C
/// cancels the call at the server.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hardline call [OPTIONS] <SERVER> <TOOL> [JSON]\n       \
    hardline call [OPTIONS] <TOOL> [JSON] --url <URL>\n       \
    hardline call [OPTIONS] <TOOL> [JSON] -- <CMD>...",
    after_help = "Exit status: 0 if the tool succeeded, 1 if it reports an error or the call failed, 2 for wrong use\n\
    or a mistake in the configuration of the server (nothing was started); 128 plus the signal number\n\
    if a signal ended this command.\n\n\
    Examples:\n  \
    hardline call github search_code '{\"query\": \"mcp\"}'\n  \
    hardline call echo '{\"text\": \"hello\"}' -- hardline demo-server\n  \
    hardline call search '{\"query\": \"mcp\"}' --url https://example.com/mcp\n  \
    hardline call search @query.json --url https://example.com/mcp --header 'Authorization: Bearer $TOKEN'\n  \
    hardline call report --timeout 10m --format json -- my-server | jq .structuredContent\n  \
    hardline call charts draw @data.json --save ."
)]
pub(crate) struct CallArgs {
    /// Name of the server in the configuration; leave it out with --url and --
    #[arg(required = true)]
    server: Option<String>,

    /// Name of the tool
    tool: Option<String>,

    /// Arguments of the tool: a JSON object, @FILE with one, or - for standard input
    #[arg(value_name = "JSON")]
    arguments: Option<String>,

    #[command(flatten)]
    target: TargetArgs,

    /// Directory for images, audio and files of the result; default: the temporary directory
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,

    /// Print only text, exactly as the server sent it; it can control the terminal
    #[arg(long, conflicts_with_all = ["format", "save"])]
    raw: bool,

    #[command(flatten)]
    show: ShowArgs,
}

pub(crate) fn run(args: &CallArgs) -> Result<ExitCode> {
    // With --url or --, the first word is not a server but the tool.
    let words = [&args.server, &args.tool, &args.arguments];
    let words: Vec<String> = words.into_iter().flatten().cloned().collect();
    let (server, rest) = args.target.one(&words, "call")?;
    let (tool, arguments) = match rest {
        [tool] => (tool, None),
        [tool, arguments] => (tool, Some(arguments.as_str())),
        [] => {
            let list = server.suggest("tools", &[]);
            bail!("name a tool of {}; {list} lists them", print::name(&server.name));
        }
        _ => bail!("a server from --url or -- has no name: write `hardline call TOOL [JSON]`"),
    };
    // Checked before connecting: a mistake should not start a server.
    let params = params(tool, arguments)?;
    // A call cannot be undone, so the directory is checked first.
    save::prepare(args.save.as_deref(), args.show.format)?;
    session::run(&args.target, async |context| call(args, &context, &server, tool, &params).await)
}

async fn call(
    args: &CallArgs,
    context: &RunContext,
    server: &Server,
    tool: &str,
    params: &str,
) -> Result<ExitCode> {
    let connection = match context.wait(|| server.connecting(), context.connect(server)).await {
        Ok(connection) => connection,
        Err(error) => return Ok(context.fail(server, &error)),
    };
    let line = context.line.clone();
    let options = RequestOptions::default().on_progress(move |progress| line.show(&progress));
    let request = connection.request_json("tools/call", params, &options);
    let outcome = context.attend(&print::name(tool), request).await;
    // A result that cannot be parsed counts as a failed call.
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
                complain(&format!("the tool {} reports an error; {help}", print::name(tool)));
            }
            Ok(ExitCode::from(1))
        }
        Err(error) => {
            // Only an error from the server can mean a wrong tool name.
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
                None => return Ok(context.fail(server, &error)),
            }
            Ok(ExitCode::from(1))
        }
    }
}

/// Shows a result. Returns true if it was written and all its files were saved.
fn show(args: &CallArgs, tool: &str, shown: &print::Shown, result: &RawResult) -> Result<bool> {
    // `Always` passes escape sequences through; any other choice might strip them.
    let color = if args.raw { Color::Always } else { args.show.color };
    let mut folder = Folder::new(args.save.as_deref(), tool);
    Ok(write(color, |out, _| match args.show.format {
        Format::Json => writeln!(out, "{}", crate::json::escaped(result.get())),
        // The user asked for the unchanged bytes.
        Format::Text if args.raw => print::raw(out, shown),
        Format::Text => print::text(out, shown, &mut folder),
    })? && folder.tell())
}

/// Returns a hint at the command that shows the arguments of a tool.
fn help(server: &Server, tool: &str) -> String {
    format!("{} shows its arguments", server.suggest("tools", &[tool]))
}

/// Returns a suggestion if the server has no tool of that name. Not all servers report that
/// themselves.
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

/// Returns the parameters of the call. Numbers keep their digits.
fn params(tool: &str, arguments: Option<&str>) -> Result<String> {
    let arguments = arguments::read(arguments)?;
    let tool = serde_json::to_string(tool)?;
    Ok(format!(r#"{{"name":{tool},"arguments":{arguments}}}"#))
}
