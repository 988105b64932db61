//! Encodings that hide a message from a search for its text.

use std::fmt::Write;

/// An encoder.
pub type Encode = fn(&str) -> String;

/// All encoders.
pub const ENCODERS: &[Encode] =
    &[json_string, unicode, percent, percent_all, decimal, hexadecimal, named, base64];

/// Encodes as a JSON string, with its quotes.
pub fn json_string(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}

/// Encodes every character as `\u` escapes.
pub fn unicode(text: &str) -> String {
    each(
        text,
        |_| true,
        |out, char| {
            for unit in char.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        },
    )
}

/// Encodes punctuation and non-ASCII characters as percent escapes.
pub(super) fn percent(text: &str) -> String {
    each(text, is_sign, push_percent)
}

/// Encodes every character as percent escapes.
pub(super) fn percent_all(text: &str) -> String {
    each(text, |_| true, push_percent)
}

/// Encodes punctuation and non-ASCII characters as decimal references of HTML.
pub(super) fn decimal(text: &str) -> String {
    each(text, is_sign, |out, char| {
        let _ = write!(out, "&#{};", u32::from(char));
    })
}

/// Encodes punctuation and non-ASCII characters as hexadecimal references of HTML.
pub(super) fn hexadecimal(text: &str) -> String {
    each(text, is_sign, |out, char| {
        let _ = write!(out, "&#x{:x};", u32::from(char));
    })
}

/// Encodes the characters that HTML must escape, by name.
pub(super) fn named(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Encodes as Base64 with padding.
pub fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut result = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let digit = DIGITS.get((bits >> (18 - 6 * index) & 63) as usize);
            // A chunk of n bytes has n + 1 digits; the rest is padding.
            let is_there = index <= chunk.len();
            result.push(digit.filter(|_| is_there).map_or('=', |digit| char::from(*digit)));
        }
    }
    result
}

fn is_sign(char: char) -> bool {
    !char.is_ascii_alphanumeric()
}

fn push_percent(out: &mut String, char: char) {
    for byte in char.encode_utf8(&mut [0; 4]).bytes() {
        let _ = write!(out, "%{byte:02X}");
    }
}

fn each(text: &str, which: fn(char) -> bool, write: fn(&mut String, char)) -> String {
    let mut result = String::new();
    for char in text.chars() {
        if which(char) { write(&mut result, char) } else { result.push(char) }
    }
    result
}
