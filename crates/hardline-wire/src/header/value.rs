//! Header values: plain text, or encoded if plain text is not possible.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::HeaderError;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Encodes `text` as the value of `Mcp-Name` or `Mcp-Param-*`.
///
/// Plain text stays unchanged: visible ASCII, spaces and tabs, no blank at either end, and no
/// resemblance to an encoded value.
pub fn encode_value(text: &str) -> Cow<'_, str> {
    // A plain value that looks encoded would be decoded by the receiver.
    let is_plain = plain_text(text.as_bytes()) == Some(text) && encoded_part(text).is_none();
    if is_plain {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{PREFIX}{}{SUFFIX}", STANDARD.encode(text)))
}

/// Decodes the value of `Mcp-Name` or `Mcp-Param-*`; `header` is its name, for the error.
///
/// # Errors
///
/// [`HeaderError::InvalidCharacter`] or [`HeaderError::InvalidEncoding`].
pub fn decode_value<'a>(header: &str, value: &'a [u8]) -> Result<Cow<'a, str>, HeaderError> {
    let Some(text) = plain_text(value) else {
        return Err(HeaderError::InvalidCharacter(header.into()));
    };
    let Some(encoded) = encoded_part(text) else {
        return Ok(Cow::Borrowed(text));
    };
    let decoded = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.map(Cow::Owned).ok_or_else(|| HeaderError::InvalidEncoding(header.into()))
}

/// Returns the value without the blanks around it, if it has only characters that a header may
/// have.
pub(super) fn plain_text(value: &[u8]) -> Option<&str> {
    let text = str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')).then_some(text)
}

fn encoded_part(text: &str) -> Option<&str> {
    text.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}
