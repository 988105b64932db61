//! `hardline pin approve`.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use hardline_guard::pin::Lock;
use hardline_proxy::launch::known::Programs;

use super::difference::Difference;
use super::{Choice, Files, PATIENCE, Pins, diff, shown};

/// Approve what a server lists now, and pin it
///
/// Without tools: approves the last tool list, the instructions, and the executable of the last
/// start that was refused. Tools that are no longer listed lose their pin. Running sessions use the
/// new pins at once. Everything is shown first, as `hardline pin diff` shows it; what cannot be
/// shown is not approved.
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
    for tool in tools {
        // A misspelled name would otherwise look like success.
        if !differences.iter().any(|it| it.tool() == Some(tool)) {
            bail!(
                "tool `{}` of `{}` has not changed since it was pinned, or was never listed",
                shown(tool),
                shown(server)
            );
        }
    }
    let is_all = tools.is_empty() && !args.instructions;
    let is_meant = |it: &Difference<'_>| match it.tool() {
        _ if is_all => true,
        None => args.instructions,
        Some(name) => tools.iter().any(|tool| tool == name),
    };
    let approved: Vec<_> = differences.into_iter().filter(is_meant).collect();
    // Approving one tool must not also approve a new executable.
    let refused = read.programs.refused(server).filter(|_| is_all);
    let mut output = io::stdout().lock();
    if approved.is_empty() && refused.is_none() {
        writeln!(output, "nothing to approve: everything matches the pins")?;
        return Ok(ExitCode::SUCCESS);
    }
    // Shown before it is approved. The error is no longer that of a closed pipe, which would count
    // as success.
    diff::print(&mut output, &read, server, &approved, refused)
        .and_then(|()| output.flush())
        .map_err(|error| anyhow!("nothing is approved, because it cannot be shown: {error}"))?;
    if !approved.is_empty() {
        pin(&files, &read, server, &approved)?;
        let (count, s) = (approved.len(), if approved.len() == 1 { "" } else { "s" });
        writeln!(output, "approved: {count} difference{s}")?;
    }
    if let Some(program) = refused {
        Programs::remember(&files.programs, server, program, PATIENCE)?;
        writeln!(output, "approved: the executable")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Pins what the differences show, unless the pins of the server are not those that they were
/// computed from.
fn pin(files: &Files, read: &Pins, server: &str, approved: &[Difference<'_>]) -> Result<()> {
    let mut is_stale = false;
    // One locked update, so that a running session never sees half of it.
    files.lock.update(server, PATIENCE, |lock| {
        let own = |lock: &Lock| lock.select(|it| it == server);
        is_stale = own(lock) != own(&read.lock);
        if is_stale {
            return Ok(());
        }
        for difference in approved {
            match difference {
                Difference::Instructions { now, .. } => lock.approve_instructions(server, now)?,
                Difference::Changed { now, .. } | Difference::New { now } => {
                    lock.approve(server, now)?;
                }
                // The server does not list the tool any more, so the approval removes its pin.
                Difference::Gone { before } => {
                    lock.forget_tool(server, before.name());
                }
            }
        }
        Ok(())
    })?;
    if is_stale {
        bail!("nothing is approved: another process changed the pins meanwhile; run this again");
    }
    Ok(())
}
