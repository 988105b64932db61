//! Recovery from a text that is not stored: findings are collected while it passes.

use super::{Ending, Recovered, Recovery};
use crate::limits::Limits;

/// Collects the messages recovered from one text, in bounded memory.
#[derive(Debug)]
pub(crate) struct Collector {
    recovery: Recovery,
    found: Vec<Recovered>,
    most: usize,
}

impl Collector {
    pub(crate) fn new(limits: &Limits) -> Self {
        let recovery = Recovery::new(limits);
        Self { recovery, found: Vec::new(), most: limits.max_batch_elements() }
    }

    pub(crate) fn read(&mut self, mut bytes: &[u8]) {
        while let Some(message) = self.recovery.next_message(&mut bytes) {
            self.keep(message);
        }
    }

    pub(crate) fn finish(mut self, ending: Ending) -> Vec<Recovered> {
        if let Some(message) = self.recovery.finish(ending) {
            self.keep(message);
        }
        self.found
    }

    /// Stores a message with an id. Of the others, stores only the first, to show that there was
    /// one.
    fn keep(&mut self, message: Recovered) {
        // The limit bounds both the memory and the replies to one line.
        if (message.id.is_some() || self.found.is_empty()) && self.found.len() < self.most {
            self.found.push(message);
        }
    }
}
