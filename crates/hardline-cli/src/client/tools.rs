//! `hardline tools`: lists the tools of a server.

use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::Style;
use anyhow::Result;
use hardline_client::{Connection, Error};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::target::TargetArgs;
use super::{Format, session, write};
use crate::terminal::Color;
use crate::terminal::table::{self, Cell, Layout, Table};

/// List the tools of an MCP server
///
/// Connects to a server at a URL, or starts one, and lists all its tools: their names, their arguments
/// (those that must be given have a star) and what they do.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 if the tools were listed, 1 if the server failed, 2 for wrong use; 128 and the\n\
    number of the signal that ended this.\n\n\
    Examples:\n  \
    hardline tools -- hardline demo-server\n  \
    hardline tools --url https://example.com/mcp --header 'Authorization: Bearer $TOKEN'\n  \
    hardline tools --format json -- my-server | jq '.tools[].name'"
)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// How to print them
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// When to use colors; `auto` does on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    color: Color,
}

/// What of a tool is shown.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    input_schema: Value,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let target = args.target.target()?;
    session::run(&args.target, target, |connection, _| list(args, connection))
}

async fn list(args: &Args, connection: Connection) -> Result<Result<ExitCode, Error>> {
    let tools = match connection.list::<Box<RawValue>>("tools/list", "tools").await {
        Ok(tools) => tools,
        Err(error) => return Ok(Err(error)),
    };
    let is_written = write(args.color, |out, is_colored| match args.format {
        Format::Json => json(out, &tools),
        Format::Text => text(out, &tools, is_colored),
    })?;
    Ok(Ok(ExitCode::from(u8::from(!is_written))))
}

fn json(out: &mut dyn Write, tools: &[Box<RawValue>]) -> io::Result<()> {
    let tools: Vec<_> = tools.iter().map(|tool| crate::json::escaped(tool.get())).collect();
    writeln!(out, "{{\"tools\":[{}]}}", tools.join(","))
}

fn text(out: &mut dyn Write, tools: &[Box<RawValue>], is_colored: bool) -> io::Result<()> {
    if tools.is_empty() {
        return writeln!(out, "The server has no tools.");
    }
    let mut table = Table::new(Layout::cut(&["TOOL", "ARGUMENTS", "DESCRIPTION"], 2), is_colored);
    for tool in tools {
        let Ok(tool) = serde_json::from_str::<Shown>(tool.get()) else {
            table.push(vec![Cell::new("?"), Cell::new(""), Cell::new(tool.get())]);
            continue;
        };
        let description = tool.description.as_deref().unwrap_or_default();
        let first = description.lines().map(str::trim).find(|line| !line.is_empty());
        table.push(vec![
            Cell::firm(&tool.name).style(Style::new().bold()),
            Cell::new(arguments(&tool.input_schema)),
            Cell::new(first.unwrap_or_default()),
        ]);
    }
    table.write(out, table::width())
}

/// The names of the arguments, with a star behind those that must be given.
fn arguments(schema: &Value) -> String {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let names = schema.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(|it| it.keys());
    let star = |name: &str| if required.contains(&name) { "*" } else { "" };
    names.map(|name| format!("{name}{}", star(name))).collect::<Vec<_>>().join(" ")
}
