//! `hardline pin approve`.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use hardline_guard::pin::Difference;
use hardline_proxy::launch::known::Programs;

use super::{Choice, PATIENCE, shown};

/// Pin what a server lists now
///
/// Without tools, all that it listed last, its instructions, and the executable that it would be started
/// with: what is not listed any more is forgotten. A session that runs takes it up at once.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    choice: Choice,

    /// The server's instructions, and no tools but those that are named
    #[arg(long)]
    instructions: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let Choice { server, tools, place } = &args.choice;
    let files = place.files()?;
    let read = files.read()?;
    read.check(server)?;
    let differences = read.differences(server);
    let is_instructions = |it: &Difference| matches!(it, Difference::Instructions { .. });
    for tool in tools {
        if !differences.iter().any(|it| !is_instructions(it) && it.tool() == tool) {
            bail!(
                "tool `{}` of `{}` is as it was pinned, or was never listed",
                shown(tool),
                shown(server)
            );
        }
    }
    let is_all = tools.is_empty() && !args.instructions;
    let is_meant = |it: &&Difference| match it {
        _ if is_all => true,
        Difference::Instructions { .. } => args.instructions,
        it => tools.iter().any(|tool| tool == it.tool()),
    };
    let approved: Vec<&Difference> = differences.iter().filter(is_meant).collect();
    let mut output = io::stdout().lock();
    if !approved.is_empty() {
        files.lock.update(server, PATIENCE, |lock| {
            for difference in &approved {
                if is_instructions(difference) {
                    let listed = read.listed.instructions(server);
                    listed.map_or(Ok(()), |it| lock.approve_instructions(server, it))?;
                    continue;
                }
                match read.listed.tool(server, difference.tool()) {
                    Some(tool) => lock.approve(server, tool)?,
                    None => {
                        lock.forget_tool(server, difference.tool());
                    }
                }
            }
            Ok(())
        })?;
    }
    for difference in &approved {
        writeln!(output, "approved: {}", difference.to_string().replace('\n', "\n  "))?;
    }
    let refused = read.programs.refused(server).filter(|_| is_all);
    if let Some(program) = refused {
        Programs::remember(&files.programs, server, program, PATIENCE)?;
        writeln!(output, "approved: executable {}", shown(&program.path.to_string_lossy()))?;
    }
    if approved.is_empty() && refused.is_none() {
        writeln!(output, "everything is as it was pinned")?;
    }
    Ok(ExitCode::SUCCESS)
}
