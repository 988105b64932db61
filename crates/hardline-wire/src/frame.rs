//! What one line says: a message, a batch, or something that is refused, with the reason.
//!
//! [`Decoder`] joins the strict check, the envelope's rules and the cutting of batches. Who is told
//! of a refusal is left to the caller, who finds the ids with [`recover`](crate::recover).

use thiserror::Error;

use crate::batch::{Batch, Element};
use crate::encode::code;
use crate::json::{self, Checker, JsonError, Value, skip_whitespace};
use crate::limits::Limits;
use crate::message::{Message, MessageError, MessageReason};

/// Reads frames, one at a time, keeping its buffers between them.
#[derive(Debug)]
pub struct Decoder {
    checker: Checker,
    limits: Limits,
}

/// What a frame says.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a line is one message or several")]
pub enum Frame<'a> {
    /// One message, and the whole value that it was read from.
    Message(Message<'a>, Value<'a>),
    /// Several, each still to be read with [`Decoder::decode_element`].
    Batch(Batch<'a>),
}

impl Decoder {
    /// Creates a decoder.
    pub fn new(limits: &Limits) -> Self {
        Self { checker: Checker::new(limits), limits: limits.clone() }
    }

    /// Reads `frame`, the content of one line.
    ///
    /// # Errors
    ///
    /// [`Refusal`], if it is neither a message nor a batch of acceptable size.
    pub fn decode<'a>(&mut self, frame: &'a [u8]) -> Result<Frame<'a>, Refusal> {
        let start = skip_whitespace(frame, 0);
        if frame.get(start) != Some(&b'[') || self.limits.max_frame_bytes() < frame.len() {
            let (message, value) = self.decode_message(frame, 0)?;
            return Ok(Frame::Message(message, value));
        }
        let limit = self.limits.max_batch_elements();
        match Batch::cut(frame) {
            Some(batch) if batch.is_empty() => Err(Refusal::new(RefusalReason::EmptyBatch, start)),
            Some(batch) if limit < batch.len() => {
                Err(Refusal::new(RefusalReason::BatchTooLarge { limit }, start))
            }
            Some(batch) => Ok(Frame::Batch(batch)),
            // Not even the cut is certain, so it is no JSON: the check says where.
            None => Err(match self.checker.check(frame) {
                Err(error) => error.into(),
                Ok(_) => Refusal::new(MessageReason::NotAnObject.into(), start),
            }),
        }
    }

    /// Reads one element of a batch to its message and the value it was read from. Offsets count from the start of the element.
    ///
    /// # Errors
    ///
    /// [`Refusal`], if it is no message. The other elements are not touched by that.
    pub fn decode_element<'a>(
        &mut self,
        element: Element<'a>,
    ) -> Result<(Message<'a>, Value<'a>), Refusal> {
        if element.text.first() == Some(&b'[') {
            return Err(Refusal::new(RefusalReason::NestedBatch, 0));
        }
        self.decode_message(element.text, 1)
    }

    fn decode_message<'a>(
        &mut self,
        text: &'a [u8],
        levels_around: usize,
    ) -> Result<(Message<'a>, Value<'a>), Refusal> {
        let checked = self.checker.check_inside(text, levels_around)?;
        Ok((Message::read(&checked, &self.limits)?, checked.value))
    }
}

/// A frame, or an element of a batch, that is not taken. Always the sender's doing.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("{reason} at byte {offset}")]
#[non_exhaustive]
pub struct Refusal {
    /// What is wrong.
    pub reason: RefusalReason,
    /// Where, in bytes from the start of the frame or element.
    pub offset: usize,
}

impl Refusal {
    fn new(reason: RefusalReason, offset: usize) -> Self {
        Self { reason, offset }
    }

    /// Whether a later layer may mend the frame and decode it again: see
    /// [`JsonError::is_mendable`].
    pub fn is_mendable(&self) -> bool {
        matches!(self.reason, RefusalReason::Json(reason) if reason.is_mendable())
    }

    /// The code of the error reply.
    pub fn code(&self) -> i64 {
        match self.reason {
            RefusalReason::Json(json::Reason::TooLong { .. }) => code::INVALID_REQUEST,
            RefusalReason::Json(_) => code::PARSE_ERROR,
            _ => code::INVALID_REQUEST,
        }
    }
}

impl From<MessageError> for Refusal {
    fn from(error: MessageError) -> Self {
        Self::new(RefusalReason::Message(error.reason), error.offset)
    }
}

impl From<JsonError> for Refusal {
    fn from(error: JsonError) -> Self {
        Self::new(RefusalReason::Json(error.reason), error.offset)
    }
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// It is not strict JSON.
    #[error(transparent)]
    Json(json::Reason),
    /// It is JSON but no message.
    #[error(transparent)]
    Message(#[from] MessageReason),
    /// It is an array without elements.
    #[error("empty batch")]
    EmptyBatch,
    /// It is an array in a batch.
    #[error("batch inside a batch")]
    NestedBatch,
    /// It has more elements than [`max_batch_elements`](Limits::max_batch_elements).
    #[error("batch of more than {limit} elements")]
    BatchTooLarge {
        /// The limit in force.
        limit: usize,
    },
}
