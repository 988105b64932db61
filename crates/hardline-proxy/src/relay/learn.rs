//! What is learned from messages that pass: what a server in the place of this one must be told, and which
//! requests have their answer.

use std::time::Duration;

use hardline_wire::id::Id;
use hardline_wire::message::{Message, cancelled_id};

use super::Relay;
use super::opening::Interest;

impl Relay {
    /// Remembers what a server in the place of this one must be told.
    pub(super) fn learn_from_client(&mut self, message: &Message<'_>, frame: &[u8], now: Duration) {
        match message {
            Message::Request(request) => {
                let id = || request.id.clone().into_owned();
                if let Some(timeout) = self.settings.request_timeout {
                    self.deadlines.add(now + timeout, id());
                }
                if let Some(interest) = self.opening.request(request, frame) {
                    self.interests.insert(id(), interest);
                }
            }
            Message::Notification(call) => match &*call.method {
                "notifications/initialized" => self.opening.initialized(frame),
                "notifications/cancelled" => {
                    if let Some(id) = cancelled_id(call.params, self.limits.max_id_bytes()) {
                        self.end_request(&id);
                    }
                }
                _ => {}
            },
            Message::Response(_) | Message::Error(_) => {}
        }
    }

    /// Learns from an answer.
    pub(super) fn learn_from_server(&mut self, message: &Message<'_>) {
        match message {
            Message::Response(response) => {
                let interest = self.end_request(&response.id);
                if let Some(interest) = interest {
                    self.opening.result(interest, response.result);
                }
            }
            Message::Error(error) => {
                if let Some(id) = &error.id {
                    self.end_request(id);
                }
            }
            Message::Notification(call) if call.method == "notifications/cancelled" => {
                if let Some(id) = cancelled_id(call.params, self.limits.max_id_bytes()) {
                    self.opening.end_listen(&id);
                }
            }
            Message::Request(_) | Message::Notification(_) => {}
        }
    }

    /// Forgets a request of the client that has its answer.
    pub(super) fn end_request(&mut self, id: &Id<'_>) -> Option<Interest> {
        self.opening.end_listen(id);
        if self.interests.is_empty() && self.deadlines.is_empty() {
            return None;
        }
        let id = id.clone().into_owned();
        self.deadlines.forget(&id);
        self.interests.remove(&id)
    }
}
