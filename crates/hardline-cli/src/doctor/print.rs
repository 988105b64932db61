//! How it is shown.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde_json::json;

use super::report::{File, Report, Status};
use crate::terminal::Pieces;

pub(super) fn text(out: &mut dyn Write, report: &Report) -> Result<()> {
    let width = report.checks.iter().map(|check| check.title.chars().count()).max().unwrap_or(0);
    for check in &report.checks {
        let color = style(check.status);
        let name = check.status.name();
        let mut lines = check.detail.lines().map(shown);
        let first = lines.next().unwrap_or_default();
        let title = shown(&check.title);
        writeln!(out, "{color}{name}{color:#}  {title:width$}  {first}")?;
        for line in lines {
            writeln!(out, "      {:width$}  {line}", "")?;
        }
    }
    let failures = report.count(Status::Fail);
    let fixable = report.files.iter().flat_map(File::fixable).count();
    match (failures, fixable) {
        (0, _) => writeln!(out, "all is well")?,
        (1, 0) => writeln!(out, "1 problem")?,
        (_, 0) => writeln!(out, "{failures} problems")?,
        _ => writeln!(out, "problems: {failures}; hardline doctor --fix mends {fixable}")?,
    }
    Ok(())
}

pub(super) fn json(out: &mut dyn Write, report: &Report) -> Result<()> {
    let checks: Vec<_> = report
        .checks
        .iter()
        .map(|check| {
            json!({
                "id": check.id,
                "title": check.title,
                "status": check.status.name(),
                "detail": check.detail,
            })
        })
        .collect();
    let clients: Vec<_> = report
        .files
        .iter()
        .map(|file| {
            let servers: Vec<_> = file
                .servers
                .iter()
                .map(|server| {
                    json!({
                        "name": server.name,
                        "kind": server.kind,
                        "command": server.command,
                        "fixable": server.is_fixable,
                    })
                })
                .collect();
            json!({
                "client": file.target.client,
                "path": file.target.path.display().to_string(),
                "servers": servers,
            })
        })
        .collect();
    let count = |status| report.count(status);
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "checks": checks,
        "clients": clients,
        "summary": {
            "pass": count(Status::Pass),
            "warn": count(Status::Warn),
            "fail": count(Status::Fail),
            "skip": count(Status::Skip),
        },
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

/// Names in configurations can hold anything.
fn shown(text: &str) -> String {
    Pieces::new(text.as_bytes(), true).first(usize::MAX, false)
}

fn style(status: Status) -> Style {
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    match status {
        Status::Pass => color(AnsiColor::Green),
        Status::Warn => color(AnsiColor::Yellow),
        Status::Fail => color(AnsiColor::Red).bold(),
        Status::Skip => Style::new().dimmed(),
    }
}
