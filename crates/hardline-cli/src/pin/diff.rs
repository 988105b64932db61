//! `hardline pin diff`.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use hardline_guard::tools::shell_word;
use hardline_proxy::launch::known::Program;
use hardline_wire::excerpt::Excerpt;
use serde_json::json;

use super::difference::Difference;
use super::{Format, Pins, Query, shown};
use crate::json;

/// Show differences between pins and current definitions
///
/// Compares what each server listed last, and the executable it was to start with, with the pins.
/// Nothing is shortened, and new tools are shown with their definition.
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
        Format::Json => print_json(&mut output, &pins, &servers)?,
        Format::Text if servers.is_empty() => writeln!(output, "everything matches the pins")?,
        Format::Text => {
            for server in &servers {
                let differences = pins.differences(server);
                print(&mut output, &pins, server, &differences, pins.programs.refused(server))?;
                let server = shown(&shell_word(server));
                writeln!(output, "  approve with: hardline pin approve {server}{lock}")?;
            }
        }
    }
    Ok(if servers.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Returns true if something of a server waits for approval.
pub(super) fn has_any(pins: &Pins, server: &str) -> bool {
    !pins.differences(server).is_empty() || pins.programs.refused(server).is_some()
}

/// Prints differences of a server and its refused executable, whole.
pub(super) fn print(
    output: &mut impl Write,
    pins: &Pins,
    server: &str,
    differences: &[Difference<'_>],
    refused: Option<&Program>,
) -> io::Result<()> {
    writeln!(output, "{}", shown(server))?;
    if let Some(now) = refused {
        let path = now.path.to_string_lossy();
        let path = Excerpt::new(path.as_bytes(), usize::MAX);
        let before = pins.programs.get(server).map_or("", |it| &*it.sha256);
        writeln!(output, "  executable {path}:\n    sha256: {before} → {}", now.sha256)?;
    }
    for difference in differences {
        writeln!(output, "  {}", difference.text().replace('\n', "\n  "))?;
    }
    Ok(())
}

/// Prints one document, difference by difference, so that only one of them is in memory.
fn print_json(output: &mut impl Write, pins: &Pins, servers: &[String]) -> io::Result<()> {
    output.write_all(b"{\n  \"differences\": [")?;
    let mut is_first = true;
    let mut add = |document: &str| {
        let comma = if is_first { "" } else { "," };
        is_first = false;
        write!(output, "{comma}\n    {}", document.replace('\n', "\n    "))
    };
    for server in servers {
        if let Some(now) = pins.programs.refused(server) {
            let before = pins.programs.get(server).map(|it| &it.sha256);
            let document = json!({"server": server, "kind": "executable", "path": now.path, "before": before, "now": now.sha256});
            add(&json::pretty(&document)?)?;
        }
        for difference in pins.differences(server) {
            add(&json::pretty(&difference.document(server))?)?;
        }
    }
    let end = if is_first { "]\n}\n" } else { "\n  ]\n}\n" };
    output.write_all(end.as_bytes())
}
