//! Tokens of a line that is not JSON, and their possible meaning.

use crate::id::Id;
use crate::json;

/// The current token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Token {
    None,
    /// A string; `escape` is true after a backslash.
    String {
        escape: bool,
    },
    /// A number, a literal, or any other text without quotes.
    Word,
}

/// A key of a message, as far as recovery needs it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Key {
    Id,
    /// A key that differs from `id` in case alone, which some parsers take for it.
    IdTwin,
    Jsonrpc,
    /// `method` in any case.
    Method,
    /// `result` or `error` in any case.
    Outcome,
    Other,
}

/// Longest notation of a relevant key: `jsonrpc` with each letter as `\u006a`.
const LONGEST_KEY: usize = 7 * 6;

/// Text of a token, as long as it can still be a key or an id.
#[derive(Debug)]
pub(super) struct TokenText {
    max_bytes: usize,
    /// The bytes, up to the limit.
    bytes: Vec<u8>,
    is_whole: bool,
}

impl TokenText {
    pub(super) fn new(max_id_bytes: usize) -> Self {
        Self { max_bytes: max_id_bytes.max(LONGEST_KEY), bytes: Vec::new(), is_whole: true }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // A token that is too long can be neither a key nor an id.
        self.is_whole &= self.bytes.len() + bytes.len() <= self.max_bytes;
        if self.is_whole {
            self.bytes.extend_from_slice(bytes);
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.is_whole = true;
    }

    /// Returns true if the text may be a number or a literal.
    pub(super) fn is_json_word(&self) -> bool {
        matches!(&*self.bytes, b"true" | b"false" | b"null" | [b'-' | b'0'..=b'9', ..])
    }

    /// Reads the text as a key.
    pub(super) fn key(&self) -> Key {
        let content = str::from_utf8(&self.bytes).ok().filter(|_| self.is_whole);
        let quoted = content.map(|content| format!("\"{content}\""));
        let Some(quoted) = quoted.filter(|quoted| json::is_sound_string(quoted)) else {
            return Key::Other;
        };
        let key = json::string_content(&quoted);
        let folds = |name| json::equals_ignoring_case(&key, name);
        match &*key {
            "id" => Key::Id,
            "jsonrpc" => Key::Jsonrpc,
            // Some parsers ignore case, so these keys count as well.
            _ if folds("id") => Key::IdTwin,
            _ if folds("method") => Key::Method,
            _ if folds("result") || folds("error") => Key::Outcome,
            _ => Key::Other,
        }
    }

    /// Reads the text as a string id.
    pub(super) fn string_id(&self, max_bytes: usize) -> Option<Id<'static>> {
        let quoted = [b"\"", &*self.bytes, b"\""].concat();
        Id::salvage(&quoted, max_bytes).filter(|_| self.is_whole)
    }

    /// Reads the text as an integer id.
    pub(super) fn word_id(&self, max_bytes: usize) -> Option<Id<'static>> {
        Id::salvage(&self.bytes, max_bytes).filter(|_| self.is_whole)
    }
}
