//! Decoding of one line: to a message, a batch, or a refusal with its reason.
//!
//! [`Decoder`] combines the strict check, the rules of the envelope and the splitting of batches.
//! The caller answers a refusal, with the ids that [`recover`](crate::recover) finds.

use thiserror::Error;

use crate::batch::{Batch, Element};
use crate::encode::code;
use crate::json::{self, Checker, JsonError, Value, skip_whitespace};
use crate::limits::Limits;
use crate::line::{Line, LineEnd};
use crate::message::{Message, MessageError, MessageReason};

/// Decodes frames, one at a time, and reuses its buffers.
#[derive(Debug)]
pub struct Decoder {
    checker: Checker,
    limits: Limits,
}

/// Content of a frame.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "a line is one message or several")]
pub enum Frame<'a> {
    /// One message, and the whole value that it was read from.
    Message(Message<'a>, Value<'a>),
    /// Several messages, each still to be decoded with [`Decoder::decode_element`].
    Batch(Batch<'a>),
}

impl Decoder {
    /// Creates a decoder.
    pub fn new(limits: &Limits) -> Self {
        Self { checker: Checker::new(limits), limits: limits.clone() }
    }

    /// Decodes `text`, the content of one line.
    ///
    /// # Errors
    ///
    /// [`Refusal`], if it is neither a message nor a batch of acceptable size.
    pub fn decode<'a>(&mut self, text: &'a [u8]) -> Result<Frame<'a>, Refusal> {
        let start = skip_whitespace(text, 0);
        // An overlong frame takes this path too, because the check refuses it by its length.
        if text.get(start) != Some(&b'[') || self.limits.max_frame_bytes() < text.len() {
            let (message, value) = self.decode_message(text, 0)?;
            return Ok(Frame::Message(message, value));
        }
        let limit = self.limits.max_batch_elements();
        match Batch::cut(text) {
            Some(batch) if batch.is_empty() => Err(Refusal::new(RefusalReason::EmptyBatch, start)),
            Some(batch) if batch.len() > limit => {
                Err(Refusal::new(RefusalReason::BatchTooLarge { limit }, start))
            }
            Some(batch) => Ok(Frame::Batch(batch)),
            // The split failed, so the text is not JSON. The check finds the position of the fault.
            None => Err(match self.checker.check(text) {
                Err(error) => error.into(),
                Ok(_) => Refusal::new(MessageReason::NotAnObject.into(), start),
            }),
        }
    }

    /// Decodes one element of a batch to its message and the value it was read from. Offsets count
    /// from the start of the element.
    ///
    /// # Errors
    ///
    /// [`Refusal`], if it is not a message. The other elements are not affected.
    pub fn decode_element<'a>(
        &mut self,
        element: Element<'a>,
    ) -> Result<(Message<'a>, Value<'a>), Refusal> {
        if element.text.first() == Some(&b'[') {
            return Err(Refusal::new(RefusalReason::NestedBatch, 0));
        }
        // The array around the element counts towards the depth limit.
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

/// Returns true if `line` is the last one of its stream, has no newline and is no frame: its sender
/// ended before it had written the line.
pub fn is_truncated(line: &Line<'_>, decoder: &mut Decoder) -> bool {
    line.end == LineEnd::Eof
        && !line.is_blank()
        && line.whole().is_none_or(|text| decoder.decode(text).is_err())
}

/// A refused frame or element of a batch. The sender is always the cause.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("{reason} at byte {offset}")]
#[non_exhaustive]
pub struct Refusal {
    /// The reason.
    pub reason: RefusalReason,
    /// Position of the fault, in bytes from the start of the frame or element.
    pub offset: usize,
}

impl Refusal {
    fn new(reason: RefusalReason, offset: usize) -> Self {
        Self { reason, offset }
    }

    /// Returns true if a later layer may repair the frame and decode it again: see
    /// [`JsonError::is_mendable`].
    pub fn is_mendable(&self) -> bool {
        matches!(self.reason, RefusalReason::Json(reason) if reason.is_mendable())
    }

    /// Returns the code of the error reply.
    pub fn code(&self) -> i64 {
        match self.reason {
            // The text was not parsed, so this is not a parse error.
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

/// Reason for refusing a frame.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The frame is not strict JSON.
    #[error(transparent)]
    Json(json::Reason),
    /// The frame is JSON but not a message.
    #[error(transparent)]
    Message(#[from] MessageReason),
    /// The frame is an array without elements.
    #[error("empty batch")]
    EmptyBatch,
    /// The element is an array.
    #[error("batch inside a batch")]
    NestedBatch,
    /// The batch has more elements than [`max_batch_elements`](Limits::max_batch_elements).
    #[error("batch of more than {limit} elements")]
    BatchTooLarge {
        /// The limit in force.
        limit: usize,
    },
}
