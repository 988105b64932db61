//! One JSON document: `{"findings":[…],"scanned":{…},"notScanned":{…},"errors":[…]}`.

use std::io::{self, Write};

use hardline_guard::Direction;
use serde::Serialize;
use serde_json::Value;

use super::super::kind::Kind;
use super::super::report::{File, KINDS, Located, ScanTotals};
use super::Printer;
use crate::json;

#[derive(Default)]
pub(super) struct Json {
    has_some: bool,
}

/// A finding; the order of its members is part of the format.
#[derive(Serialize)]
struct Finding<'a> {
    rule: &'a str,
    severity: &'a str,
    file: &'a str,
    line: u64,
    column: u64,
    direction: Option<&'a str>,
    path: Option<&'a str>,
    offset: u64,
    length: u64,
    excerpt: &'a str,
    detail: &'a str,
    action: &'a str,
}

#[derive(Serialize)]
struct Scanned {
    files: u64,
    texts: Option<u64>,
    binaries: Option<u64>,
    transcripts: Option<u64>,
    recordings: Option<u64>,
    bytes: u64,
    frames: u64,
    strings: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NotScanned {
    overlong_bytes: u64,
    refused_frames: u64,
    cut_lines: u64,
    not_text_bytes: u64,
}

impl Printer for Json {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"findings\":[")
    }

    fn finding(&mut self, out: &mut dyn Write, file: &File, located: &Located) -> io::Result<()> {
        let comma = if self.has_some { "," } else { "" };
        self.has_some = true;
        let value = Finding {
            rule: located.rule.name(),
            severity: located.severity.name(),
            file: &file.path,
            line: located.place.line,
            column: located.place.column,
            direction: located.direction.map(Direction::name),
            path: located.path.as_deref(),
            offset: located.place.offset,
            length: located.length,
            excerpt: &located.excerpt,
            detail: &located.detail,
            action: located.action.name(),
        };
        // One finding per line, so that a long report can be read with line tools.
        write!(out, "{comma}\n{}", json::line(&value)?)
    }

    fn end(&mut self, out: &mut dyn Write, totals: &ScanTotals) -> io::Result<()> {
        let of = |kind| KINDS.into_iter().zip(totals.files).find(|it| it.0 == kind).map(|it| it.1);
        let scanned = serde_json::to_string(&Scanned {
            files: totals.all_files(),
            texts: of(Kind::Text),
            binaries: of(Kind::Binary),
            transcripts: of(Kind::Transcript),
            recordings: of(Kind::Recording),
            bytes: totals.bytes,
            frames: totals.frames,
            strings: totals.strings,
        })?;
        let not_scanned = serde_json::to_string(&NotScanned {
            overlong_bytes: totals.overlong,
            refused_frames: totals.refused,
            cut_lines: totals.cut_lines,
            not_text_bytes: totals.not_text,
        })?;
        let errors: Vec<Value> = totals
            .unread
            .iter()
            .map(|(file, error)| serde_json::json!({"file": file.path, "error": error}))
            .collect();
        let errors = json::line(&errors)?;
        writeln!(
            out,
            "\n],\n\"scanned\":{scanned},\n\"notScanned\":{not_scanned},\n\"errors\":{errors}}}"
        )
    }
}
