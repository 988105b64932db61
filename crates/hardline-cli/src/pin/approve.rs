//! `hardline pin approve`.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use hardline_guard::pin::Difference;
use hardline_proxy::launch::known::Programs;

use super::{Choice, PATIENCE, shown};

/// Approve what a server lists now, and pin it
///
/// Without tools: approves the last tool list, the instructions, and the executable of the last
/// start that was refused. Tools that are no longer listed lose their pin. Running sessions use the
/// new pins at once.
#[derive(Debug, clap::Args)]
pub(super) struct PinApproveArgs {
    #[command(flatten)]
    choice: Choice,

    /// Approve the server's instructions, and only those tools that are named
    #[arg(long)]
    instructions: bool,
}

pub(super) fn run(args: &PinApproveArgs) -> Result<ExitCode> {
    let Choice { server, tools, pins } = &args.choice;
    let files = pins.files()?;
    let read = files.read()?;
    read.check(server)?;
    let differences = read.differences(server);
    let is_instructions = |it: &Difference| matches!(it, Difference::Instructions { .. });
    for tool in tools {
        // A misspelled name would otherwise look like success.
        if !differences.iter().any(|it| !is_instructions(it) && it.tool() == tool) {
            bail!(
                "tool `{}` of `{}` has not changed since it was pinned, or was never listed",
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
        // One locked update, so that a running session never sees half of it.
        files.lock.update(server, PATIENCE, |lock| {
            for difference in &approved {
                if is_instructions(difference) {
                    let listed = read.listed.instructions(server);
                    listed.map_or(Ok(()), |it| lock.approve_instructions(server, it))?;
                    continue;
                }
                match read.listed.tool(server, difference.tool()) {
                    Some(tool) => lock.approve(server, tool)?,
                    // The server does not list the tool any more, so the approval removes its pin.
                    None => {
                        lock.forget_tool(server, difference.tool());
                    }
                }
            }
            Ok(())
        })?;
    }
    for difference in &approved {
        writeln!(output, "approved: {}", describe(difference))?;
    }
    // Approving one tool must not also approve a new executable.
    let refused = read.programs.refused(server).filter(|_| is_all);
    if let Some(program) = refused {
        Programs::remember(&files.programs, server, program, PATIENCE)?;
        writeln!(output, "approved: executable {}", shown(&program.path.to_string_lossy()))?;
    }
    if approved.is_empty() && refused.is_none() {
        writeln!(output, "nothing to approve: everything matches the pins")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Describes an approved difference. Its own text would say "is not what was pinned", which is no
/// longer true.
fn describe(difference: &Difference) -> String {
    let indent = |diff: String| diff.replace('\n', "\n    ");
    match difference {
        Difference::Changed { tool, diff } => {
            format!("tool `{}`, changed:\n    {}", shown(tool), indent(diff.to_string()))
        }
        Difference::Instructions { diff } => {
            format!("the server's instructions, changed:\n    {}", indent(diff.to_string()))
        }
        Difference::New { tool } => format!("new tool `{}`", shown(tool)),
        Difference::Removed { tool } => format!("removal of tool `{}`", shown(tool)),
        _ => difference.to_string(),
    }
}
