//! `hardline pin diff`.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use hardline_guard::pin::Difference;
use hardline_guard::tools::shell_word;
use serde_json::{Value, json};

use super::{Format, Pins, Query, shown};
use crate::json;

/// Show differences between pins and current definitions
///
/// Compares what each server listed last, and the executable it was to start with, with the pins.
#[derive(Debug, clap::Args)]
pub(super) struct PinDiffArgs {
    #[command(flatten)]
    query: Query,
}

pub(super) fn run(args: &PinDiffArgs) -> Result<ExitCode> {
    let (pins, servers) = args.query.read()?;
    let servers: Vec<String> =
        servers.into_iter().filter(|server| has_any(&pins, server)).collect();
    let lock = args.query.pins.lock.as_ref();
    let lock = lock.map_or(String::new(), |lock| {
        // The suggested command must use the same pins.
        format!(" --lock {}", shown(&shell_word(&lock.to_string_lossy())))
    });
    let mut output = io::stdout().lock();
    match args.query.format {
        Format::Json => {
            let all: Vec<Value> = servers.iter().flat_map(|it| document(&pins, it)).collect();
            writeln!(output, "{}", json::pretty(&json!({ "differences": all }))?)?;
        }
        Format::Text if servers.is_empty() => writeln!(output, "everything matches the pins")?,
        Format::Text => {
            for server in &servers {
                print(&mut output, &pins, server, &lock)?;
            }
        }
    }
    Ok(if servers.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Returns true if something of a server waits for approval.
pub(super) fn has_any(pins: &Pins, server: &str) -> bool {
    !pins.differences(server).is_empty() || pins.programs.refused(server).is_some()
}

fn print(output: &mut impl Write, pins: &Pins, server: &str, lock: &str) -> io::Result<()> {
    writeln!(output, "{}", shown(server))?;
    if let Some(now) = pins.programs.refused(server) {
        let path = shown(&now.path.to_string_lossy());
        let before = pins.programs.get(server).map_or("", |it| &*it.sha256);
        writeln!(output, "  executable {path}:\n    sha256: {before} → {}", now.sha256)?;
    }
    for difference in pins.differences(server) {
        writeln!(output, "  {}", difference.to_string().replace('\n', "\n  "))?;
    }
    writeln!(output, "  approve with: hardline pin approve {}{lock}", shown(&shell_word(server)))
}

fn document(pins: &Pins, server: &str) -> Vec<Value> {
    let program = pins.programs.refused(server).map(|now| {
        let before = pins.programs.get(server).map(|it| &it.sha256);
        json!({"server": server, "kind": "executable", "path": now.path, "before": before, "now": now.sha256})
    });
    let tools = pins.differences(server).into_iter().map(|it| {
        let kind = match it {
            Difference::Changed { .. } => "changed",
            Difference::New { .. } => "new",
            Difference::Instructions { .. } => "instructions",
            _ => "gone",
        };
        let tool = Some(it.tool()).filter(|_| kind != "instructions");
        json!({"server": server, "kind": kind, "tool": tool, "detail": it.to_string()})
    });
    program.into_iter().chain(tools).collect()
}
