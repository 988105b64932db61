//! `hardline pin list`.

use std::collections::HashMap;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::difference::Difference;
use super::{Format, Pins, Query, shown};
use crate::json;

/// Digits of a hash that are shown.
const DIGITS: usize = 12;

/// List pinned servers and tools
#[derive(Debug, clap::Args)]
pub(super) struct PinListArgs {
    #[command(flatten)]
    query: Query,
}

pub(super) fn run(args: &PinListArgs) -> Result<ExitCode> {
    let (pins, servers) = args.query.read()?;
    let mut output = io::stdout().lock();
    match args.query.format {
        Format::Json => {
            let all: Vec<Value> = servers.iter().map(|it| document(&pins, it)).collect();
            writeln!(output, "{}", json::pretty(&json!({ "servers": all }))?)?;
        }
        Format::Text => {
            for server in &servers {
                print(&mut output, &pins, server)?;
            }
            if servers.is_empty() {
                writeln!(output, "nothing is pinned yet: start a server with `hardline wrap`")?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(output: &mut impl Write, pins: &Pins, server: &str) -> io::Result<()> {
    writeln!(output, "{}", shown(server))?;
    if let Some(program) = pins.programs.get(server) {
        let path = shown(&program.path.to_string_lossy());
        let mark = match pins.programs.refused(server) {
            Some(_) => "  changed: `hardline pin diff`",
            None => "",
        };
        writeln!(output, "  {}  {path}{mark}", short(&program.sha256))?;
    }
    let differences = pins.differences(server);
    print_instructions(output, pins, server, &differences)?;
    // By name, because a server may have thousands of tools.
    let marks: HashMap<&str, &str> =
        differences.iter().filter_map(|it| Some((it.tool()?, mark(*it)))).collect();
    for tool in pins.lock.tools(server) {
        let mark = marks.get(tool.name()).copied().unwrap_or_default();
        let hash = tool.fingerprint().to_string();
        writeln!(output, "  {}  {}{mark}", short(&hash), shown(tool.name()))?;
    }
    // New tools have no pin, so the loop above does not list them.
    for new in differences.iter().filter(|it| matches!(it, Difference::New { .. })) {
        let name = shown(new.tool().unwrap_or_default());
        writeln!(output, "  {:DIGITS$}  {name}{}", "", mark(*new))?;
    }
    Ok(())
}

fn print_instructions(
    output: &mut impl Write,
    pins: &Pins,
    server: &str,
    differences: &[Difference<'_>],
) -> io::Result<()> {
    let Some(instructions) = pins.lock.instructions(server) else { return Ok(()) };
    let found = differences.iter().find(|it| matches!(it, Difference::Instructions { .. }));
    // A server that never had instructions needs no line.
    if instructions.is_none() && found.is_none() {
        return Ok(());
    }
    let hash = instructions.fingerprint().to_string();
    let what = if instructions.is_none() { "no instructions" } else { "its instructions" };
    writeln!(output, "  {}  ({what}){}", short(&hash), found.map_or("", |it| mark(*it)))
}

fn mark(difference: Difference<'_>) -> &'static str {
    match difference {
        Difference::Changed { .. } | Difference::Instructions { .. } => {
            "  changed: `hardline pin diff`"
        }
        Difference::New { .. } => "  new, not pinned",
        Difference::Gone { .. } => "  not listed any more",
    }
}

fn document(pins: &Pins, server: &str) -> Value {
    let tools: Vec<Value> = pins
        .lock
        .tools(server)
        .map(|tool| json!({"name": tool.name(), "sha256": tool.fingerprint().to_string()}))
        .collect();
    let program = pins.programs.get(server);
    let program = program.map(|it| json!({"path": it.path, "sha256": it.sha256}));
    let differences = pins.differences(server);
    let changed: Vec<&str> = differences.iter().filter_map(|it| it.tool()).collect();
    let instructions = pins.lock.instructions(server).map(|it| {
        // A difference without a tool is about the instructions.
        let is_different = changed.len() < differences.len();
        json!({"sha256": it.fingerprint().to_string(), "text": it.text(), "different": is_different})
    });
    json!({
        "name": server,
        "executable": program,
        "instructions": instructions,
        "tools": tools,
        "different": changed,
    })
}

fn short(hash: &str) -> &str {
    hash.get(..DIGITS).unwrap_or(hash)
}
