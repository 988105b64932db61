//! A tool's result as people read it.

use std::io::{self, Write};

use bytesize::ByteSize;
use hardline_wire::excerpt::Excerpt;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::terminal::is_obeyed;

/// How much of a name or an address is shown.
const MAX_NAME_BYTES: usize = 200;

/// What of a result is shown. Other versions may have other kinds of content.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: bool,
}

impl Shown {
    pub(super) fn is_error(&self) -> bool {
        self.is_error
    }
}

/// Shows a result, with nothing in it that a terminal obeys.
pub(super) fn text(out: &mut dyn Write, shown: &Shown) -> io::Result<()> {
    for block in &shown.content {
        match textual(block) {
            Some(text) => line(out, &harmless(text))?,
            None => line(out, &describe(block))?,
        }
    }
    match &shown.structured_content {
        // As a rule the content says the same.
        Some(structured) if shown.content.is_empty() => {
            let value: Value = serde_json::from_str(structured.get())?;
            line(out, &crate::json::pretty(&value)?)
        }
        _ => Ok(()),
    }
}

/// Shows text as it came.
pub(super) fn raw(out: &mut dyn Write, shown: &Shown) -> io::Result<()> {
    for block in &shown.content {
        if let Some(text) = textual(block) {
            out.write_all(text.as_bytes())?;
        }
    }
    match &shown.structured_content {
        Some(structured) if shown.content.is_empty() => line(out, structured.get()),
        _ => Ok(()),
    }
}

/// The text of a block of text, or of a resource that is in the result.
fn textual(block: &Value) -> Option<&str> {
    match block.get("type")?.as_str()? {
        "text" => block.get("text")?.as_str(),
        "resource" => block.get("resource")?.get("text")?.as_str(),
        _ => None,
    }
}

/// What a block is that is no text.
fn describe(block: &Value) -> String {
    let field = |block: &Value, name: &str| {
        let text = block.get(name).and_then(Value::as_str).unwrap_or_default();
        Excerpt::new(text.as_bytes(), MAX_NAME_BYTES).to_string()
    };
    let size = |base64: &str| ByteSize::b(base64.len() as u64 / 4 * 3).display().iec().to_string();
    let data = |block: &Value, name: &str| {
        size(block.get(name).and_then(Value::as_str).unwrap_or_default())
    };
    let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "image" | "audio" => {
            format!("[{kind}, {}, {}]", field(block, "mimeType"), data(block, "data"))
        }
        "resource_link" => format!("[link to {}: {}]", field(block, "name"), field(block, "uri")),
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            format!("[resource {}, {}]", field(resource, "uri"), data(resource, "blob"))
        }
        _ => format!("[content of type {}]", field(block, "type")),
    }
}

/// Text whose lines and tabs stay and whose other controls are shown.
fn harmless(text: &str) -> String {
    let is_plain = |char: char| matches!(char, '\n' | '\t') || !is_obeyed(char);
    let text = text.replace("\r\n", "\n");
    if text.chars().all(is_plain) {
        return text;
    }
    let mut result = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            _ if is_plain(char) => result.push(char),
            _ => result.push_str(&format!("\\u{{{:x}}}", u32::from(char))),
        }
    }
    result
}

/// Writes a text that ends with a line end, whether it has one or not.
fn line(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{end}")
}
