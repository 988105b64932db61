//! Prints the report as text or JSON.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde_json::json;

use super::report::{File, Report, Status};
use crate::json;
use crate::terminal::Pieces;

pub(super) fn text(out: &mut dyn Write, report: &Report) -> Result<()> {
    let width = report.checks.iter().map(|check| check.title.chars().count()).max().unwrap_or(0);
    for check in &report.checks {
        let color = style(check.status);
        let name = check.status.name();
        // Paths and errors may contain what a terminal obeys.
        let mut lines = check.detail.lines().map(shown);
        let first = lines.next().unwrap_or_default();
        let title = shown(&check.title);
        writeln!(out, "{color}{name}{color:#}  {title:width$}  {first}")?;
        for line in lines {
            writeln!(out, "      {:width$}  {line}", "")?;
        }
    }
    let failures = report.count(Status::Fail);
    // Only problems that `--fix` can repair deserve the hint.
    let fixable = report.files.iter().flat_map(File::fixable).count();
    write!(out, "{}", counted(failures, "problem"))?;
    match report.count(Status::Warn) {
        0 => {}
        warnings => write!(out, ", {}", counted(warnings, "warning"))?,
    }
    match fixable {
        0 => writeln!(out)?,
        _ => writeln!(out, "; hardline doctor --fix repairs {fixable}")?,
    }
    Ok(())
}

/// Formats a count with its noun in singular or plural.
pub(super) fn counted(count: usize, noun: &str) -> String {
    // A noun such as "entry" ends in "ies".
    let stem = noun.strip_suffix('y');
    match (count, stem) {
        (1, _) => format!("1 {noun}"),
        (0, None) => format!("no {noun}s"),
        (_, None) => format!("{count} {noun}s"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
    }
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
                        "broken": server.is_broken,
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
    writeln!(out, "{}", json::pretty(&document)?)?;
    Ok(())
}

/// Escapes a text: names in configurations can contain control characters.
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
