//! Text output: a few lines for each finding, and a summary of what was scanned and what was not.

use std::collections::HashMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use bytesize::ByteSize;
use hardline_guard::{Rule, Severity};

use super::super::kind::Kind;
use super::super::report::{File, KINDS, Located, ScanTotals};
use super::Printer;

/// Limit on shown findings of one rule in a binary file, because there are thousands.
const SHOWN_OF_BINARY: u64 = 3;

pub(super) struct Text {
    has_colors: bool,
    /// Binary file of the last finding, and its number of findings of each rule.
    binary: Option<(String, HashMap<Rule, u64>)>,
    /// Rule to mention in the hint about `--explain`.
    example: Option<(Severity, Rule)>,
}

impl Text {
    pub(super) fn new(has_colors: bool) -> Self {
        Self { has_colors, binary: None, example: None }
    }

    fn style(&self, style: Style) -> Style {
        if self.has_colors { style } else { Style::new() }
    }

    /// Counts a finding of a binary file. Returns true if the limit is exceeded and the finding is left out.
    fn count_finding(
        &mut self,
        out: &mut dyn Write,
        file: &File,
        located: &Located,
    ) -> io::Result<bool> {
        // Findings come file by file, so another name ends the last file.
        if self.binary.as_ref().is_none_or(|(name, _)| *name != file.name) {
            self.end_binary(out)?;
            let is_binary = file.kind == Kind::Binary;
            self.binary = is_binary.then(|| (file.name.clone(), HashMap::new()));
        }
        let Some((_, counts)) = &mut self.binary else { return Ok(false) };
        // Binary data matches by chance, and the hundredth match tells nothing new.
        let count = counts.entry(located.rule).or_default();
        *count += 1;
        Ok(*count > SHOWN_OF_BINARY)
    }

    /// Prints how many findings of a binary file were left out.
    fn end_binary(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some((name, counts)) = self.binary.take() else { return Ok(()) };
        let mut counts: Vec<_> = counts.into_iter().collect();
        // A hash map has no stable order.
        counts.sort_unstable();
        for (rule, count) in counts.into_iter().filter(|(_, count)| *count > SHOWN_OF_BINARY) {
            let more = count - SHOWN_OF_BINARY;
            writeln!(
                out,
                "{name}: {more} more of {rule} in this binary file; --as text lists them"
            )?;
        }
        Ok(())
    }
}

impl Printer for Text {
    fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn wants_snippet(&self, file: &File, rule: Rule) -> bool {
        let counts = self.binary.as_ref().filter(|(name, _)| *name == file.name);
        let count = counts.and_then(|(_, counts)| counts.get(&rule));
        count.is_none_or(|count| *count < SHOWN_OF_BINARY)
    }

    fn finding(&mut self, out: &mut dyn Write, file: &File, located: &Located) -> io::Result<()> {
        if self.count_finding(out, file, located)? {
            return Ok(());
        }
        let Located { rule, severity, detail, place, length, snippet, .. } = located;
        // The hint names the worst rule.
        self.example = self.example.max(Some((*severity, *rule)));
        let color = self.style(color(*severity));
        let bold = self.style(Style::new().bold());
        let dim = self.style(Style::new().dimmed());
        let position = format!("{}:{}:{}", file.name, place.line, place.column);
        writeln!(
            out,
            "{bold}{position}{bold:#}: {color}{severity}{color:#} {bold}{rule}{bold:#}: {detail}"
        )?;
        let (before, found, after) = (&snippet.before, &snippet.found, &snippet.after);
        writeln!(out, "    {before}{color}{found}{color:#}{after}")?;
        writeln!(out, "    {color}{}{color:#}", snippet.marks())?;
        let mut at = format!("byte {}, {}", place.offset, bytes(*length));
        if let Some(path) = &located.path {
            at = format!("{path}, {at}");
        }
        if let Some(direction) = located.direction {
            at = format!("{at}, {}", direction.name());
        }
        writeln!(out, "    {dim}at {at}; action: {}{dim:#}", located.action.name())
    }

    fn end(&mut self, out: &mut dyn Write, totals: &ScanTotals) -> io::Result<()> {
        self.end_binary(out)?;
        writeln!(out, "{}", found(totals))?;
        writeln!(out, "scanned: {}", scanned(totals))?;
        writeln!(out, "not scanned: {}", not_scanned(totals))?;
        if let Some((_, rule)) = self.example {
            writeln!(out, "more about a rule: hardline scan --explain {rule}")?;
        }
        Ok(())
    }
}

/// Returns the color of a severity.
pub(crate) fn color(severity: Severity) -> Style {
    let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    match severity {
        Severity::Critical => color(AnsiColor::Red).bold(),
        Severity::High => color(AnsiColor::Red),
        Severity::Medium => color(AnsiColor::Yellow),
        Severity::Low => color(AnsiColor::Cyan),
    }
}

/// Returns the number of findings, in total and of each severity.
fn found(totals: &ScanTotals) -> String {
    let all = counted(totals.all_findings(), "finding", "findings");
    let counts = Severity::ALL.into_iter().zip(totals.findings).rev().filter(|(_, it)| *it > 0);
    let counts: Vec<_> = counts.map(|(severity, count)| format!("{count} {severity}")).collect();
    if counts.is_empty() { all } else { format!("{all}: {}", counts.join(", ")) }
}

fn scanned(totals: &ScanTotals) -> String {
    let mut parts = Vec::new();
    for (kind, count) in KINDS.into_iter().zip(totals.files).filter(|(_, count)| *count > 0) {
        let (one, many) = kind.names();
        parts.push(counted(count, one, many));
    }
    if parts.is_empty() {
        return "nothing".to_owned();
    }
    parts.push(size(totals.bytes));
    if totals.frames > 0 {
        parts.push(counted(totals.frames, "frame", "frames"));
        parts.push(counted(totals.strings, "string", "strings"));
    }
    parts.join(", ")
}

fn not_scanned(totals: &ScanTotals) -> String {
    let mut parts = Vec::new();
    let mut add = |count: u64, part: String| {
        if count > 0 {
            parts.push(part);
        }
    };
    let unread = totals.unread.len() as u64;
    add(unread, counted(unread, "file that could not be read", "files that could not be read"));
    add(totals.overlong, format!("{} of lines over the size limit", size(totals.overlong)));
    let refused =
        counted(totals.refused, "line that is not a message", "lines that are not messages");
    let refused = format!("the strings of {refused}");
    add(totals.refused, refused);
    let cut = counted(
        totals.cut_lines,
        "very long line as a whole (it was scanned in pieces)",
        "very long lines as a whole (they were scanned in pieces)",
    );
    add(totals.cut_lines, cut);
    let not_text = counted(
        totals.not_text,
        "byte that is not text (scanned as a question mark)",
        "bytes that are not text (scanned as question marks)",
    );
    add(totals.not_text, not_text);
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn bytes(count: u64) -> String {
    counted(count, "byte", "bytes")
}

fn size(count: u64) -> String {
    if count < 1024 { bytes(count) } else { ByteSize::b(count).to_string() }
}
