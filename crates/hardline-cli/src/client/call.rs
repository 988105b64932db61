//! `hardline call`: calls a tool and shows what it says.

use std::io::Read;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use hardline_client::connection::RawResult;
use hardline_client::{Connection, Error, Options};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::{Checker, Kind};
use hardline_wire::limits::Limits;

use super::progress::Line;
use super::target::TargetArgs;
use super::{Format, print, session, write};
use crate::terminal::{Color, complain};

/// The most that is read as arguments.
const MAX_ARGUMENT_BYTES: u64 = 64 << 20;

/// Call a tool of an MCP server
///
/// Connects to a server at a URL, or starts one, calls the tool and shows its result. Ctrl-C cancels the
/// call at the server.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if the tool succeeded, 1 if it says that it failed, or if the call failed, 2 for\n\
    wrong use; 128 and the number of the signal that ended this.\n\n\
    Examples:\n  \
    hardline call echo '{\"text\": \"hello\"}' -- hardline demo-server\n  \
    hardline call search '{\"query\": \"mcp\"}' --url https://example.com/mcp\n  \
    hardline call search @query.json --url https://example.com/mcp --header 'Authorization: Bearer $TOKEN'\n  \
    hardline call report --timeout 10m --format json -- my-server | jq .structuredContent"
)]
pub(crate) struct Args {
    /// The tool
    #[arg(value_name = "TOOL")]
    tool: String,

    /// Its arguments: a JSON object, @FILE with one, or - for standard input
    #[arg(value_name = "JSON")]
    arguments: Option<String>,

    #[command(flatten)]
    target: TargetArgs,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Print text as the server sent it, whatever it does to a terminal
    #[arg(long, conflicts_with = "format")]
    raw: bool,

    /// When to use colors; `auto` does on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let params = params(&args.tool, args.arguments.as_deref())?;
    let target = args.target.target()?;
    session::run(&args.target, target, |connection, line| call(args, params, connection, line))
}

async fn call(
    args: &Args,
    params: String,
    connection: Connection,
    line: Line,
) -> Result<Result<ExitCode, Error>> {
    let options = Options::default().on_progress(move |progress| line.show(&progress));
    match connection.request_json("tools/call", &params, &options).await {
        Ok(result) => show(args, &result),
        Err(error) => Ok(Err(error)),
    }
}

fn show(args: &Args, result: &RawResult) -> Result<Result<ExitCode, Error>> {
    let read = match result.parse::<print::Shown>("tools/call") {
        Ok(read) => read,
        Err(error) => return Ok(Err(error)),
    };
    let color = if args.raw { Color::Always } else { args.color };
    let is_written = write(color, |out, _| match args.format {
        Format::Json => writeln!(out, "{}", crate::json::escaped(result.get())),
        // As it came, whatever it is.
        Format::Text if args.raw => print::raw(out, &read),
        Format::Text => print::text(out, &read),
    })?;
    if !is_written {
        return Ok(Ok(ExitCode::from(1)));
    }
    if read.is_error() {
        if args.format == Format::Text {
            let tool = Excerpt::new(args.tool.as_bytes(), 80);
            complain(&format!("the tool {tool} says that it failed"));
        }
        return Ok(Ok(ExitCode::from(1)));
    }
    Ok(Ok(ExitCode::SUCCESS))
}

/// The parameters of the call. Numbers stay as they are written.
fn params(tool: &str, arguments: Option<&str>) -> Result<String> {
    let text = match arguments {
        None => String::from("{}"),
        Some("-") => {
            let input = std::io::stdin().lock();
            read(input).context("cannot read the arguments from standard input")?
        }
        Some(text) => match text.strip_prefix('@') {
            Some(path) => {
                let file = std::fs::File::open(path);
                let file = file.with_context(|| format!("cannot open {path}"))?;
                read(file).with_context(|| format!("cannot read {path}"))?
            }
            None => text.to_owned(),
        },
    };
    let text = text.trim_start_matches('\u{feff}');
    let from = arguments.and_then(|it| it.strip_prefix('@')).map(|it| format!(" in {it}"));
    let from = from.unwrap_or_default();
    let mut checker = Checker::new(&Limits::default());
    let checked = checker.check(text.as_bytes()).with_context(|| {
        format!("the arguments{from} are no JSON; write an object, as '{{\"text\": \"hello\"}}'")
    })?;
    if checked.value.kind() != Kind::Object {
        bail!("the arguments{from} are no JSON object; write one, as '{{\"text\": \"hello\"}}'");
    }
    let tool = serde_json::to_string(tool)?;
    Ok(format!(r#"{{"name":{tool},"arguments":{}}}"#, checked.value.text()))
}

fn read(input: impl Read) -> Result<String> {
    let mut text = String::new();
    #[expect(clippy::disallowed_methods, reason = "bounded by the line above it")]
    input.take(MAX_ARGUMENT_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
