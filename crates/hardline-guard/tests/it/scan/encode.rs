//! Encoders for planted messages.

use std::fmt::Write;

pub(super) fn json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Returns the content of a JSON string, without its quotes.
pub(super) fn escaped(text: &str) -> String {
    let quoted = json_string(text);
    quoted[1..quoted.len() - 1].to_owned()
}

/// Writes every character that `which` selects with `write`.
fn each(text: &str, which: impl Fn(char) -> bool, write: impl Fn(&mut String, char)) -> String {
    let mut result = String::new();
    for char in text.chars() {
        if which(char) { write(&mut result, char) } else { result.push(char) }
    }
    result
}

fn is_sign(char: char) -> bool {
    !char.is_ascii_alphanumeric()
}

pub(super) fn unicode(text: &str) -> String {
    each(
        text,
        |_| true,
        |out, it| {
            for unit in it.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").unwrap();
            }
        },
    )
}

pub(super) fn unicode_signs(text: &str) -> String {
    each(
        text,
        |it| is_sign(it) && it.is_ascii(),
        |out, it| {
            write!(out, "\\u{:04X}", u32::from(it)).unwrap();
        },
    )
}

pub(super) fn hex(text: &str) -> String {
    each(
        text,
        |it| is_sign(it) && it.is_ascii(),
        |out, it| {
            write!(out, "\\x{:02x}", u32::from(it)).unwrap();
        },
    )
}

pub(super) fn named(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(super) fn named_all(text: &str) -> String {
    named(text).replace('{', "&lcub;").replace('}', "&rcub;").replace('[', "&lbrack;")
}

pub(super) fn decimal(text: &str) -> String {
    each(text, |_| true, |out, it| write!(out, "&#{};", u32::from(it)).unwrap())
}

pub(super) fn hexadecimal(text: &str) -> String {
    each(text, is_sign, |out, it| write!(out, "&#x{:X};", u32::from(it)).unwrap())
}

pub(super) fn percent(text: &str) -> String {
    let mut result = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            result.push(byte.into());
        } else {
            write!(result, "%{byte:02X}").unwrap();
        }
    }
    result
}

pub(super) fn percent_all(text: &str) -> String {
    let mut result = String::new();
    for byte in text.bytes() {
        write!(result, "%{byte:02x}").unwrap();
    }
    result
}

pub(super) fn form(text: &str) -> String {
    percent(text).replace("%20", "+")
}

pub(super) fn base64(text: &str) -> String {
    base64_with(text, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", true)
}

pub(super) fn base64url(text: &str) -> String {
    base64_with(text, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", false)
}

fn base64_with(text: &str, letters: &[u8; 64], is_padded: bool) -> String {
    let mut result = String::new();
    for group in text.as_bytes().chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, at| {
            bits << 8 | usize::from(group.get(at).copied().unwrap_or_default())
        });
        for at in 0..4 {
            if at <= group.len() {
                result.push(letters[bits >> (18 - 6 * at) & 63].into());
            } else if is_padded {
                result.push('=');
            }
        }
    }
    result
}

/// Wraps `text`, which must be ASCII, after every `width` letters.
pub(super) fn wrapped(text: &str, width: usize, end: &str) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(width).map(|it| std::str::from_utf8(it).unwrap()).collect();
    lines.join(end)
}
