//! The hashes of whole texts that were sent to the client, with the source of each of their tokens.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::MAX_AGE;

/// Limit on remembered texts.
pub(super) const MAX_TEXTS: usize = 1024;
/// Limit on the tokens of all texts.
pub(super) const MAX_TOKENS: usize = 1 << 20;

/// Whole texts, oldest first.
#[derive(Debug, Default)]
pub(super) struct Wholes {
    kept: VecDeque<Whole>,
    hasher: RandomState,
    tokens: usize,
}

#[derive(Debug)]
struct Whole {
    hash: u64,
    /// True for each token that is an edit.
    edits: Vec<bool>,
    since: Duration,
}

impl Wholes {
    /// Remembers a text. It replaces an earlier text with the same edited form.
    pub(super) fn keep(&mut self, text: &str, edits: Vec<bool>, now: Duration) {
        let hash = self.hash(text);
        // The newest original counts if two have the same edited form.
        if let Some(at) = self.kept.iter().position(|it| it.hash == hash)
            && let Some(old) = self.kept.remove(at)
        {
            self.tokens -= old.edits.len();
        }
        self.tokens += edits.len();
        self.kept.push_back(Whole { hash, edits, since: now });
        self.forget(now);
    }

    /// Removes old texts, and the oldest ones beyond the limits.
    pub(super) fn forget(&mut self, now: Duration) {
        while let Some(oldest) = self.kept.front() {
            let is_old = oldest.since + MAX_AGE < now;
            if !is_old && self.kept.len() <= MAX_TEXTS && self.tokens <= MAX_TOKENS {
                return;
            }
            self.tokens -= oldest.edits.len();
            self.kept.pop_front();
        }
    }

    /// Returns for each of the `count` tokens of a text if it is an edit. Returns `None` if the
    /// text was not sent.
    pub(super) fn find(&self, text: &str, count: usize) -> Option<&[bool]> {
        let hash = self.hash(text);
        let whole = self.kept.iter().find(|it| it.hash == hash)?;
        // A different number of tokens means a hash collision.
        Some(whole.edits.as_slice()).filter(|it| it.len() == count)
    }

    /// Hashes a text without the white space around it, which clients remove or add.
    fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text.trim())
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 2] {
        [self.kept.len(), self.tokens]
    }
}
