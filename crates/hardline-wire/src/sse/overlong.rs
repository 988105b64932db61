//! An event that is too long to be kept: its data is searched for ids as it goes by.

use crate::limits::Limits;
use crate::recover::{Ending, Recovered, Recovery};

const FIELD: &[u8] = b"data:";

/// The data of an overlong event.
#[derive(Debug)]
pub(super) struct OverlongData {
    recovery: Recovery,
    recovered: Vec<Recovered>,
    max_recovered: usize,
    /// How much of the current line agrees with `data:`, `None` if it is another field.
    matched: Option<usize>,
}

impl OverlongData {
    /// Goes on from the data and the unfinished line that were kept so far.
    pub(super) fn new(limits: &Limits, data: &[u8], line: &[u8]) -> Self {
        let mut overlong = Self {
            recovery: Recovery::new(limits),
            recovered: Vec::new(),
            max_recovered: limits.max_batch_elements(),
            matched: Some(0),
        };
        overlong.search(data);
        overlong.read(line);
        overlong
    }

    /// Reads a part of a line.
    pub(super) fn read(&mut self, mut bytes: &[u8]) {
        while let (Some(matched), Some((byte, rest))) = (self.matched, bytes.split_first()) {
            let Some(expected) = FIELD.get(matched) else { break };
            self.matched = (byte == expected).then_some(matched + 1);
            bytes = rest;
        }
        if self.matched == Some(FIELD.len()) {
            self.search(bytes);
        }
    }

    pub(super) fn end_line(&mut self) {
        self.search(b"\n");
        self.matched = Some(0);
    }

    pub(super) fn finish(mut self) -> Vec<Recovered> {
        let last = self.recovery.finish(Ending::Whole);
        last.into_iter().for_each(|message| self.keep(message));
        self.recovered
    }

    fn search(&mut self, mut bytes: &[u8]) {
        while let Some(message) = self.recovery.next_message(&mut bytes) {
            self.keep(message);
        }
    }

    fn keep(&mut self, message: Recovered) {
        if message.is_worth_keeping(&self.recovered, self.max_recovered) {
            self.recovered.push(message);
        }
    }
}
