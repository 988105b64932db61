//! Fails requests whose answer will probably never come.
//!
//! A server that writes a broken answer does not write it again, and a client without a deadline of
//! its own would wait forever. Each kind of doubt gives the proper answer some time. Progress on the
//! request shows that the server is still at work, and gives it more: [`MAX_LOST_WAIT`] from then on if
//! the answer may have been for another request, and otherwise [`MAX_LOST_WAIT`] in all.

use std::time::Duration;

use hardline_wire::id::Id;

use super::Session;
use super::table::{InFlight, RequestKind};
use crate::finding::Direction;
use crate::rule::Rule;

pub use hardline_wire::mistyped::MAX_MISTYPED_WAIT;

/// Time that a request has for a proper answer after a broken line with its id.
pub const MAX_DAMAGED_WAIT: Duration = Duration::from_secs(2);
/// Time that each pending request has for its answer after an answer that cannot be assigned.
pub const MAX_LOST_WAIT: Duration = Duration::from_secs(30);

/// A reason to believe that the answer to a request will not come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Doubt {
    /// An answer came whose id has another JSON type.
    Mistyped,
    /// A line came that seems to be the answer and cannot be used.
    Damaged,
    /// The same, and content may have broken the line and gone on behind it.
    Torn,
    /// An answer came that cannot be assigned to any request.
    Lost,
}

impl Doubt {
    fn wait(self) -> Duration {
        match self {
            Self::Mistyped => MAX_MISTYPED_WAIT,
            Self::Damaged | Self::Torn => MAX_DAMAGED_WAIT,
            Self::Lost => MAX_LOST_WAIT,
        }
    }

    pub(super) fn rule(self) -> Rule {
        match self {
            Self::Mistyped => Rule::SessionIdType,
            Self::Damaged | Self::Torn | Self::Lost => Rule::FrameNotJson,
        }
    }

    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Mistyped => "no answer with this id came, only one whose id has another type",
            Self::Damaged | Self::Torn => {
                "no usable answer: the server sent a broken line that seems to be it"
            }
            Self::Lost => {
                "no usable answer: the server sent one that cannot be assigned to a request, \
                 and nothing else for this request since"
            }
        }
    }
}

/// The time at which a doubtful request fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) at: Duration,
    pub(super) doubt: Doubt,
    /// Time since which the request is doubtful.
    since: Duration,
}

impl Deadline {
    fn new(doubt: Doubt, now: Duration) -> Self {
        Self { at: now + doubt.wait(), doubt, since: now }
    }

    /// Returns the deadline after progress on the request.
    pub(super) fn extended(self, now: Duration) -> Self {
        let start = match self.doubt {
            Doubt::Lost => now,
            // The server has named the request, so it will hardly answer it again. Progress alone must not
            // keep the caller waiting.
            Doubt::Mistyped | Doubt::Damaged | Doubt::Torn => self.since,
        };
        Self { at: self.at.max(start + MAX_LOST_WAIT), ..self }
    }
}

impl Session {
    /// Fails a request of the client after a while, unless its proper answer comes before.
    pub(crate) fn doubt(&mut self, id: &Id<'static>, doubt: Doubt, now: Duration) {
        self.doubt_in(Direction::ClientToServer, id, doubt, now);
    }

    /// Returns the request of the client that an id on a broken line was probably meant for.
    pub(crate) fn meant_by(&self, id: &Id<'static>) -> Option<Id<'static>> {
        self.client.meant_by(id)
    }

    /// Returns true if a torn line seemed to be the answer to this request of the client.
    pub(crate) fn has_torn_answer(&self, id: &Id<'_>) -> bool {
        let request = self.client.get(&id.clone().into_owned());
        let deadline = request.and_then(|it| it.deadline);
        deadline.is_some_and(|it| it.doubt == Doubt::Torn)
    }

    /// Fails a request that went in the direction `request` after a while, unless its proper answer
    /// comes before.
    pub(super) fn doubt_in(
        &mut self,
        request: Direction,
        id: &Id<'static>,
        doubt: Doubt,
        now: Duration,
    ) {
        let deadline = Deadline::new(doubt, now);
        self.requests(request).expire_at(id, deadline);
        self.doubt_twin(request, id, now);
    }

    /// Makes the request doubtful whose id differs from `id` in its JSON type alone. A server that
    /// changes the type of ids may have meant that one.
    pub(crate) fn doubt_twin(&mut self, request: Direction, id: &Id<'static>, now: Duration) {
        if let Some(twin) = self.requests(request).twin_of(id) {
            let deadline = Deadline::new(Doubt::Lost, now);
            self.requests(request).expire_at(&twin, deadline);
        }
    }

    /// Makes every request of the client doubtful: one of them may have lost its answer.
    ///
    /// This is the general rule. It applies whenever the server wrote what may have been an
    /// answer, and nothing shows that exactly one request got exactly this answer or an error for
    /// it. Only the answer to a request ends its doubt. Progress on it gives it more time.
    pub(crate) fn doubt_all(&mut self, now: Duration) {
        let deadline = Deadline::new(Doubt::Lost, now);
        // A subscription has no answer to lose until it ends.
        self.client.expire_all(deadline, |it| it.kind != RequestKind::Subscription);
    }

    /// Does the same for the requests that were sent after `since`.
    pub(crate) fn doubt_sent_after(&mut self, since: Duration, now: Duration) {
        let deadline = Deadline::new(Doubt::Lost, now);
        let is_meant =
            |it: &InFlight| it.kind != RequestKind::Subscription && it.asked.since > since;
        self.client.expire_all(deadline, is_meant);
    }
}
