//! SARIF 2.1.0 output, for code-scanning services.

use std::io::{self, Write};

use hardline_guard::{Direction, Rule, Severity, explain};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::super::report::{File, Located, ScanTotals};
use super::Printer;
use crate::json::line;

/// Characters that a path needs encoded. A colon is one of them, because it could end a scheme.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

#[derive(Default)]
pub(super) struct Sarif {
    has_some: bool,
}

impl Printer for Sarif {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        // All rules, so that `ruleIndex` is the same in every report.
        let rules: Vec<Value> = Rule::ALL.iter().map(|rule| describe(*rule)).collect();
        let driver = json!({
            "name": "hardline",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        });
        write!(
            out,
            "{{\"$schema\":\"{SCHEMA}\",\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"driver\":{}}},\n\
             \"columnKind\":\"unicodeCodePoints\",\"results\":[",
            line(&driver)?
        )
    }

    fn finding(&mut self, out: &mut dyn Write, file: &File, located: &Located) -> io::Result<()> {
        let comma = if self.has_some { "," } else { "" };
        self.has_some = true;
        let Located { rule, severity, place, length, detail, excerpt, .. } = located;
        let value = json!({
            "ruleId": rule.name(),
            "ruleIndex": Rule::ALL.iter().position(|it| it == rule),
            "level": level(*severity),
            "message": {"text": format!("{detail}: {excerpt}")},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": uri(&file.path)},
                "region": {
                    "startLine": place.line,
                    "startColumn": place.column,
                    "byteOffset": place.offset,
                    "byteLength": length,
                },
            }}],
            "properties": {
                "severity": severity.name(),
                "path": located.path,
                "direction": located.direction.map(Direction::name),
                "action": located.action.name(),
            },
        });
        write!(out, "{comma}\n{}", line(&value)?)
    }

    fn end(&mut self, out: &mut dyn Write, totals: &ScanTotals) -> io::Result<()> {
        let notifications: Vec<Value> = totals
            .unread
            .iter()
            .map(|(file, error)| {
                json!({
                    "level": "error",
                    "message": {"text": format!("cannot read {}: {error}", file.name)},
                    "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(&file.path)}}}],
                })
            })
            .collect();
        let invocation = json!({
            "executionSuccessful": totals.unread.is_empty(),
            "toolExecutionNotifications": notifications,
        });
        writeln!(out, "\n],\n\"invocations\":[{}]}}]}}", line(&invocation)?)
    }
}

/// Describes a rule in SARIF.
fn describe(rule: Rule) -> Value {
    let text = explain::explain(rule);
    json!({
        "id": rule.name(),
        "shortDescription": {"text": rule.title()},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": level(rule.severity())},
        "properties": {
            "tags": ["security", rule.group()],
            "security-severity": score(rule.severity()),
        },
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "note",
        Severity::Medium => "warning",
        Severity::High | Severity::Critical => "error",
    }
}

/// Returns the score that services sort by: 9 and more is critical, 7 high, 4 medium.
fn score(severity: Severity) -> &'static str {
    match severity {
        // Services rank results by such a number, in the bands of CVSS.
        Severity::Low => "2.0",
        Severity::Medium => "5.0",
        Severity::High => "8.0",
        Severity::Critical => "9.5",
    }
}

/// Returns a path as a URI reference of RFC 3986.
fn uri(path: &str) -> String {
    if path == "-" {
        return "stdin".to_owned();
    }
    // A backslash is no separator in a URI.
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let has_drive = cfg!(windows) && path.get(1..3) == Some(":/");
    let mut result = String::new();
    if path.starts_with('/') {
        result.push_str("file://");
    } else if has_drive {
        result.push_str("file:///");
    }
    result.extend(utf8_percent_encode(&path, ENCODED));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("docs/a b.md"), "docs/a%20b.md");
        assert_eq!(uri("/tmp/é#1?"), "file:///tmp/%C3%A9%231%3F");
        assert_eq!(uri("a:b"), "a%3Ab");
        assert_eq!(uri("-"), "stdin");
    }
}
