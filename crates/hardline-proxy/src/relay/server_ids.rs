//! Ids of servers' requests, where more than one server had them.
//!
//! A server that ended may have asked the client for something. That was cancelled, but an answer may
//! come all the same, and the server in its place may use the same id. So ids that the client may still
//! answer for a server that is gone are given to no other: the new server's are renamed on the way.

use std::collections::{HashMap, HashSet, VecDeque};

use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::message::{Message, cancelled_id};

use super::line;

/// Most ids of servers that are gone that are remembered.
const MAX_STALE: usize = 4096;

/// Knows which server an id belongs to.
#[derive(Debug, Default)]
pub(super) struct ServerIds {
    /// As the client knows them, of servers that are gone.
    stale: HashSet<Id<'static>>,
    order: VecDeque<Id<'static>>,
    /// What the client knows the ids of this server as, and the other way.
    renamed: HashMap<Id<'static>, Id<'static>>,
    shown: HashMap<Id<'static>, Id<'static>>,
    next: u64,
}

/// What an answer of the client is.
#[derive(Debug)]
pub(super) enum Answer {
    /// None, or one to this server.
    Other,
    /// One to a server that is gone.
    Late,
    /// One to this server, with the id that it knows.
    Renamed(Vec<u8>),
}

impl ServerIds {
    pub(super) fn is_empty(&self) -> bool {
        self.stale.is_empty() && self.renamed.is_empty()
    }

    /// Takes note that the server is gone with these requests open. Returns what the client knows
    /// them as.
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
        while MAX_STALE < self.order.len()
            && let Some(oldest) = self.order.pop_front()
        {
            self.stale.remove(&oldest);
        }
        open
    }

    /// A message of the server with an id that the client cannot mistake, if it needs one.
    pub(super) fn request(
        &mut self,
        message: &Message<'_>,
        frame: &[u8],
        limits: &Limits,
    ) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        match message {
            Message::Request(request) => {
                let id = request.id.clone().into_owned();
                if !self.stale.contains(&id) {
                    return None;
                }
                self.next += 1;
                let shown = Id::from_string(&format!("hardline:{}:{id}", self.next)).into_owned();
                let renamed = line::with_id(frame, &shown, limits)?;
                self.renamed.insert(shown.clone(), id.clone());
                self.shown.insert(id, shown);
                Some(renamed)
            }
            Message::Notification(call) if call.method == "notifications/cancelled" => {
                let id = cancelled_id(call.params, limits.max_id_bytes())?;
                let shown = self.shown.get(&id.into_owned())?;
                line::with_request_id(frame, shown, limits)
            }
            Message::Notification(_) | Message::Response(_) | Message::Error(_) => None,
        }
    }

    /// Says what a line of the client is.
    pub(super) fn answer(&mut self, text: &[u8], decoder: &mut Decoder, limits: &Limits) -> Answer {
        let Ok(Frame::Message(message, _)) = decoder.decode(text) else { return Answer::Other };
        let id = match &message {
            Message::Response(response) => response.id.clone().into_owned(),
            Message::Error(error) => match &error.id {
                Some(id) => id.clone().into_owned(),
                None => return Answer::Other,
            },
            Message::Request(_) | Message::Notification(_) => return Answer::Other,
        };
        if let Some(original) = self.renamed.remove(&id) {
            self.shown.remove(&original);
            return line::with_id(text, &original, limits).map_or(Answer::Late, Answer::Renamed);
        }
        if self.stale.remove(&id) {
            self.order.retain(|it| *it != id);
            return Answer::Late;
        }
        Answer::Other
    }
}
