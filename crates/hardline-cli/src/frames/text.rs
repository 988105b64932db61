//! Text output: one row per frame, printed at once.

use std::fmt::Write as _;
use std::io::{self, Write};

use hardline_wire::excerpt::Excerpt;

use super::Printer;
use super::report::{Kind, Report};

#[derive(Debug, Default)]
pub(super) struct TextPrinter {
    frames: u64,
    invalid: u64,
}

/// Limit on the ids shown per frame.
const SHOWN_IDS: usize = 5;
/// Limits on a shown id and method, in bytes.
const SHOWN_ID: usize = 24;
const SHOWN_METHOD: usize = 60;
/// Bytes shown before and after an error.
const SHOWN_BEFORE: usize = 24;
const SHOWN_AFTER: usize = 24;

impl Printer for TextPrinter {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{:>12} {:>10}  {:<14}  {:<8}  what", "offset", "length", "kind", "id")
    }

    fn frame(&mut self, out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
        self.frames += 1;
        self.invalid += u64::from(!report.is_valid());
        write_row(out, report, "")
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Self { frames, invalid } = self;
        let plural = if *frames == 1 { "" } else { "s" };
        writeln!(out, "{frames} frame{plural}, {} valid, {invalid} not", *frames - *invalid)
    }
}

fn write_row(out: &mut dyn Write, report: &Report<'_>, indent: &str) -> io::Result<()> {
    let kind = format!("{indent}{}", report.kind.as_str());
    let mut all = report.ids();
    let ids: Vec<_> = all.by_ref().take(SHOWN_IDS).map(|id| id.to_string()).collect();
    // The iterator is lazy, so a line with millions of ids stays cheap.
    let more = if all.next().is_some() { ",…" } else { "" };
    let ids = if ids.is_empty() { "-".to_owned() } else { ids.join(",") };
    let ids = format!("{}{more}", Excerpt::of_json(&ids, SHOWN_ID));
    let Report { offset, length, .. } = report;
    let row = format!("{offset:>12} {length:>10}  {kind:<14}  {ids:<8}  {}", what(report));
    writeln!(out, "{}", row.trim_end())?;
    if let Some(near) = near(report) {
        writeln!(out, "{:>52}{near}", "")?;
    }
    let elements = report.elements.iter().flatten();
    elements.into_iter().try_for_each(|element| write_row(out, element, "- "))
}

fn what(report: &Report<'_>) -> String {
    let mut what = String::new();
    if let Some(method) = &report.method {
        // Writing to a string cannot fail.
        let _ = write!(what, "{}", Excerpt::new(method.as_bytes(), SHOWN_METHOD));
    }
    if let Some(elements) = &report.elements {
        let _ = write!(what, "{} elements", elements.len());
    }
    if let Some(error) = &report.error {
        let _ = write!(what, "{} {}, at byte {}", error.code, error.reason, error.offset);
    }
    what
}

/// Returns the text around an error.
fn near(report: &Report<'_>) -> Option<String> {
    let error = report.error.as_ref().filter(|_| report.kind == Kind::Invalid)?;
    let at = usize::try_from(error.offset).ok()?;
    let mut start = at.saturating_sub(SHOWN_BEFORE);
    // Do not start in the middle of a UTF-8 character.
    while start < at && report.bytes.get(start).is_some_and(|byte| byte & 0xc0 == 0x80) {
        start += 1;
    }
    let before = report.bytes.get(start..at)?;
    let after = report.bytes.get(at..)?;
    let after = after.get(..SHOWN_AFTER).unwrap_or(after);
    let more = if at + after.len() < report.bytes.len() { "…" } else { "" };
    let lead = if start == 0 { "" } else { "…" };
    let (before, after) = (Excerpt::new(before, SHOWN_BEFORE), Excerpt::new(after, SHOWN_AFTER));
    Some(format!("{lead}{before} »{after}{more}"))
}
