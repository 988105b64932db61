//! The HTTP headers of 2026-07-28 that repeat parts of a request's body.
//!
//! Routers read headers, servers read bodies; if the two differ, one of them is deceived. Here
//! headers are made from a body ([`standard_headers`], [`ParamHeaders::headers`]) and compared with
//! it ([`verify_standard_headers`], [`ParamHeaders::verify`]) as the specification asks: names
//! without regard to case, values exactly, integers by number, `Mcp-Name` and `Mcp-Param-*` after
//! decoding. Finding a header by name, and what becomes of a request that fails, is the caller's.

mod param;
mod value;

pub use param::{AnnotationError, ParamHeader, ParamHeaders};
pub use value::{decode_value, encode_value};

use std::borrow::Cow;

use thiserror::Error;

use crate::message::Request;

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

/// Makes the headers that every request carries, from what its body has.
///
/// # Errors
///
/// [`HeaderError::InvalidCharacter`] if the method or the version cannot be a header's value.
pub fn standard_headers(request: &Request<'_>) -> Result<Vec<Header>, HeaderError> {
    let mut headers = Vec::new();
    if let Some(version) = protocol_version(request) {
        headers.push((PROTOCOL_VERSION.into(), plain(PROTOCOL_VERSION, &version)?));
    }
    headers.push((METHOD.into(), plain(METHOD, &request.method)?));
    if let Some(name) = name(request) {
        headers.push((NAME.into(), encode_value(&name).into_owned()));
    }
    Ok(headers)
}

/// Compares the headers that every request carries with its body. `find` returns the value of a
/// header, whatever the case of its name.
///
/// # Errors
///
/// [`HeaderError`], for which the answer is `400` with code `-32020`.
pub fn verify_standard_headers<'h>(
    request: &Request<'_>,
    mut find: impl FnMut(&str) -> Option<&'h [u8]>,
) -> Result<(), HeaderError> {
    let version = protocol_version(request);
    let expected = [(PROTOCOL_VERSION, version), (METHOD, Some(request.method.clone()))];
    for (header, expected) in expected {
        let header_error = |error: fn(String) -> HeaderError| error(header.to_owned());
        let value = find(header).ok_or_else(|| header_error(HeaderError::Missing))?;
        let value =
            value::plain_text(value).ok_or_else(|| header_error(HeaderError::InvalidCharacter))?;
        if expected.is_none_or(|expected| expected != value) {
            return Err(header_error(HeaderError::Mismatch));
        }
    }
    let Some(name) = name(request) else { return Ok(()) };
    let value = find(NAME).ok_or_else(|| HeaderError::Missing(NAME.into()))?;
    if decode_value(NAME, value)? != name {
        return Err(HeaderError::Mismatch(NAME.into()));
    }
    Ok(())
}

/// The protocol version that a request names in its body.
pub fn protocol_version<'a>(request: &Request<'a>) -> Option<Cow<'a, str>> {
    request.params?.get("_meta")?.get(PROTOCOL_VERSION_META)?.as_str()
}

/// What [`NAME`] repeats, for the methods that have it.
fn name<'a>(request: &Request<'a>) -> Option<Cow<'a, str>> {
    let member = match &*request.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    request.params?.get(member)?.as_str()
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

#[cfg(test)]
mod tests;
