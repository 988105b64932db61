//! What comes of one line, while it is put together.

use std::borrow::Cow;
use std::time::Duration;

use hardline_wire::single_line::single_line;

use super::sink::Sink;
use super::verdict::{Carries, Delivery, MAX_FOUND, Verdict};
use crate::finding::Direction;
use crate::inspected::Inspected;
use crate::rule::Rule;
use crate::session::{Asked, Reply};

/// What comes of one line.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) now: Duration,
    pub(super) sink: Sink,
    pub(super) noise: Option<&'a [u8]>,
    pub(super) answered: Option<Asked>,
    pub(super) denied: Option<String>,
    pub(super) trouble: Option<String>,
    deliveries: Vec<Delivery<'a>>,
    close: Option<Rule>,
}

impl<'a> Work<'a> {
    pub(super) fn new(now: Duration) -> Self {
        let sink = Sink::of_worst(MAX_FOUND);
        Self {
            now,
            sink,
            noise: None,
            answered: None,
            denied: None,
            trouble: None,
            deliveries: Vec::new(),
            close: None,
        }
    }

    pub(super) fn deliver(
        &mut self,
        direction: Direction,
        frame: Cow<'a, [u8]>,
        carries: Carries<'a>,
    ) {
        // A frame that some reader takes for several lines has several meanings. A line that is
        // no JSON goes on as it is, because the policy asked for that.
        let frame = match carries {
            Carries::Unchecked => frame,
            _ => on_one_line(frame),
        };
        let frame = Inspected::new(frame);
        self.deliveries.push(Delivery { direction, frame, carries });
    }

    /// Sends an error of ours.
    pub(super) fn reply(&mut self, direction: Direction, reply: Reply) {
        let mut line = reply.to_line().into_bytes();
        line.pop();
        self.deliver(direction, line.into(), Carries::Reply(reply));
    }

    /// Ends the session, if nothing has ended it yet.
    pub(super) fn close(&mut self, rule: Rule) {
        self.close.get_or_insert(rule);
    }

    pub(super) fn finish(self) -> Verdict<'a> {
        let Self { sink, noise, answered, denied, trouble, deliveries, close, .. } = self;
        let Sink { found, unlisted, .. } = sink;
        Verdict { deliveries, found, unlisted, noise, close, answered, denied, trouble }
    }
}

/// Rewrites a frame that some reader would split. See [`single_line`].
pub(super) fn on_one_line(frame: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match frame {
        Cow::Borrowed(frame) => single_line(frame),
        Cow::Owned(frame) => match single_line(&frame) {
            Cow::Borrowed(_) => Cow::Owned(frame),
            Cow::Owned(rewritten) => Cow::Owned(rewritten),
        },
    }
}
