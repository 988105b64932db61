//! `hardline pin forget`.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use hardline_proxy::launch::known::Programs;
use hardline_proxy::pins;

use super::{Choice, PATIENCE, shown};

/// Remove the pins of a server; its next session pins anew
#[derive(Debug, clap::Args)]
pub(super) struct PinForgetArgs {
    #[command(flatten)]
    choice: Choice,
}

pub(super) fn run(args: &PinForgetArgs) -> Result<ExitCode> {
    let Choice { server, tools, pins } = &args.choice;
    let files = pins.files()?;
    let read = files.read()?;
    read.check(server)?;
    // Checked before anything changes.
    let unknown = tools.iter().find(|tool| read.lock.tool(server, tool).is_none());
    if let Some(tool) = unknown {
        bail!("tool `{}` of `{}` is not pinned", shown(tool), shown(server));
    }
    if !tools.is_empty() {
        files.lock.update(server, PATIENCE, |lock| {
            for tool in tools {
                lock.forget_tool(server, tool);
            }
            Ok(())
        })?;
    } else if read.lock.has_server(server) {
        files.lock.forget(server, PATIENCE)?;
    }
    let mut output = io::stdout().lock();
    if tools.is_empty() {
        if read.listed.has_server(server) {
            files.listed.forget(server, PATIENCE)?;
            // A launch id would otherwise connect the server with pins that are gone.
        }
        pins::forget_launches(&files.state, server, PATIENCE)?;
        Programs::forget(&files.programs, server, PATIENCE)?;
        writeln!(output, "forgotten: {}", shown(server))?;
    }
    for tool in tools {
        writeln!(output, "forgotten: {} of {}", shown(tool), shown(server))?;
    }
    Ok(ExitCode::SUCCESS)
}
