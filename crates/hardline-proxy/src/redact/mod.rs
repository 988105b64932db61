//! Secrets, taken out of what is kept.
//!
//! Two things give a secret away: the key that it stands under (`"api_key": "…"`, `password=…`,
//! `Authorization: …`), and its own shape (`ghp_…`, a private key in PEM, a password in a URL). In JSON,
//! keys are looked at where they are keys, at any depth and in JSON that is quoted in strings; whatever is
//! no JSON is looked at as text.
//!
//! Invariants:
//! - What is strict JSON stays strict JSON, with the same members and elements; ids, methods and other
//!   opaque values that peers give back are not touched.
//! - What holds no secret is not changed by a byte, and what was redacted is not changed again.
//! - Cost is linear in the bytes. Nothing panics, whatever the bytes.
//!
//! No more than a good effort: a password in a sentence is not seen.

mod excerpt;
mod json;
mod key;
mod program;
mod shape;
mod text;
mod value;

use std::borrow::Cow;

pub use excerpt::redact_excerpt;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Takes secrets out of a line, which is JSON or any text.
pub fn redact(line: &[u8]) -> Cow<'_, [u8]> {
    match json::redact(line) {
        Some(redacted) => redacted,
        None => text::redact(line),
    }
}

/// Takes secrets out of a text, in place.
pub fn redact_text(text: &mut String) {
    if let Cow::Owned(redacted) = text::redact(text.as_bytes()) {
        // Whole characters are replaced by whole characters.
        *text = String::from_utf8_lossy(&redacted).into_owned();
    }
}

/// Whether what stands under this key is a secret.
pub fn is_secret_key(key: &str) -> bool {
    key::is_secret(key.as_bytes())
}

/// Takes secrets out of a command line: also those that follow an option of their own.
pub fn redact_command(words: &[String]) -> Vec<String> {
    let mut command = program::Command::default();
    let redacted = words.iter().map(|word| match command.word(word) {
        Some(start) => [word.get(..start).unwrap_or_default(), REDACTED].concat(),
        None => {
            let mut word = word.clone();
            redact_text(&mut word);
            word
        }
    });
    redacted.collect()
}

/// Puts edits, which are in order and apart, into a text.
fn apply<'a>(text: &'a [u8], edits: &[Edit]) -> Cow<'a, [u8]> {
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut result = Vec::with_capacity(text.len());
    let mut copied = 0;
    for edit in edits {
        result.extend_from_slice(text.get(copied..edit.start).unwrap_or_default());
        result.extend_from_slice(edit.with.as_bytes());
        copied = edit.end;
    }
    result.extend_from_slice(text.get(copied..).unwrap_or_default());
    Cow::Owned(result)
}

/// A part of a text, and what takes its place.
#[derive(Clone, Debug)]
struct Edit {
    start: usize,
    end: usize,
    with: Cow<'static, str>,
}

#[cfg(test)]
mod planted;
#[cfg(test)]
mod tests;
