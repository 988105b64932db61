//! Learns from messages that pass: the state that a restarted server needs, and the end of requests.

use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::message::{Message, cancelled_id};

use super::Relay;
use super::opening::Interest;

impl Relay {
    /// Learns from a message of the client. `frame` is empty for a part of a batch.
    pub(super) fn learn_from_client(&mut self, message: &Message<'_>, frame: &[u8], now: Duration) {
        match message {
            Message::Request(request) => {
                let id = || request.id.clone().into_owned();
                if let Some(timeout) = self.settings.request_timeout {
                    self.deadlines.add(now + timeout, id());
                }
                if let Some(interest) = self.opening.add_request(request, frame) {
                    self.interests.insert(id(), interest);
                }
            }
            Message::Notification(call) if call.method == "notifications/initialized" => {
                self.opening.set_initialized(frame);
            }
            Message::Notification(call) if call.method == "notifications/cancelled" => {
                // A cancelled request gets no answer that could end it.
                if let Some(id) = cancelled_id(call.params, self.limits.max_id_bytes()) {
                    self.end_request(&id);
                }
            }
            Message::Notification(_) | Message::Response(_) | Message::Error(_) => {}
        }
    }

    /// Learns from a message of the server.
    pub(super) fn learn_from_server(&mut self, message: &Message<'_>) {
        match message {
            Message::Response(response) => {
                let interest = self.end_request(&response.id);
                if let Some(interest) = interest {
                    self.opening.add_result(interest, response.result);
                }
            }
            Message::Error(error) => {
                if let Some(id) = &error.id {
                    self.end_request(id);
                }
            }
            Message::Notification(call) if call.method == "notifications/cancelled" => {
                // A server ends a subscription by cancelling the request that opened it.
                if let Some(id) = cancelled_id(call.params, self.limits.max_id_bytes()) {
                    self.opening.end_listen(&id);
                }
            }
            Message::Notification(_) | Message::Request(_) => {}
        }
    }

    /// Forgets a request of the client that has its answer. Returns its effect on the session.
    pub(super) fn end_request(&mut self, id: &Id<'_>) -> Option<Interest> {
        self.opening.end_listen(id);
        // Most sessions track no requests, and the id need not be copied then.
        if self.interests.is_empty() && self.deadlines.is_empty() {
            return None;
        }
        let id = id.clone().into_owned();
        self.deadlines.forget(&id);
        self.interests.remove(&id)
    }
}
