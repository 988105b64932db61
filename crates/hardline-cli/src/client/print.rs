//! What servers send as people read it: text made harmless, everything else named and saved.

use std::io::{self, Write};

use bytesize::ByteSize;
use hardline_client::Error;
use hardline_client::connection::RawResult;
use hardline_wire::excerpt::Excerpt;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::save::Folder;
use super::visible::visible;
use crate::json::layout;
use crate::terminal::harmless;

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

/// What is shown as it was written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Structured {
    structured_content: Option<Box<RawValue>>,
}

impl Shown {
    /// Reads a result. One that had to be mended to be read keeps its structured content as it came.
    ///
    /// # Errors
    ///
    /// It is no result.
    pub(super) fn read(result: &RawResult) -> Result<Self, Error> {
        let mut shown: Self = result.parse("tools/call")?;
        if let Ok(as_it_came) = serde_json::from_str::<Structured>(result.get()) {
            shown.structured_content = as_it_came.structured_content;
        }
        Ok(shown)
    }

    pub(super) fn is_error(&self) -> bool {
        self.is_error
    }
}

/// Shows a result, with nothing in it that a terminal obeys or hides.
pub(super) fn text(out: &mut dyn Write, shown: &Shown, folder: &mut Folder) -> io::Result<()> {
    for content in &shown.content {
        block(out, content, folder)?;
    }
    left_out(out, folder)?;
    match &shown.structured_content {
        // As a rule the content says the same.
        Some(structured) if shown.content.is_empty() => {
            line(out, &visible(&layout::indented(structured.get())))
        }
        _ => Ok(()),
    }
}

/// Shows text as it came, and nothing else.
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

/// Shows one piece of content: of a result, or of a message.
pub(super) fn block(out: &mut dyn Write, block: &Value, folder: &mut Folder) -> io::Result<()> {
    match textual(block) {
        Some(text) => line(out, &visible(text)),
        None => describe(block, folder).map_or(Ok(()), |it| line(out, &it)),
    }
}

/// Says once what was left out.
pub(super) fn left_out(out: &mut dyn Write, folder: &Folder) -> io::Result<()> {
    folder.left_out().map_or(Ok(()), |it| line(out, &it))
}

/// Saves content that is no text, and tells where it is now. `None` if it is left out.
pub(super) fn saved(what: &str, mime: &str, base64: &str, folder: &mut Folder) -> Option<String> {
    let kind = if mime.is_empty() { String::new() } else { format!(", {}", name(mime)) };
    Some(match folder.save(base64, mime)? {
        Ok((path, size)) => {
            let size = ByteSize::b(size as u64).display().iec();
            format!("[{what}{kind}, {size}: {}]", harmless(&path.to_string_lossy()))
        }
        Err(error) => format!("[{what}{kind}: not saved, {}]", harmless(&format!("{error:#}"))),
    })
}

/// A name or an address, fit for a terminal.
pub(super) fn name(text: &str) -> String {
    Excerpt::new(text.as_bytes(), MAX_NAME_BYTES).to_string()
}

/// Writes a text that ends with a line end, whether it has one or not.
pub(super) fn line(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{end}")
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
fn describe(block: &Value, folder: &mut Folder) -> Option<String> {
    fn field<'a>(block: &'a Value, name: &str) -> &'a str {
        block.get(name).and_then(Value::as_str).unwrap_or_default()
    }
    let kind = field(block, "type");
    match kind {
        "image" | "audio" => saved(kind, field(block, "mimeType"), field(block, "data"), folder),
        "resource_link" => {
            let title = [field(block, "title"), field(block, "name")];
            let title = title.into_iter().find(|it| !it.is_empty()).unwrap_or_default();
            Some(format!("[link to {}: {}]", name(title), name(field(block, "uri"))))
        }
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            let what = format!("resource {}", name(field(resource, "uri")));
            saved(&what, field(resource, "mimeType"), field(resource, "blob"), folder)
        }
        _ => Some(format!("[content of type {}]", name(kind))),
    }
}
