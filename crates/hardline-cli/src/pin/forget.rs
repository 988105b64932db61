//! `hardline pin forget`.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use hardline_proxy::launch::known::Programs;
use hardline_proxy::pins;

use super::{PATIENCE, Place, shown};

/// Forget a server: it is pinned anew the next time
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The server
    server: String,

    /// Only these tools, which then count as new
    tools: Vec<String>,

    #[command(flatten)]
    place: Place,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let (files, server) = (args.place.files()?, args.server.as_str());
    let read = files.read()?;
    read.check(server)?;
    let unknown = args.tools.iter().find(|tool| read.lock.tool(server, tool).is_none());
    if let Some(tool) = unknown {
        bail!("tool `{}` of `{}` is not pinned", shown(tool), shown(server));
    }
    if read.lock.has_server(server) {
        pins::update(&files.lock, PATIENCE, |lock| {
            for tool in &args.tools {
                lock.forget_tool(server, tool);
            }
            if args.tools.is_empty() {
                lock.forget(server);
            }
            Ok(())
        })?;
    }
    let mut output = io::stdout().lock();
    if args.tools.is_empty() {
        if read.listed.has_server(server) {
            pins::update(&files.listed, PATIENCE, |listed| {
                listed.forget(server);
                Ok(())
            })?;
        }
        Programs::forget(&files.programs, server, PATIENCE)?;
        writeln!(output, "forgotten: {}", shown(server))?;
    }
    for tool in &args.tools {
        writeln!(output, "forgotten: {} of {}", shown(tool), shown(server))?;
    }
    Ok(ExitCode::SUCCESS)
}
