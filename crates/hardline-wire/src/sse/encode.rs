//! Encoding of events.

use std::fmt::Write;

use thiserror::Error;

/// A comment that clients skip. It keeps an idle stream from being closed.
pub const KEEP_ALIVE: &str = ":\n\n";

/// An event to send.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an event has these four fields")]
pub struct OutgoingEvent<'a> {
    /// Type of the event; without one, clients take it for a `message`.
    pub name: Option<&'a str>,
    /// Data of the event. CR and CRLF reach the client as `\n`: an event stream cannot distinguish
    /// them.
    pub data: &'a str,
    /// Id from which a client can resume after this event.
    pub id: Option<&'a str>,
    /// Delay before clients reconnect.
    pub retry_ms: Option<u64>,
}

/// Encodes an event.
///
/// # Errors
///
/// [`EncodeError`] if the name or the id has a character that the format cannot carry.
pub fn encode_event(event: &OutgoingEvent<'_>) -> Result<String, EncodeError> {
    // A line break would let a name or id add fields of its own.
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
        // Writing to a string cannot fail.
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

/// Error for values that an event stream cannot carry. The caller is always the cause.
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
