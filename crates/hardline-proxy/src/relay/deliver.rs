//! Delivery of inspected frames: reports the findings, learns from the messages, sends the frames.

use std::time::Duration;

use hardline_guard::{Carries, Delivery, Direction, Inspection};
use hardline_wire::frame::Frame;

use super::restore::OwnRequest;
use super::{DriverAction, Outgoing, Relay, Sink};
use crate::notice::Notice;

impl Relay {
    /// Reports the result of an inspection and sends its deliveries.
    pub(super) fn dispatch(
        &mut self,
        inspection: Inspection<'_>,
        now: Duration,
        sink: &mut impl Sink,
    ) {
        for found in &inspection.found {
            sink.notify(&Notice::Found(found));
        }
        if inspection.unlisted > 0 {
            sink.notify(&Notice::Unlisted(inspection.unlisted));
        }
        if let Some(noise) = inspection.noise {
            sink.notify(&Notice::Noise(noise));
        }
        if let Some(tool) = &inspection.denied {
            sink.notify(&Notice::Denied(tool));
        }
        if let Some(trouble) = &inspection.trouble {
            sink.notify(&Notice::Trouble(trouble));
        }
        for delivery in inspection.deliveries {
            match delivery.direction {
                Direction::ClientToServer => self.deliver_to_server(delivery, now, sink),
                Direction::ServerToClient => self.deliver_to_client(delivery, now, sink),
            }
        }
        // Last, so that the client still gets the errors for what was blocked.
        if let Some(rule) = inspection.close {
            sink.notify(&Notice::Closed(rule));
            self.action = Some(DriverAction::EndSession);
        }
    }

    /// Learns from a message of the client, and sends its frame to the server.
    fn deliver_to_server(&mut self, delivery: Delivery<'_>, now: Duration, sink: &mut impl Sink) {
        let frame = &**delivery.frame.get();
        match &delivery.carries {
            Carries::Message(message) => self.learn_from_client(message, frame, now),
            Carries::Batch(messages) => {
                for message in messages {
                    // Without a frame, because a part of a batch cannot be sent again.
                    self.learn_from_client(message, &[], now);
                }
            }
            // The guard holds back no batch of the client.
            Carries::Unread => {
                if let Ok(Frame::Message(message, _)) = self.decoder.decode(frame) {
                    self.learn_from_client(&message, frame, now);
                }
            }
            Carries::Reply(_) | Carries::Complaint | Carries::Unchecked => {}
        }
        sink.send(delivery.into());
    }

    /// Learns from a message of the server, and sends its frame to the client unless it answers a
    /// request of the relay.
    fn deliver_to_client(&mut self, delivery: Delivery<'_>, now: Duration, sink: &mut impl Sink) {
        let frame = &**delivery.frame.get();
        // Frames that the guard joined, mended or held back are read again.
        let decoded = match &delivery.carries {
            Carries::Unread => self.decoder.decode(frame).ok(),
            _ => None,
        };
        let message = match (&delivery.carries, &decoded) {
            (Carries::Message(message), _) | (_, Some(Frame::Message(message, _))) => Some(message),
            (Carries::Batch(messages), _) => {
                for message in messages {
                    self.learn_from_server(message);
                }
                None
            }
            (_, Some(Frame::Batch(batch))) => {
                let elements: Vec<_> = batch.elements().collect();
                for element in elements {
                    if let Ok((message, _)) = self.decoder.decode_element(element) {
                        self.learn_from_server(&message);
                    }
                }
                None
            }
            (Carries::Reply(reply), _) => {
                // The guard has answered the request, so its deadline must not fail it again.
                self.end_request(&reply.id);
                match self.own.remove(&reply.id) {
                    // The subscription is the client's, so the client gets the error.
                    None | Some(OwnRequest::Listen) => None,
                    // The guard blocked the answer to a request of the relay.
                    Some(own) => {
                        self.handle_own_failure(&own);
                        if let OwnRequest::List(request) = own {
                            self.finish_list(request.list, now, sink);
                        }
                        return;
                    }
                }
            }
            _ => None,
        };
        if let Some(message) = message {
            if self.take_own_answer(message, now, sink) {
                return;
            }
            self.learn_from_server(message);
            if let Some(rename) = self.ids.rename(message, &self.limits) {
                sink.send(Outgoing::from(delivery).renamed(&rename, &self.limits));
                return;
            }
        }
        sink.send(delivery.into());
    }
}
