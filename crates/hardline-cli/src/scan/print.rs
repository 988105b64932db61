//! Findings for people, for programs, and for code scanning.

use std::io::{self, Write};

use hardline_guard::{Rule, Severity};
use serde_json::{Value, json};

use super::{Format, Located, Seen};

pub(super) trait Printer {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    fn finding(&mut self, out: &mut dyn Write, located: &Located) -> io::Result<()>;
    fn end(&mut self, out: &mut dyn Write, seen: &Seen) -> io::Result<()>;
}

pub(super) fn printer(format: Format) -> Box<dyn Printer> {
    match format {
        Format::Text => Box::new(Text::default()),
        Format::Json => Box::new(Json::default()),
        Format::Sarif => Box::new(Sarif::default()),
    }
}

/// A few lines for each finding, and what was looked at.
#[derive(Default)]
struct Text {
    count: u64,
}

impl Printer for Text {
    fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn finding(&mut self, out: &mut dyn Write, located: &Located) -> io::Result<()> {
        self.count += 1;
        let Located { file, line, offset, finding } = located;
        let (rule, severity, detail) = (finding.rule, finding.severity, &finding.detail);
        writeln!(out, "{file}:{line}: {severity} {rule}: {detail}")?;
        if let Some(path) = &finding.path {
            writeln!(out, "    at {path}, byte {offset}, {} bytes", finding.length)?;
        } else {
            writeln!(out, "    at byte {offset}, {} bytes", finding.length)?;
        }
        writeln!(out, "    {}", finding.excerpt)
    }

    fn end(&mut self, out: &mut dyn Write, seen: &Seen) -> io::Result<()> {
        let count = self.count;
        write!(out, "{count} findings in {} bytes of {} files", seen.bytes, seen.files)?;
        if 0 < seen.frames {
            write!(out, ", {} frames", seen.frames)?;
        }
        writeln!(out)?;
        if 0 < seen.skipped {
            writeln!(out, "not looked at, being over a limit: {} bytes", seen.skipped)?;
        }
        if 0 < seen.not_utf8 {
            writeln!(out, "no UTF-8, taken for question marks: {} bytes", seen.not_utf8)?;
        }
        if 0 < count {
            writeln!(out, "hardline scan --explain RULE tells more of a rule")?;
        }
        Ok(())
    }
}

/// `{"findings":[…],"scanned":{…}}`.
#[derive(Default)]
struct Json {
    has_some: bool,
}

impl Printer for Json {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"findings\":[")
    }

    fn finding(&mut self, out: &mut dyn Write, located: &Located) -> io::Result<()> {
        let comma = if self.has_some { "," } else { "" };
        self.has_some = true;
        let finding = &located.finding;
        let value = json!({
            "rule": finding.rule.name(),
            "severity": finding.severity.name(),
            "file": located.file,
            "line": located.line,
            "path": finding.path,
            "offset": located.offset,
            "length": finding.length,
            "excerpt": finding.excerpt,
            "detail": finding.detail,
        });
        write!(out, "{comma}\n{value}")
    }

    fn end(&mut self, out: &mut dyn Write, seen: &Seen) -> io::Result<()> {
        let scanned = json!({
            "files": seen.files, "bytes": seen.bytes, "frames": seen.frames,
            "skipped": seen.skipped, "notUtf8": seen.not_utf8,
        });
        writeln!(out, "\n],\"scanned\":{scanned}}}")
    }
}

/// SARIF 2.1.0.
#[derive(Default)]
struct Sarif {
    has_some: bool,
}

impl Printer for Sarif {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let rules: Vec<Value> = Rule::ALL
            .iter()
            .map(|rule| json!({"id": rule.name(), "shortDescription": {"text": rule.title()}}))
            .collect();
        let driver = json!({
            "name": "hardline", "version": env!("CARGO_PKG_VERSION"), "rules": rules,
        });
        let schema = "https://json.schemastore.org/sarif-2.1.0.json";
        write!(
            out,
            "{{\"$schema\":\"{schema}\",\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"driver\":{driver}}},\"results\":["
        )
    }

    fn finding(&mut self, out: &mut dyn Write, located: &Located) -> io::Result<()> {
        let comma = if self.has_some { "," } else { "" };
        self.has_some = true;
        let finding = &located.finding;
        let level = match finding.severity {
            Severity::Low => "note",
            Severity::Medium => "warning",
            Severity::High | Severity::Critical => "error",
        };
        let region = json!({
            "startLine": located.line, "byteOffset": located.offset, "byteLength": finding.length,
        });
        let value = json!({
            "ruleId": finding.rule.name(),
            "level": level,
            "message": {"text": format!("{}: {}", finding.detail, finding.excerpt)},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": located.file}, "region": region,
            }}],
            "properties": {"severity": finding.severity.name(), "path": finding.path},
        });
        write!(out, "{comma}\n{value}")
    }

    fn end(&mut self, out: &mut dyn Write, _: &Seen) -> io::Result<()> {
        writeln!(out, "\n]}}]}}")
    }
}
