//! Redaction: removes secrets from text before it is stored or printed.
//!
//! All names, prefixes and shapes of secrets are listed here; known secret values are the transport's
//! `Secrets`. A secret is recognized by its key (`"api_key": "…"`, `password=…`, `Authorization: …`) or by its
//! own shape (`ghp_…`, a private key in PEM, a password in a URL). In JSON, object keys are checked
//! at any depth, also in JSON that is quoted in strings. Anything else is treated as text.
//!
//! Invariants:
//! - Strict JSON stays strict JSON with the same members and elements. Ids, methods and other
//!   opaque values that peers send back are not changed.
//! - Text without secrets is not changed by a byte, and redacting twice changes nothing.
//! - Cost is linear in the bytes. No input causes a panic.
//!
//! This is best effort: a password in a sentence is not recognized.

mod excerpt;
mod json;
mod key;
mod program;
mod shape;
mod text;
mod value;

use std::borrow::Cow;

use hardline_wire::splice::splice;

pub use excerpt::redact_excerpt;
pub use hardline_wire::excerpt::REDACTED;

/// Redacts a line, which is JSON or any text.
pub fn redact(line: &[u8]) -> Cow<'_, [u8]> {
    match json::redact(line) {
        Some(redacted) => redacted,
        None => text::redact(line),
    }
}

/// Redacts a text in place.
pub fn redact_text(text: &mut String) {
    if let Cow::Owned(redacted) = text::redact(text.as_bytes()) {
        // Edits begin and end at character boundaries, so nothing is lost here.
        *text = String::from_utf8_lossy(&redacted).into_owned();
    }
}

/// Returns true if a value under this key of a configuration may be a secret. Recognizes more than
/// [`redact`] does, because hiding a harmless setting costs little.
pub fn may_be_secret_key(key: &str) -> bool {
    key::may_be_secret(key)
}

/// Returns true if the value of this option of a command line may be a secret. `option` may also be
/// the name of a variable. Recognizes more than [`may_be_secret_key`].
pub fn may_be_secret_option(option: &str) -> bool {
    key::may_be_secret_option(option)
}

/// Redacts a command line, including secrets in the word after an option.
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

/// Applies edits to a text. They must be in order and must not overlap.
fn apply<'a>(text: &'a [u8], edits: &[Edit]) -> Cow<'a, [u8]> {
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let edits = edits.iter().map(|edit| (edit.start..edit.end, edit.with.as_bytes()));
    Cow::Owned(splice(text, edits))
}

/// Replacement of one part of a text.
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
