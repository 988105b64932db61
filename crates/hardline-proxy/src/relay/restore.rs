//! A server in the place of another: it is told what the one before knew, and compared with it.

use std::time::Duration;

use hardline_guard::Direction;
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::line::Line;
use hardline_wire::message::Message;

use super::opening::{Fingerprint, List, Opening};
use super::outgoing::{list_request, replace_id};
use super::{Outgoing, Relay, Reply, Sink, State, Wish};
use crate::note::Note;

/// How long a server may take to answer `initialize` again.
const MAX_RESTORE: Duration = Duration::from_secs(30);
/// Most pages of a list that are asked for.
const MAX_PAGES: u32 = 64;

/// A request of ours to the server.
#[derive(Clone, Debug)]
pub(super) enum Own {
    Initialize,
    /// Its answer tells nothing.
    Setting,
    List {
        list: List,
        seen: Fingerprint,
        before: Fingerprint,
        page: u32,
    },
    /// Not a request of ours: a subscription of the client that was asked for again, and whose
    /// second acknowledgement is not for it.
    Listen,
}

impl Relay {
    /// Takes note that a server was started in the place of one that ended.
    pub fn handle_server_start(&mut self, now: Duration, sink: &mut impl Sink) {
        self.refused = None;
        let Some((id, frame)) = self.opening.initialize() else {
            self.restored(now, sink);
            return;
        };
        let (id, frame) = (id.clone(), frame.to_vec());
        self.state = State::Restoring(now + MAX_RESTORE);
        self.own.insert(id, Own::Initialize);
        self.say(&frame, now, sink);
    }

    /// Sends a line to the server that the client did not send now.
    fn say(&mut self, frame: &[u8], now: Duration, sink: &mut impl Sink) {
        let line = Line::of_text(frame);
        let verdict = self.guard.inspect(Direction::ClientToServer, &line, now);
        for delivery in verdict.deliveries {
            if delivery.direction == Direction::ClientToServer {
                sink.send(Outgoing::from(delivery).into_own());
            }
        }
    }

    fn own_id(&mut self) -> Id<'static> {
        self.next_own += 1;
        Id::from_string(&format!("hardline:{}", self.next_own)).into_owned()
    }

    /// Takes a message of the server that is for us. Says whether it was.
    pub(super) fn is_own_answer(
        &mut self,
        message: &Message<'_>,
        now: Duration,
        sink: &mut impl Sink,
    ) -> bool {
        if self.own.is_empty() {
            return false;
        }
        let (id, result) = match message {
            Message::Response(response) => (&response.id, Some(response.result)),
            Message::Error(error) => match &error.id {
                Some(id) => (id, None),
                None => return false,
            },
            Message::Notification(call) => {
                let is_second = call.method == "notifications/subscriptions/acknowledged"
                    && self.is_acknowledged_again(call.params);
                return is_second;
            }
            Message::Request(_) => return false,
        };
        let id = id.clone().into_owned();
        match self.own.remove(&id) {
            None | Some(Own::Listen) => return false,
            Some(Own::Setting) => {}
            Some(own @ Own::Initialize) => match result {
                Some(result) => self.restore(result, now, sink),
                None => self.own_failed(&own),
            },
            Some(Own::List { list, seen, before, page }) => match result {
                Some(result) => {
                    let seen = seen.with(list, result);
                    self.compare(list, seen, before, page, result, now, sink);
                }
                None => self.listed(list, now, sink),
            },
        }
        true
    }

    /// Takes note that a request of ours came to nothing.
    pub(super) fn own_failed(&mut self, own: &Own) {
        if matches!(own, Own::Initialize) {
            // Without that it is of no use.
            self.condemn();
        }
    }

    /// Tells a server that has answered `initialize` the rest.
    fn restore(&mut self, result: Value<'_>, now: Duration, sink: &mut impl Sink) {
        let (Some(before), Some(agreed)) = (self.opening.agreed(), Opening::read_agreed(result))
        else {
            self.own_failed(&Own::Initialize);
            return;
        };
        if before.version != agreed.version {
            sink.note(&Note::OtherVersion(agreed.version()));
            self.wish = Some(Wish::EndSession);
            return;
        }
        if !before.has_same_capabilities(&agreed) {
            sink.note(&Note::Changed("the server has other capabilities"));
        }
        if let Some(frame) = self.opening.initialized_frame().map(<[u8]>::to_vec) {
            self.say(&frame, now, sink);
        }
        for frame in self.opening.settings() {
            let id = self.own_id();
            if let Some(frame) = replace_id(&frame, &id, &self.limits) {
                self.own.insert(id, Own::Setting);
                self.say(&frame, now, sink);
            }
        }
        let mut waits = false;
        for (list, before) in self.opening.lists() {
            let seen = Fingerprint::default();
            self.ask(Own::List { list, seen, before, page: 1 }, list, None, now, sink);
            // Nothing is called before it is known whether it is still the same.
            waits |= list == List::Tools && self.guard.judges_tools();
        }
        if !waits {
            self.restored(now, sink);
        }
    }

    /// Goes on if it was the tools that were waited for.
    pub(super) fn listed(&mut self, list: List, now: Duration, sink: &mut impl Sink) {
        if list == List::Tools && matches!(self.state, State::Restoring(_)) {
            self.restored(now, sink);
        }
    }

    /// Asks for a page of a list.
    fn ask(
        &mut self,
        own: Own,
        list: List,
        cursor: Option<&str>,
        now: Duration,
        sink: &mut impl Sink,
    ) {
        let id = self.own_id();
        let frame = list_request(&id, list.method(), cursor);
        self.own.insert(id, own);
        self.say(&frame, now, sink);
    }

    /// Lets everything that waited go on.
    fn restored(&mut self, now: Duration, sink: &mut impl Sink) {
        self.state = State::Up;
        for (id, frame) in self.opening.listens().to_vec() {
            self.own.insert(id, Own::Listen);
            self.say(&frame, now, sink);
        }
        sink.note(&Note::Restored);
        while let Some(frame) = self.waiting.pop() {
            self.handle_client(&Line::of_text(&frame), now, sink);
        }
    }

    /// Takes a page of a list that the client knows.
    #[expect(clippy::too_many_arguments, reason = "one step of a loop over pages")]
    fn compare(
        &mut self,
        list: List,
        seen: Fingerprint,
        before: Fingerprint,
        page: u32,
        result: Value<'_>,
        now: Duration,
        sink: &mut impl Sink,
    ) {
        let cursor = result.get("nextCursor").and_then(|it| it.as_str());
        if let Some(cursor) = cursor.filter(|_| page < MAX_PAGES) {
            let own = Own::List { list, seen, before, page: page + 1 };
            self.ask(own, list, Some(&cursor), now, sink);
            return;
        }
        if seen == before {
            self.listed(list, now, sink);
            return;
        }
        self.opening.set_list(list, seen);
        sink.note(&Note::Changed(&format!("its {} differ", list.method())));
        if self.opening.agreed().is_some_and(|agreed| agreed.may_change(list)) {
            let changed = Reply::ListChanged { capability: list.capability() };
            sink.send((Direction::ServerToClient, changed).into());
        }
        self.listed(list, now, sink);
    }

    /// Whether a subscription was acknowledged that the client knows of already.
    fn is_acknowledged_again(&mut self, params: Option<Value<'_>>) -> bool {
        let meta = params.and_then(|params| params.get("_meta"));
        let id = meta.and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId"));
        let Some(Ok(id)) = id.map(|id| Id::read(id, self.limits.max_id_bytes())) else {
            return false;
        };
        let id = id.into_owned();
        let is_again = matches!(self.own.get(&id), Some(Own::Listen));
        if is_again {
            self.own.remove(&id);
        }
        is_again
    }
}
