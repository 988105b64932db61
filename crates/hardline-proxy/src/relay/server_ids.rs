//! Keeps the request ids of successive servers apart.
//!
//! When a server ends, the relay cancels its open requests at the client, but the client may still
//! answer them, and the next server may use the same ids. The relay therefore gives another id to a
//! request of the new server whose id the client may still answer for an old one.

use std::collections::{HashMap, HashSet, VecDeque};

use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::message::{Message, cancelled_id};

use super::outgoing::replace_id;

/// Limit on the stored ids of servers that have ended. The oldest is dropped.
const MAX_STALE: usize = 4096;

/// Ids of servers that have ended, and renamed ids of the current server.
#[derive(Debug, Default)]
pub(super) struct ServerIds {
    /// Ids that the client may still answer for a server that has ended, as the client knows them.
    stale: HashSet<Id<'static>>,
    order: VecDeque<Id<'static>>,
    /// Ids of the current server, by the id that the client knows.
    renamed: HashMap<Id<'static>, Id<'static>>,
    /// Ids that the client knows, by the id of the current server.
    shown: HashMap<Id<'static>, Id<'static>>,
    /// Number in the last new id.
    next: u64,
}

/// Addressee of a line of the client.
#[derive(Debug)]
pub(super) enum AnswerTo {
    /// The line is no answer, or answers a request of this server that was not renamed.
    Other,
    /// The line answers a request of a server that has ended.
    Late,
    /// The line answers a renamed request: the line with the id that the server knows.
    Renamed(Vec<u8>),
}

/// Id that a message of the server gets on its way to the client.
#[derive(Debug)]
pub(super) enum Rename {
    /// The id of the message itself.
    Id(Id<'static>),
    /// The id of the request that a cancellation is about.
    RequestId(Id<'static>),
}

impl ServerIds {
    pub(super) fn is_empty(&self) -> bool {
        self.stale.is_empty() && self.renamed.is_empty()
    }

    /// Handles the end of the server with these open requests. Returns the ids that the client knows.
    pub(super) fn end_server(&mut self, open: Vec<Id<'static>>) -> Vec<Id<'static>> {
        let shown = |id: Id<'static>| self.shown.get(&id).cloned().unwrap_or(id);
        let open: Vec<_> = open.into_iter().map(shown).collect();
        self.renamed.clear();
        self.shown.clear();
        for id in &open {
            if self.stale.insert(id.clone()) {
                self.order.push_back(id.clone());
            }
        }
        // The client answers soon or never, so the oldest ids matter least.
        while self.order.len() > MAX_STALE
            && let Some(oldest) = self.order.pop_front()
        {
            self.stale.remove(&oldest);
        }
        open
    }

    /// Returns the id that a message of the server gets, if the client would mistake its own.
    pub(super) fn rename(&mut self, message: &Message<'_>, limits: &Limits) -> Option<Rename> {
        if self.is_empty() {
            return None;
        }
        match message {
            Message::Request(request) => {
                let id = request.id.clone().into_owned();
                // The client can tell this id from all others.
                if !self.stale.contains(&id) {
                    return None;
                }
                self.next += 1;
                let shown = Id::from_string(&format!("hardline:{}:{id}", self.next)).into_owned();
                self.renamed.insert(shown.clone(), id.clone());
                self.shown.insert(id, shown.clone());
                Some(Rename::Id(shown))
            }
            Message::Notification(call) if call.method == "notifications/cancelled" => {
                let id = cancelled_id(call.params, limits.max_id_bytes())?;
                let shown = self.shown.get(&id.into_owned())?;
                Some(Rename::RequestId(shown.clone()))
            }
            Message::Notification(_) | Message::Response(_) | Message::Error(_) => None,
        }
    }

    /// Handles a line of the client that may be an answer.
    pub(super) fn take_answer(
        &mut self,
        text: &[u8],
        decoder: &mut Decoder,
        limits: &Limits,
    ) -> AnswerTo {
        let Ok(Frame::Message(message, _)) = decoder.decode(text) else { return AnswerTo::Other };
        let id = match &message {
            Message::Response(response) => response.id.clone().into_owned(),
            Message::Error(error) => match &error.id {
                Some(id) => id.clone().into_owned(),
                None => return AnswerTo::Other,
            },
            Message::Request(_) | Message::Notification(_) => return AnswerTo::Other,
        };
        if let Some(original) = self.renamed.remove(&id) {
            self.shown.remove(&original);
            // If the id cannot be replaced, the answer would name another request: drop it.
            return replace_id(text, &original, limits).map_or(AnswerTo::Late, AnswerTo::Renamed);
        }
        if self.stale.remove(&id) {
            self.order.retain(|it| *it != id);
            return AnswerTo::Late;
        }
        AnswerTo::Other
    }
}
