//! Replies for lines that are no valid message: the requests that wait for them fail.

use hardline_wire::encode::{ReplyTo, code, error};

use super::Guard;
use super::inspection::Carries;
use super::work::Work;
use crate::finding::Direction;
use crate::frame::Refused;
use crate::session::Reply;

impl Guard {
    /// Sends the replies for a line that does not pass. Returns true if a request failed because of
    /// it.
    pub(super) fn refuse(
        &mut self,
        direction: Direction,
        refused: Refused,
        work: &mut Work<'_>,
    ) -> bool {
        let Refused { rule, code, reason, requests, responses, owes_anonymous, .. } = refused;
        let kind = if code == code::PARSE_ERROR { "Parse error" } else { "Invalid request" };
        let mut failed = Vec::new();
        for id in responses {
            let reply = Reply::new(id.clone(), rule, format!("no usable answer: {reason}"));
            if self.fail_towards(direction, reply, work) {
                failed.push(id);
            }
        }
        for id in requests {
            // One id may be recovered as a request and as an answer.
            if !failed.contains(&id) {
                let reply = Reply::new(id, rule, format!("{kind}: {reason}"));
                work.reply(direction.opposite(), reply.with_code(code));
            }
        }
        if owes_anonymous && self.anonymous.try_acquire(work.now) {
            let to = ReplyTo::unknown(self.session.version());
            let mut line = error(to, code, &format!("{kind}: {reason}"), None).into_bytes();
            line.pop();
            work.deliver(direction.opposite(), line.into(), Carries::Complaint);
        }
        !failed.is_empty()
    }
}
