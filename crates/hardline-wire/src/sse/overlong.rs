//! An event that is too long to be stored: its data is searched for ids while it passes.

use crate::limits::Limits;
use crate::recover::{Collector, Ending, Recovered};

const FIELD: &[u8] = b"data:";

/// The data of an overlong event.
#[derive(Debug)]
pub(super) struct OverlongData {
    collector: Collector,
    /// Number of bytes of the current line that match `data:`; `None` if it is another field.
    matched: Option<usize>,
}

impl OverlongData {
    /// Continues from the data and the unfinished line that were stored so far.
    pub(super) fn new(limits: &Limits, data: &[u8], line: &[u8]) -> Self {
        let mut overlong = Self { collector: Collector::new(limits), matched: Some(0) };
        overlong.collector.read(data);
        overlong.collector.read(b"\n");
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
            self.collector.read(bytes);
        }
    }

    pub(super) fn end_line(&mut self) {
        self.collector.read(b"\n");
        self.matched = Some(0);
    }

    pub(super) fn finish(self) -> Vec<Recovered> {
        // A blank line ended the event, so its last number is complete.
        self.collector.finish(Ending::Whole)
    }
}
