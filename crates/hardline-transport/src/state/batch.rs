//! Incoming batches: their elements are handled one by one, their answers are sent together.
//!
//! The answers of a batch leave as one array, once the last of its requests is answered or
//! cancelled. Invariant: each batch holds at most `max_held` bytes of answers, plus one answer.
//! Beyond that, the answers so far leave early, as a separate array.

use std::collections::{HashMap, VecDeque};

use hardline_wire::batch::Batch;

/// Identifies an open batch.
pub(crate) type BatchKey = u64;

#[derive(Debug)]
pub(crate) struct Batches {
    max_held: usize,
    next_key: BatchKey,
    open: HashMap<BatchKey, Open>,
    /// Elements that were not handled yet. No line is read while there are some.
    elements: VecDeque<(BatchKey, Vec<u8>)>,
}

/// A batch that is not complete.
#[derive(Debug)]
struct Open {
    /// Number of elements to handle plus requests to answer.
    left: usize,
    /// The answers so far, each followed by a comma.
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

    /// Records that an element is a request that was handed to the service.
    pub(crate) fn expect_answer(&mut self, key: BatchKey) {
        if let Some(open) = self.open.get_mut(&key) {
            open.left += 1;
        }
    }

    /// Adds an answer: a line with its newline.
    pub(crate) fn hold(&mut self, key: BatchKey, line: &[u8]) {
        if let Some(open) = self.open.get_mut(&key) {
            open.answers.extend_from_slice(line.trim_ascii_end());
            open.answers.push(b',');
        }
    }

    /// Records that an element was handled. Returns the answer of the batch if it is complete.
    pub(crate) fn settle_element(&mut self, key: BatchKey) -> Option<Vec<u8>> {
        self.settle(key)
    }

    /// Records that a request was answered or cancelled. Returns the answer of the batch if it is
    /// complete.
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
        // A batch of notifications alone gets no answer, as JSON-RPC requires.
        (!answers.is_empty()).then(|| as_array(answers))
    }
}

/// Turns answers, each followed by a comma, into one line with an array.
fn as_array(mut answers: Vec<u8>) -> Vec<u8> {
    answers.insert(0, b'[');
    answers.pop();
    answers.extend_from_slice(b"]\n");
    answers
}
