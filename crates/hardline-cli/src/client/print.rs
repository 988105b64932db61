//! Prints results of servers: text is escaped, other content is named and saved.

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

/// Limit on a shown name or address, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// Fields of a result that are shown. Other protocol versions may have other kinds of content.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: bool,
}

/// Fields that are shown exactly as written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Structured {
    structured_content: Option<Box<RawValue>>,
}

impl Shown {
    /// Parses a result. If it had to be repaired, its structured content still stays as written.
    ///
    /// # Errors
    ///
    /// It is not a result.
    pub(super) fn read(result: &RawResult) -> Result<Self, Error> {
        let mut shown: Self = result.parse("tools/call")?;
        // Parsing may have repaired the result; structured content is shown as written.
        if let Ok(as_it_came) = serde_json::from_str::<Structured>(result.get()) {
            shown.structured_content = as_it_came.structured_content;
        }
        Ok(shown)
    }

    pub(super) fn is_error(&self) -> bool {
        self.is_error
    }
}

/// Prints a result, without characters that control a terminal or hide text.
pub(super) fn text(out: &mut dyn Write, shown: &Shown, folder: &mut Folder) -> io::Result<()> {
    for content in &shown.content {
        block(out, content, folder)?;
    }
    left_out(out, folder)?;
    match &shown.structured_content {
        // As a rule, the content has the same information.
        Some(structured) if shown.content.is_empty() => {
            line(out, &visible(&layout::indented(structured.get())))
        }
        _ => Ok(()),
    }
}

/// Prints text unchanged, and nothing else.
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

/// Prints one block of a result or a message.
pub(super) fn block(out: &mut dyn Write, block: &Value, folder: &mut Folder) -> io::Result<()> {
    match textual(block) {
        Some(text) => line(out, &visible(text)),
        None => describe(block, folder).map_or(Ok(()), |it| line(out, &it)),
    }
}

/// Prints one line about files that were left out.
pub(super) fn left_out(out: &mut dyn Write, folder: &Folder) -> io::Result<()> {
    folder.left_out().map_or(Ok(()), |it| line(out, &it))
}

/// Saves content that is not text. Returns a line with its path, or `None` if it was left out.
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

/// Escapes and cuts a name or an address.
pub(super) fn name(text: &str) -> String {
    Excerpt::new(text.as_bytes(), MAX_NAME_BYTES).to_string()
}

/// Prints a text, and a line end if it has none.
pub(super) fn line(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{end}")
}

/// Returns the text of a text block or of an embedded resource.
fn textual(block: &Value) -> Option<&str> {
    match block.get("type")?.as_str()? {
        "text" => block.get("text")?.as_str(),
        "resource" => block.get("resource")?.get("text")?.as_str(),
        _ => None,
    }
}

/// Describes a block that is not text.
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
        // Newer protocol versions may add types.
        _ => Some(format!("[content of type {}]", name(kind))),
    }
}
