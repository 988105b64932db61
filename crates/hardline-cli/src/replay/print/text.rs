//! Text output: the differences of each answer, and a summary.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use hardline_wire::excerpt::Excerpt;

use super::super::diff::{Change, What};
use super::super::file::RecordedSession;
use super::super::report::{About, Difference, Kind, Report};
use super::super::show::ShownValue;
use super::counted;
use super::json::start;

/// Limit on the shown changes of one message.
const MAX_CHANGES: usize = 20;
/// Limits on a shown name and path, in bytes.
const MAX_NAME: usize = 80;
const MAX_PATH: usize = 200;

/// Styles; without colors, empty ones.
struct Styles {
    bold: Style,
    old: Style,
    new: Style,
    bad: Style,
}

pub(in super::super) fn report(
    out: &mut dyn Write,
    report: &Report,
    has_colors: bool,
) -> io::Result<()> {
    let styles = Styles::new(has_colors);
    // Changes of one message form a group; whole-message differences stand alone.
    let is_part =
        |one: &Difference, next: &Difference| one.about == next.about && next.change.is_some();
    for group in report.differences.chunk_by(is_part) {
        for (index, difference) in group.iter().take(MAX_CHANGES).enumerate() {
            let Difference { about, kind, change, detail } = difference;
            match change {
                None => writeln!(out, "{}", sentence(about, *kind, detail, &styles))?,
                Some(change) => {
                    if index == 0 {
                        writeln!(out, "{}", title(about, &styles))?;
                    }
                    writeln!(out, "    {}", changed(change, &styles))?;
                }
            }
        }
        if group.len() > MAX_CHANGES {
            let more = counted(group.len() - MAX_CHANGES, "more change", "more changes");
            writeln!(out, "    and {more}; --format json has them")?;
        }
    }
    if report.more > 0 {
        writeln!(
            out,
            "and more differences: only the first {} are shown",
            report.differences.len()
        )?;
    }
    for note in &report.notes {
        writeln!(out, "note: {note}")?;
    }
    writeln!(out, "{}", summary(report, &styles))
}

pub(in super::super) fn list(out: &mut dyn Write, sessions: &[RecordedSession]) -> io::Result<()> {
    let width = sessions.iter().map(|it| it.id.len()).max().unwrap_or(0).min(MAX_NAME);
    for RecordedSession { id, since, client, server } in sessions {
        let id = Excerpt::new(id.as_bytes(), MAX_NAME).to_string();
        // A recording that was edited by hand may lack times.
        let time = since.map_or_else(|| "no time".to_owned(), start);
        writeln!(
            out,
            "{id:<width$}  {time}  lines: {client} from the client, {server} from the server"
        )?;
    }
    Ok(())
}

fn title(about: &About, styles: &Styles) -> String {
    let bold = styles.bold;
    let name = |name: &str| Excerpt::new(name.as_bytes(), MAX_NAME).to_string();
    let mut title = name(about.method.as_deref().unwrap_or("an answer"));
    if let Some(target) = &about.target {
        title = format!("{title} {}", name(target));
    }
    let id = about.id.as_ref().map(|id| format!(" (id {})", Excerpt::of_json(id, MAX_NAME)));
    format!("{bold}{title}{bold:#}{}", id.unwrap_or_default())
}

fn changed(change: &Change, styles: &Styles) -> String {
    let Styles { old, new, .. } = styles;
    let path = change.path.to_string();
    let path = Excerpt::of_json(&path, MAX_PATH);
    let show = |shown: Option<&ShownValue>| {
        shown.map_or_else(|| "(nothing)".to_owned(), |shown| shown.text.clone())
    };
    let (recorded, replayed) = (show(change.recorded.as_ref()), show(change.replayed.as_ref()));
    // The names alone would not show what has changed.
    let order = if change.what == What::Order { "another order: " } else { "" };
    let name = change.name.as_ref().map(|name| Excerpt::new(name.as_bytes(), MAX_NAME));
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    format!("{path}{name}: {order}{old}{recorded}{old:#} → {new}{replayed}{new:#}")
}

fn sentence(about: &About, kind: Kind, detail: &str, styles: &Styles) -> String {
    let bad = styles.bad;
    let what = match kind {
        Kind::ServerEnded => return format!("{bad}{detail}{bad:#}"),
        Kind::NoNotification => "a notification did not arrive",
        Kind::ExtraNotification => "a notification is not in the recording",
        Kind::NoRequest => "a request of the server did not arrive",
        Kind::ExtraRequest => "a request of the server is not in the recording",
        Kind::ExtraAnswer => "an answer is not in the recording",
        Kind::NoAnswer | Kind::Value(_) => detail,
    };
    let title = title(about, styles);
    let reason = if detail.is_empty() || detail == what { "" } else { detail };
    let comma = if reason.is_empty() { "" } else { ": " };
    format!("{title}: {bad}{what}{bad:#}{comma}{reason}")
}

/// Returns the summary line.
fn summary(report: &Report, styles: &Styles) -> String {
    let mut parts = vec![counted(report.requests, "request", "requests")];
    parts.push(format!("{} the same", report.same));
    if report.differing > 0 {
        let (bad, count) = (styles.bad, counted(report.differing, "differs", "differ"));
        parts.push(format!("{bad}{count}{bad:#}"));
    }
    if report.unanswered > 0 {
        parts.push(format!("{} without an answer in the recording", report.unanswered));
    }
    let other = |it: &&Difference| it.about.id.is_none() && it.kind != Kind::ServerEnded;
    // Differences without a request are not part of the counts above.
    let others = report.differences.iter().filter(other).count();
    if others > 0 {
        parts.push(counted(others, "other difference", "other differences"));
    }
    if report.differences.iter().any(|it| it.kind == Kind::ServerEnded) {
        parts.push("the server ended early".to_owned());
    }
    parts.join(", ")
}

impl Styles {
    fn new(has_colors: bool) -> Self {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        let style = |style: Style| if has_colors { style } else { Style::new() };
        Self {
            bold: style(Style::new().bold()),
            old: style(color(AnsiColor::Red)),
            new: style(color(AnsiColor::Green)),
            bad: style(color(AnsiColor::Red).bold()),
        }
    }
}
