//! Numbers: only their grammar, because nothing is computed with them.

use super::{JsonError, Reason};

/// Limit on the bytes of a number. Python refuses integers of more than 4300 digits, and with them the
/// whole message.
pub const MAX_NUMBER_BYTES: usize = 4096;

/// Returns the position after the number that starts at `pos` with a digit or a minus sign.
pub(super) fn skip_number(bytes: &[u8], mut pos: usize) -> Result<usize, JsonError> {
    let start = pos;
    if bytes.get(pos) == Some(&b'-') {
        pos += 1;
    }
    if bytes.get(pos) == Some(&b'0') {
        pos += 1;
        // JSON forbids leading zeros.
        if let Some(b'0'..=b'9') = bytes.get(pos) {
            return Err(JsonError::new(Reason::InvalidNumber, pos));
        }
    } else {
        pos = skip_digits(bytes, pos)?;
    }
    if bytes.get(pos) == Some(&b'.') {
        pos = skip_digits(bytes, pos + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(pos) {
        pos += 1;
        if let Some(b'+' | b'-') = bytes.get(pos) {
            pos += 1;
        }
        pos = skip_digits(bytes, pos)?;
    }
    if pos - start > MAX_NUMBER_BYTES {
        return Err(JsonError::new(Reason::LongNumber, start));
    }
    Ok(pos)
}

/// Skips one or more digits.
fn skip_digits(bytes: &[u8], mut pos: usize) -> Result<usize, JsonError> {
    match bytes.get(pos) {
        Some(b'0'..=b'9') => pos += 1,
        Some(_) => return Err(JsonError::new(Reason::InvalidNumber, pos)),
        None => return Err(JsonError::new(Reason::Ended, pos)),
    }
    while let Some(b'0'..=b'9') = bytes.get(pos) {
        pos += 1;
    }
    Ok(pos)
}
