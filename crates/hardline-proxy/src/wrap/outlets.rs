//! The two output streams, as the sink of a relay.

use std::task::Context;
use std::time::Duration;

use hardline_guard::Direction;
use hardline_transport::StandardOutput;
use hardline_transport::lines::Outlet;
use tokio::net::unix::pipe::Sender;

use super::Observer;
use crate::note::Note;
use crate::relay::Sink;

/// Writes the frames of a relay to the right stream.
pub(super) struct Outlets<'a, 'b, 'c> {
    pub(super) client: &'a mut Outlet<StandardOutput>,
    pub(super) server: Option<&'a mut Outlet<Sender>>,
    pub(super) context: &'a mut Context<'b>,
    pub(super) observer: &'c mut dyn Observer,
    pub(super) now: Duration,
}

impl Sink for Outlets<'_, '_, '_> {
    fn send(&mut self, direction: Direction, frame: &[u8], is_own: bool) {
        match direction {
            Direction::ServerToClient => self.client.send(frame, is_own, self.context),
            Direction::ClientToServer => {
                // Between two servers there is no stream; the relay then keeps or fails the
                // requests.
                if let Some(server) = &mut self.server {
                    server.send(frame, is_own, self.context);
                }
            }
        }
    }

    fn note(&mut self, note: &Note<'_>) {
        self.observer.note(self.now, note);
    }

    fn wants_lines(&self) -> bool {
        self.observer.wants_lines()
    }
}
