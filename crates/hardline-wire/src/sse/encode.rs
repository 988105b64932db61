//! Writing events.

use std::fmt::Write;

use thiserror::Error;

/// A comment that clients skip, to keep a quiet stream from looking dead.
pub const KEEP_ALIVE: &str = ":\n\n";

/// An event to be sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an event has these four fields")]
pub struct OutgoingEvent<'a> {
    /// What kind it is; clients take an event without one for a `message`.
    pub name: Option<&'a str>,
    /// Its data. CR and CRLF reach the client as `\n`: an event stream cannot tell them apart.
    pub data: &'a str,
    /// What a client names when it resumes after this event.
    pub id: Option<&'a str>,
    /// How long clients should wait before they reconnect.
    pub retry_ms: Option<u64>,
}

/// Encodes an event.
///
/// # Errors
///
/// [`EncodeError`] if the name or the id has a character that the format cannot carry.
pub fn encode_event(event: &OutgoingEvent<'_>) -> Result<String, EncodeError> {
    let breaks_line = |text: &str| text.contains(['\r', '\n']);
    if event.name.is_some_and(breaks_line) {
        return Err(EncodeError::Name);
    }
    if event.id.is_some_and(|id| breaks_line(id) || id.contains('\0')) {
        return Err(EncodeError::Id);
    }
    let mut text = String::with_capacity(event.data.len() + 64);
    if let Some(name) = event.name {
        push_field(&mut text, "event", name);
    }
    if let Some(id) = event.id {
        push_field(&mut text, "id", id);
    }
    if let Some(retry_ms) = event.retry_ms {
        // Writing to a string does not fail.
        let _ = writeln!(text, "retry: {retry_ms}");
    }
    let data = event.data.replace("\r\n", "\n");
    for line in data.split(['\n', '\r']) {
        push_field(&mut text, "data", line);
    }
    text.push('\n');
    Ok(text)
}

fn push_field(text: &mut String, name: &str, value: &str) {
    text.push_str(name);
    text.push_str(": ");
    text.push_str(value);
    text.push('\n');
}

/// What an event stream cannot carry. Always the caller's doing.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The name has a line end.
    #[error("event name with a line end")]
    Name,
    /// The id has a line end or a NUL.
    #[error("event id with a line end or a NUL")]
    Id,
}
