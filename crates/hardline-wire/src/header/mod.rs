//! HTTP headers of 2026-07-28 that repeat parts of a request's body.
//!
//! Routers read headers, servers read bodies; if the two differ, one of them is deceived. This
//! module creates headers from a body ([`standard_headers`], [`ParamHeaders::headers`]) and
//! compares them with it ([`verify_standard_headers`], [`ParamHeaders::verify`]) as the
//! specification requires: names ignore case, values must be equal, integers are compared as
//! numbers, `Mcp-Name` and `Mcp-Param-*` after decoding. The caller finds a header by name, refuses
//! one that was sent twice with different values, and answers a request that fails.

mod param;
mod schema;
mod value;

pub use param::{AnnotationError, ParamHeader, ParamHeaders};
pub use value::{decode_value, encode_value};

use std::borrow::Cow;

use thiserror::Error;

use crate::encode::code;
use crate::message::Message;

/// Header with the protocol version.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// Header with the method.
pub const METHOD: &str = "Mcp-Method";
/// Header with the name of the tool, prompt, resource or task.
pub const NAME: &str = "Mcp-Name";
/// Prefix of the headers that repeat a tool's parameters.
pub const PARAM_PREFIX: &str = "Mcp-Param-";

/// Member of `params._meta` that [`PROTOCOL_VERSION`] repeats.
pub const PROTOCOL_VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

/// A header: its name and its value, ready to be sent.
pub type Header = (Cow<'static, str>, String);

/// Creates the standard headers of a message to a server from its body.
///
/// # Errors
///
/// [`HeaderError::InvalidCharacter`] if the method or the version cannot be a header value.
pub fn standard_headers(message: &Message<'_>) -> Result<Vec<Header>, HeaderError> {
    let mut headers = Vec::new();
    if let Some(version) = protocol_version(message) {
        headers.push((PROTOCOL_VERSION.into(), plain(PROTOCOL_VERSION, &version)?));
    }
    if let Some(method) = message.method() {
        headers.push((METHOD.into(), plain(METHOD, method)?));
    }
    if let Some(Some(name)) = name(message) {
        headers.push((NAME.into(), encode_value(&name).into_owned()));
    }
    Ok(headers)
}

/// Compares the headers of a request with its body. `find` returns the value of a header and must
/// ignore the case of its name.
///
/// For other messages the specification has no rule: headers that are present are compared, and
/// none is required.
///
/// # Errors
///
/// [`HeaderError`]. Answer with status `400` and its [`code`](HeaderError::code).
pub fn verify_standard_headers<'h>(
    message: &Message<'_>,
    mut find: impl FnMut(&str) -> Option<&'h [u8]>,
) -> Result<(), HeaderError> {
    // Notifications need no headers, but those that they have must be true.
    let is_request = matches!(message, Message::Request(_));
    let version = protocol_version(message);
    // 2026-07-28 requires the version in the body of every request.
    if is_request && version.is_none() {
        return Err(HeaderError::NoVersion);
    }
    for (header, body) in [(PROTOCOL_VERSION, version.as_deref()), (METHOD, message.method())] {
        let Some(body) = body else { continue };
        match find(header).map(value::plain_text) {
            None if is_request => return Err(HeaderError::Missing(header.into())),
            None => {}
            Some(None) => return Err(HeaderError::InvalidCharacter(header.into())),
            Some(Some(value)) if value != body => return Err(HeaderError::Mismatch(header.into())),
            Some(Some(_)) => {}
        }
    }
    match (name(message), find(NAME)) {
        // For messages without a name, the specification has no rule for this header.
        (None, _) | (Some(None), None) => Ok(()),
        (Some(None), Some(_)) => Err(HeaderError::Unexpected(NAME.into())),
        (Some(Some(_)), None) => Err(HeaderError::Missing(NAME.into())),
        (Some(Some(name)), Some(value)) if decode_value(NAME, value)? != name => {
            Err(HeaderError::Mismatch(NAME.into()))
        }
        (Some(Some(_)), Some(_)) => Ok(()),
    }
}

/// Returns the protocol version that a message states in its body.
pub fn protocol_version<'a>(message: &Message<'a>) -> Option<Cow<'a, str>> {
    message.params()?.get("_meta")?.get(PROTOCOL_VERSION_META)?.as_str()
}

/// Returns the value that [`NAME`] repeats: `None` for a message that does not have the header,
/// `Some(None)` if the body lacks the value.
#[expect(clippy::option_option, reason = "a missing name and a missing rule are different")]
fn name<'a>(message: &Message<'a>) -> Option<Option<Cow<'a, str>>> {
    let Message::Request(request) = message else { return None };
    let member = match &*request.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    Some(request.params.and_then(|params| params.get(member)?.as_str()))
}

/// Checks a value that has no encoded form.
fn plain(header: &str, text: &str) -> Result<String, HeaderError> {
    match value::plain_text(text.as_bytes()) {
        // Blanks at the ends would be lost on the way.
        Some(same) if same == text => Ok(text.to_owned()),
        _ => Err(HeaderError::InvalidCharacter(header.into())),
    }
}

/// Error returned when headers and body do not agree. Names the header. The sender is always the
/// cause.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum HeaderError {
    /// The body has a value that a header must repeat, and the header is missing.
    #[error("header {0} is missing")]
    Missing(String),
    /// The body of a request names no protocol version.
    #[error("no protocol version in params._meta")]
    NoVersion,
    /// The header is present, but the body has no value for it.
    #[error("header {0} has no counterpart in the body")]
    Unexpected(String),
    /// The two values differ.
    #[error("header {0} differs from the body")]
    Mismatch(String),
    /// The value has a character that a header may not have.
    #[error("header {0} has an invalid character")]
    InvalidCharacter(String),
    /// The value begins like an encoded one but is not valid.
    #[error("header {0} is not valid Base64 of UTF-8")]
    InvalidEncoding(String),
    /// The value in the body cannot be repeated in a header: it is not a string, a boolean or a
    /// safe integer.
    #[error("the value for header {0} is neither a string nor a safe integer nor a boolean")]
    Unsupported(String),
}

impl HeaderError {
    /// Returns the code of the error reply.
    pub fn code(&self) -> i64 {
        match self {
            Self::NoVersion => code::INVALID_PARAMS,
            _ => code::HEADER_MISMATCH,
        }
    }
}

#[cfg(test)]
mod tests;
