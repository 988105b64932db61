//! Records what the held lines contain: whole messages, and the ids of answers.

use std::collections::HashSet;

use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::message::Message;
use hardline_wire::recover::{Ending, Recovered, recover};

use super::Pending;
use super::head::{Head, has_incomplete_object, starts_with_member};
use super::keys::Keys;
use crate::frame::{is_unnamed_answer, probable_ids};

/// Limit on messages that are listed one by one. Further ones are counted.
const MAX_SHOWN: usize = 8;
/// Limit on the stored bytes of each.
pub(super) const SHOWN_BYTES: usize = 96;

/// The contents of held lines.
#[derive(Debug, Default)]
pub(super) struct Witness {
    pub(super) requests: usize,
    pub(super) notifications: usize,
    pub(super) answers: usize,
    /// The first of them, at most [`MAX_SHOWN`].
    pub(super) planted: Vec<Planted>,
    /// Set if there was an answer, or a part of one, without an id.
    pub(super) has_unnamed: bool,
    /// Set if a line began another message and did not end it.
    pub(super) has_head: bool,
    /// Ids of pending requests whose answers were held, in the order of the answers; at most as many
    /// as are in flight.
    pub(super) touched: Vec<Id<'static>>,
    /// The same ids, for lookup.
    seen: HashSet<Id<'static>>,
    /// Ids of pending requests that broken lines seem to answer; no more than are in flight.
    pub(super) probable: Vec<Id<'static>>,
}

/// A whole message on a held line.
#[derive(Debug)]
pub(super) struct Planted {
    /// Offset of the line from the start of the head, in bytes.
    pub(super) offset: usize,
    pub(super) length: usize,
    pub(super) start: Vec<u8>,
    pub(super) kind: &'static str,
}

impl Witness {
    /// Reads one line.
    pub(super) fn look(
        &mut self,
        text: &[u8],
        offset: usize,
        decoder: &mut Decoder,
        limits: &Limits,
        pending: &impl Pending,
    ) {
        let keys = Keys::of(text);
        // Most held lines are plain text, and parsing each would cost too much.
        if !keys.has_any() {
            self.has_head |= has_incomplete_object(text);
            self.has_unnamed |= starts_with_member(text);
            self.note_probable(text, limits, pending);
            return;
        }
        // A text without a version is no message; an array may be an empty batch.
        if keys.has_jsonrpc || text.trim_ascii_start().first() == Some(&b'[') {
            match decoder.decode(text) {
                Ok(Frame::Message(message, _)) => {
                    return self.note(&message, text, offset, limits, pending);
                }
                Ok(Frame::Batch(batch)) => {
                    for element in batch.elements() {
                        if let Ok((message, _)) = decoder.decode_element(element) {
                            self.note(&message, text, offset, limits, pending);
                        }
                    }
                    return;
                }
                Err(_) => {}
            }
        }
        // Other readers may accept it as a message nevertheless.
        self.has_head |= Head::read(text, limits).is_some_and(|head| !head.is_bare)
            || has_incomplete_object(text);
        let is_closed = matches!(text.trim_ascii_end().last(), Some(b'}' | b']'));
        let recovered = recover(text, Ending::Whole, limits);
        self.note_recovered(recovered, (text, offset, is_closed), limits, pending);
        self.note_probable(text, limits, pending);
    }

    /// Records the answers that a broken line was probably meant to contain.
    ///
    /// The hold may grow too large to keep its lines, so the joiner cannot look for them later.
    fn note_probable(&mut self, text: &[u8], limits: &Limits, pending: &impl Pending) {
        let ids = probable_ids(text, limits.max_id_bytes());
        self.has_unnamed |= ids.is_empty() && is_unnamed_answer(text);
        for id in ids {
            let has_room = self.probable.len() < limits.max_in_flight();
            if has_room && pending.is_pending(&id) && !self.probable.contains(&id) {
                self.probable.push(id);
            }
        }
    }

    /// Records the messages that were recovered from a line. `text` is the line or its start,
    /// `offset` its position, and `is_closed` says that a message on it may be whole.
    pub(super) fn note_recovered(
        &mut self,
        recovered: impl Iterator<Item = Recovered>,
        (text, offset, is_closed): (&[u8], usize, bool),
        limits: &Limits,
        pending: &impl Pending,
    ) {
        for it in recovered.filter(|it| !it.follows_junk) {
            let is_whole = is_closed && it.has_jsonrpc && (it.has_method || it.is_response);
            if is_whole {
                let kind = match (it.has_method, &it.id) {
                    (false, _) => Kind::Answer,
                    (true, Some(_)) => Kind::Request,
                    (true, None) => Kind::Notification,
                };
                self.count(kind, text, offset);
            }
            // The id of a call is the server's, and names no request of the client.
            if it.has_method {
                continue;
            }
            match it.id {
                Some(id) => self.touch(id, limits, pending),
                None => self.has_unnamed = true,
            }
        }
    }

    pub(super) fn total(&self) -> usize {
        self.requests + self.notifications + self.answers
    }

    fn note(
        &mut self,
        message: &Message<'_>,
        text: &[u8],
        offset: usize,
        limits: &Limits,
        pending: &impl Pending,
    ) {
        let kind = match message {
            Message::Request(_) => Kind::Request,
            Message::Notification(_) => Kind::Notification,
            Message::Response(_) | Message::Error(_) => Kind::Answer,
        };
        self.count(kind, text, offset);
        match (kind, message.id()) {
            (Kind::Answer, Some(id)) => {
                // An id of another type may be meant for a pending request.
                self.has_unnamed |= !pending.is_pending(id);
                self.touch(id.clone().into_owned(), limits, pending);
            }
            (Kind::Answer, None) => self.has_unnamed = true,
            (Kind::Request | Kind::Notification, _) => {}
        }
    }

    pub(super) fn touch(&mut self, id: Id<'static>, limits: &Limits, pending: &impl Pending) {
        let has_room = self.touched.len() < limits.max_in_flight() && !self.seen.contains(&id);
        if has_room && pending.is_pending(&id) && self.seen.insert(id.clone()) {
            self.touched.push(id);
        }
    }

    fn count(&mut self, kind: Kind, text: &[u8], offset: usize) {
        let (count, kind) = match kind {
            Kind::Request => (&mut self.requests, "request"),
            Kind::Notification => (&mut self.notifications, "notification"),
            Kind::Answer => (&mut self.answers, "answer"),
        };
        *count += 1;
        if self.planted.len() < MAX_SHOWN {
            let start = text.get(..SHOWN_BYTES).unwrap_or(text).to_vec();
            self.planted.push(Planted { offset, length: text.len(), start, kind });
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Request,
    Notification,
    Answer,
}
