//! The HTTP headers of 2026-07-28 that repeat parts of a request's body.
//!
//! Routers read headers, servers read bodies; if the two differ, one of them is deceived. Here
//! headers are made from a body ([`standard_headers`], [`ParamHeaders::headers`]) and compared with
//! it ([`verify_standard_headers`], [`ParamHeaders::verify`]) as the specification asks: names
//! without regard to case, values exactly, integers by number, `Mcp-Name` and `Mcp-Param-*` after
//! decoding. Finding a header by name, refusing one that was sent twice with different values, and
//! what becomes of a request that fails, are the caller's.

mod param;
mod schema;
mod value;

pub use param::{AnnotationError, ParamHeader, ParamHeaders};
pub use value::{decode_value, encode_value};

use std::borrow::Cow;

use thiserror::Error;

use crate::encode::code;
use crate::message::Message;

/// The header that names the protocol version.
pub const PROTOCOL_VERSION: &str = "MCP-Protocol-Version";
/// The header that names the method.
pub const METHOD: &str = "Mcp-Method";
/// The header that names the tool, prompt, resource or task.
pub const NAME: &str = "Mcp-Name";
/// What the names of headers that repeat a tool's parameters begin with.
pub const PARAM_PREFIX: &str = "Mcp-Param-";

/// The member of `params._meta` that [`PROTOCOL_VERSION`] repeats.
pub const PROTOCOL_VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

/// A header: its name and its value, fit to be sent.
pub type Header = (Cow<'static, str>, String);

/// Makes the headers that every message to a server carries, from what its body has.
///
/// # Errors
///
/// [`HeaderError::InvalidCharacter`] if the method or the version cannot be a header's value.
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

/// Compares the headers of a request with its body. `find` returns the value of a header, whatever
/// the case of its name.
///
/// Of other messages the specification says nothing: what their headers repeat is compared, and
/// nothing is missed.
///
/// # Errors
///
/// [`HeaderError`], for which the answer is `400` with its [`code`](HeaderError::code).
pub fn verify_standard_headers<'h>(
    message: &Message<'_>,
    mut find: impl FnMut(&str) -> Option<&'h [u8]>,
) -> Result<(), HeaderError> {
    let is_request = matches!(message, Message::Request(_));
    let version = protocol_version(message);
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
        (None, _) | (Some(None), None) => Ok(()),
        (Some(None), Some(_)) => Err(HeaderError::Unexpected(NAME.into())),
        (Some(Some(_)), None) => Err(HeaderError::Missing(NAME.into())),
        (Some(Some(name)), Some(value)) if decode_value(NAME, value)? != name => {
            Err(HeaderError::Mismatch(NAME.into()))
        }
        (Some(Some(_)), Some(_)) => Ok(()),
    }
}

/// The protocol version that a message names in its body.
pub fn protocol_version<'a>(message: &Message<'a>) -> Option<Cow<'a, str>> {
    message.params()?.get("_meta")?.get(PROTOCOL_VERSION_META)?.as_str()
}

/// What [`NAME`] repeats: `None` for a message that does not have it, `Some(None)` if the body lacks
/// what it should have.
#[expect(clippy::option_option, reason = "the two ways to have no name are told apart")]
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

/// Takes a value that has no encoded form.
fn plain(header: &str, text: &str) -> Result<String, HeaderError> {
    match value::plain_text(text.as_bytes()) {
        Some(same) if same == text => Ok(text.to_owned()),
        _ => Err(HeaderError::InvalidCharacter(header.into())),
    }
}

/// Why headers and body do not agree. Always the sender's doing. Names the header.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum HeaderError {
    /// The body has a value that a header must repeat, and it does not.
    #[error("header {0} is missing")]
    Missing(String),
    /// The body of a request names no protocol version.
    #[error("no protocol version in params._meta")]
    NoVersion,
    /// The header is there, but the body has no value for it.
    #[error("header {0} has no counterpart in the body")]
    Unexpected(String),
    /// The two values differ.
    #[error("header {0} differs from the body")]
    Mismatch(String),
    /// The value has a character that a header must not have.
    #[error("header {0} has an invalid character")]
    InvalidCharacter(String),
    /// The value begins as an encoded one but is none.
    #[error("header {0} is not valid Base64 of UTF-8")]
    InvalidEncoding(String),
    /// The body's value cannot be repeated in a header: no string, truth value or safe integer.
    #[error("the value for header {0} is neither a string nor a safe integer nor a truth value")]
    Unsupported(String),
}

impl HeaderError {
    /// The code of the error reply.
    pub fn code(&self) -> i64 {
        match self {
            Self::NoVersion => code::INVALID_PARAMS,
            _ => code::HEADER_MISMATCH,
        }
    }
}

#[cfg(test)]
mod tests;
