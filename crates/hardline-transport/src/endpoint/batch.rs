//! Batches that arrived: their elements, to be taken one by one, and their answers, to leave together.
//!
//! The answers of one batch leave as one array, when the last of its requests is answered or
//! cancelled. Invariant: no more than `max_held` bytes of answers, and one more, wait in each batch;
//! what is over that leaves early, as an array of its own.

use std::collections::{HashMap, VecDeque};

use hardline_wire::batch::Batch;

/// Names a batch while it is open.
pub(crate) type BatchKey = u64;

#[derive(Debug)]
pub(crate) struct Batches {
    max_held: usize,
    next_key: BatchKey,
    open: HashMap<BatchKey, Open>,
    /// Elements that nobody has looked at yet. No line is read while there are some.
    elements: VecDeque<(BatchKey, Vec<u8>)>,
}

/// A batch with something left to do.
#[derive(Debug)]
struct Open {
    /// Elements to be looked at and requests to be answered.
    left: usize,
    /// The answers so far, each with a comma after it.
    answers: Vec<u8>,
}

impl Batches {
    pub(crate) fn new(max_held: usize) -> Self {
        Self { max_held, next_key: 0, open: HashMap::new(), elements: VecDeque::new() }
    }

    pub(crate) fn open(&mut self, batch: &Batch<'_>) {
        let key = self.next_key;
        self.next_key += 1;
        self.open.insert(key, Open { left: batch.len(), answers: Vec::new() });
        self.elements.extend(batch.elements().map(|element| (key, element.text.to_vec())));
    }

    pub(crate) fn next_element(&mut self) -> Option<(BatchKey, Vec<u8>)> {
        self.elements.pop_front()
    }

    /// An element is a request that was handed on.
    pub(crate) fn expect_answer(&mut self, key: BatchKey) {
        if let Some(open) = self.open.get_mut(&key) {
            open.left += 1;
        }
    }

    /// Adds an answer, a line with its end.
    pub(crate) fn hold(&mut self, key: BatchKey, line: &[u8]) {
        if let Some(open) = self.open.get_mut(&key) {
            open.answers.extend_from_slice(line.trim_ascii_end());
            open.answers.push(b',');
        }
    }

    /// An element was looked at. Returns the batch's answer, if that was all.
    pub(crate) fn settle_element(&mut self, key: BatchKey) -> Option<Vec<u8>> {
        self.settle(key)
    }

    /// A request was answered, or wants no answer. Returns the batch's answer, if that was all.
    pub(crate) fn settle_answer(&mut self, key: BatchKey, line: Option<&[u8]>) -> Option<Vec<u8>> {
        if let Some(line) = line {
            self.hold(key, line);
        }
        self.settle(key)
    }

    fn settle(&mut self, key: BatchKey) -> Option<Vec<u8>> {
        let open = self.open.get_mut(&key)?;
        open.left = open.left.saturating_sub(1);
        let is_done = open.left == 0;
        let answers = if is_done {
            self.open.remove(&key)?.answers
        } else if self.max_held < open.answers.len() {
            std::mem::take(&mut open.answers)
        } else {
            return None;
        };
        (!answers.is_empty()).then(|| as_array(answers))
    }
}

/// Turns answers with a comma after each into one line.
fn as_array(mut answers: Vec<u8>) -> Vec<u8> {
    answers.insert(0, b'[');
    answers.pop();
    answers.extend_from_slice(b"]\n");
    answers
}
