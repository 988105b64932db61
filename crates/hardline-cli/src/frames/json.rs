//! JSON output: one document, written frame by frame.

use std::io::{self, Write};

use hardline_wire::encode::{push_id, push_json_string};
use hardline_wire::id::Id;

use super::Printer;
use super::report::Report;
use crate::json;

#[derive(Debug, Default)]
pub(super) struct JsonPrinter {
    has_frames: bool,
}

impl Printer for JsonPrinter {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"{\"frames\":[")
    }

    fn frame(&mut self, out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
        out.write_all(if self.has_frames { b",\n" } else { b"\n" })?;
        self.has_frames = true;
        let mut json = Vec::new();
        write_report(&mut json, report)?;
        // A method name can contain characters that control a terminal.
        out.write_all(json::escaped(&String::from_utf8_lossy(&json)).as_bytes())
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(if self.has_frames { b"\n]}\n" } else { b"]}\n" })
    }
}

fn write_report(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    let Report { offset, length, kind, method, error, elements, .. } = report;
    write!(out, r#"{{"offset":{offset},"length":{length},"kind":"{}""#, kind.as_str())?;
    let first = report.ids().next().map_or("null".to_owned(), |id| json_id(&id));
    write!(out, r#","id":{first}"#)?;
    // `ids` appears only with several ids, so that `id` stays the simple case.
    if report.ids().nth(1).is_some() {
        write!(out, r#","ids":[{first}"#)?;
        report.ids().skip(1).try_for_each(|id| write!(out, ",{}", json_id(&id)))?;
        write!(out, "]")?;
    }
    match method {
        None => write!(out, r#","method":null"#)?,
        Some(method) => write!(out, r#","method":{}"#, json_string(method))?,
    }
    match error {
        None => write!(out, r#","error":null"#)?,
        Some(error) => write!(
            out,
            r#","error":{{"code":{},"reason":{},"offset":{}}}"#,
            error.code,
            json_string(&error.reason),
            error.offset
        )?,
    }
    if let Some(elements) = elements {
        write!(out, r#","elements":["#)?;
        for (index, element) in elements.iter().enumerate() {
            out.write_all(if index == 0 { b"" } else { b"," })?;
            write_report(out, element)?;
        }
        write!(out, "]")?;
    }
    write!(out, "}}")
}

fn json_id(id: &Id<'_>) -> String {
    let mut json = String::new();
    push_id(&mut json, id);
    json
}

fn json_string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_json_string(&mut json, text);
    json
}
