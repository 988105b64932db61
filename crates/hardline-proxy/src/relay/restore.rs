//! Restores the session with a restarted server, and compares the server with the previous one.

use std::time::Duration;

use hardline_guard::Direction;
use hardline_wire::id::Id;
use hardline_wire::json::Value;
use hardline_wire::line::Line;
use hardline_wire::message::Message;

use super::opening::{Fingerprint, List, Opening};
use super::outgoing::{list_request, replace_id};
use super::{DriverAction, Outgoing, Relay, RelayReply, Sink, State};
use crate::notice::Notice;

/// Time that a restarted server has to answer `initialize`.
const MAX_RESTORE: Duration = Duration::from_secs(30);
/// Limit on the pages of a list that the relay requests.
const MAX_PAGES: u32 = 64;

/// A request of the relay to the server.
#[derive(Clone, Debug)]
pub(super) enum OwnRequest {
    Initialize,
    /// A log level or a subscription. Its answer is ignored.
    Setting,
    List(ListRequest),
    /// A subscription of the client that the relay requested again. The client must not see its
    /// second acknowledgement.
    Listen,
}

/// Request for one page of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListRequest {
    pub(super) list: List,
    /// Fingerprint of the pages so far.
    seen: Fingerprint,
    /// Fingerprint of the list as the client knows it.
    before: Fingerprint,
    page: u32,
}

impl Relay {
    /// Handles the restart of the server.
    pub fn handle_server_start(&mut self, now: Duration, sink: &mut impl Sink) {
        self.refused = None;
        let Some((id, frame)) = self.opening.initialize() else {
            // The client has not opened its session yet, or its version has no handshake.
            self.finish_restore(now, sink);
            return;
        };
        let (id, frame) = (id.clone(), frame.to_vec());
        self.state = State::Restoring(now + MAX_RESTORE);
        // The client has its answer already, so the new one must stop at the relay.
        self.own.insert(id, OwnRequest::Initialize);
        self.send_to_server(&frame, now, sink);
    }

    /// Inspects and sends a line to the server that the client has not sent just now.
    fn send_to_server(&mut self, frame: &[u8], now: Duration, sink: &mut impl Sink) {
        let line = Line::of_text(frame);
        let inspection = self.guard.inspect(Direction::ClientToServer, &line, now);
        // The findings were reported when the client sent the line.
        for delivery in inspection.deliveries {
            if delivery.direction == Direction::ClientToServer {
                sink.send(Outgoing::from(delivery).into_own());
            }
        }
    }

    /// Returns the id for the next request of the relay.
    fn next_own_id(&mut self) -> Id<'static> {
        self.next_own += 1;
        Id::from_string(&format!("hardline:{}", self.next_own)).into_owned()
    }

    /// Handles a message of the server that is for the relay. Returns false for any other message.
    pub(super) fn take_own_answer(
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
                return call.method == "notifications/subscriptions/acknowledged"
                    && self.take_second_acknowledgement(call.params);
            }
            Message::Request(_) => return false,
        };
        let id = id.clone().into_owned();
        match self.own.remove(&id) {
            // The end of a subscription concerns the client, even if the relay reopened it.
            None | Some(OwnRequest::Listen) => return false,
            Some(OwnRequest::Setting) => {}
            Some(own @ OwnRequest::Initialize) => match result {
                Some(result) => self.restore(result, now, sink),
                None => self.handle_own_failure(&own),
            },
            Some(OwnRequest::List(request)) => match result {
                Some(result) => self.take_page(request, result, now, sink),
                None => self.finish_list(request.list, now, sink),
            },
        }
        true
    }

    /// Handles the failure of a request of the relay.
    pub(super) fn handle_own_failure(&mut self, own: &OwnRequest) {
        if matches!(own, OwnRequest::Initialize) {
            // A server that does not initialize cannot continue the session.
            self.kill_server();
        }
    }

    /// Repeats the settings of the session to a server that has answered `initialize`.
    fn restore(&mut self, result: Value<'_>, now: Duration, sink: &mut impl Sink) {
        let (Some(before), Some(agreed)) = (self.opening.agreed(), Opening::read_agreed(result))
        else {
            self.handle_own_failure(&OwnRequest::Initialize);
            return;
        };
        // The client speaks the first version and cannot change it within a session.
        if before.version != agreed.version {
            sink.notify(&Notice::OtherVersion(agreed.version()));
            self.action = Some(DriverAction::EndSession);
            return;
        }
        if !before.has_same_capabilities(&agreed) {
            sink.notify(&Notice::Changed("the server has other capabilities"));
        }
        if let Some(frame) = self.opening.initialized_frame().map(<[u8]>::to_vec) {
            self.send_to_server(&frame, now, sink);
        }
        for frame in self.opening.settings() {
            // The client may have used the id of its request again by now.
            let id = self.next_own_id();
            if let Some(frame) = replace_id(&frame, &id, &self.limits) {
                self.own.insert(id, OwnRequest::Setting);
                self.send_to_server(&frame, now, sink);
            }
        }
        let mut waits = false;
        for (list, before) in self.opening.lists() {
            let seen = Fingerprint::default();
            self.request_page(ListRequest { list, seen, before, page: 1 }, None, now, sink);
            // No tool is called before the guard has compared the tools with the pins.
            waits |= list == List::Tools && self.guard.judges_tools();
        }
        if !waits {
            self.finish_restore(now, sink);
        }
    }

    /// Finishes the restore if it waited for this list.
    pub(super) fn finish_list(&mut self, list: List, now: Duration, sink: &mut impl Sink) {
        if list == List::Tools && matches!(self.state, State::Restoring(_)) {
            self.finish_restore(now, sink);
        }
    }

    /// Requests a page of a list.
    fn request_page(
        &mut self,
        request: ListRequest,
        cursor: Option<&str>,
        now: Duration,
        sink: &mut impl Sink,
    ) {
        let id = self.next_own_id();
        let frame = list_request(&id, request.list.method(), cursor);
        self.own.insert(id, OwnRequest::List(request));
        self.send_to_server(&frame, now, sink);
    }

    /// Ends the restore, and forwards the lines that waited for it.
    fn finish_restore(&mut self, now: Duration, sink: &mut impl Sink) {
        // First, because a relay in any other state would store the waiting lines again.
        self.state = State::Up;
        for (id, frame) in self.opening.listens().to_vec() {
            self.own.insert(id, OwnRequest::Listen);
            self.send_to_server(&frame, now, sink);
        }
        sink.notify(&Notice::Restored);
        while let Some(frame) = self.waiting.pop() {
            self.handle_client(&Line::of_text(&frame), now, sink);
        }
    }

    /// Handles a page of a list that the client knows, and reports a changed list after the last.
    fn take_page(
        &mut self,
        request: ListRequest,
        result: Value<'_>,
        now: Duration,
        sink: &mut impl Sink,
    ) {
        let ListRequest { list, seen, before, page } = request;
        let seen = seen.with(list, result);
        let cursor = result.get("nextCursor").and_then(|it| it.as_str());
        // A hostile server can send cursors without end.
        if let Some(cursor) = cursor.filter(|_| page < MAX_PAGES) {
            let next = ListRequest { list, seen, before, page: page + 1 };
            self.request_page(next, Some(&cursor), now, sink);
            return;
        }
        if seen == before {
            self.finish_list(list, now, sink);
            return;
        }
        self.opening.set_list(list, seen);
        sink.notify(&Notice::Changed(&format!("its {} differ", list.method())));
        // Without the capability, the client does not expect the notification.
        if self.opening.agreed().is_some_and(|agreed| agreed.may_change(list)) {
            let changed = RelayReply::ListChanged { capability: list.capability() };
            sink.send((Direction::ServerToClient, changed).into());
        }
        self.finish_list(list, now, sink);
    }

    /// Handles the acknowledgement of a subscription that the relay requested again. Returns false
    /// for any other.
    fn take_second_acknowledgement(&mut self, params: Option<Value<'_>>) -> bool {
        let meta = params.and_then(|params| params.get("_meta"));
        let id = meta.and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId"));
        let Some(Ok(id)) = id.map(|id| Id::read(id, self.limits.max_id_bytes())) else {
            return false;
        };
        let id = id.into_owned();
        let is_second = matches!(self.own.get(&id), Some(OwnRequest::Listen));
        if is_second {
            self.own.remove(&id);
        }
        is_second
    }
}
