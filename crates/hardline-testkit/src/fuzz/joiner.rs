//! The joiner on any interleaving: nothing passes while a head is open, no line is delivered twice
//! or out of order, and no request whose answer was held stays unanswered.
//!
//! Every line contains a number, so that delivered text can be traced to its line.

use std::collections::HashSet;
use std::time::Duration;

use hardline_guard::Rule;
use hardline_guard::join::{JoinEvent, Joiner, MAX_HOLD, MAX_SUSPICION, MAX_WAIT, Taken};
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::json::lone_surrogates;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use hardline_wire::message::Message;

use crate::generate::{Rng, message};

const MAX_STEPS: usize = 64;

/// Passes a joiner the lines and waits that `data` chooses.
pub fn joiner(data: &[u8]) {
    let mut rng = Rng::scripted(data);
    let limits = match rng.below(4) {
        // Small enough that some of the lines are overlong.
        0 => Limits::default().with_max_frame_bytes(80 + rng.below(200)).expect("it is in range"),
        _ => Limits::default(),
    };
    let mut run = Run::new(limits);
    for number in 0..MAX_STEPS {
        if rng.is_spent() {
            break;
        }
        match rng.below(16) {
            0 => run.wait(Duration::from_millis(wait(&mut rng))),
            1 => run.joiner.handle_bytes(b"{", run.now),
            2 => run.cancel(&Id::from_integer(digit(&mut rng))),
            _ => run.line(&Sent::choose(&mut rng, number)),
        }
    }
    if rng.one_in(2) {
        // The longest times of all states: afterwards nothing may be held.
        run.wait(MAX_HOLD);
        run.wait(MAX_WAIT);
        run.wait(MAX_SUSPICION);
    } else {
        run.finish();
    }
    assert_eq!(run.joiner.poll_timeout(), None, "something is still waited for");
    assert!(!run.joiner.is_holding());
    for id in &run.owed {
        assert!(!run.pending.contains(id), "{id} is left waiting");
    }
}

fn wait(rng: &mut Rng) -> u64 {
    // Times around the limits of the joiner.
    [0, 1, 100, 249, 250, 251, 1000, 4999, 5000].get(rng.below(9)).copied().unwrap_or(0)
}

fn digit(rng: &mut Rng) -> i64 {
    i64::try_from(rng.below(8)).unwrap_or(0)
}

/// A line of the server, and its known properties.
struct Sent {
    text: String,
    number: usize,
    /// True if it is certainly the head of a message.
    is_head: bool,
    /// The request that it certainly answers.
    answers: Option<i64>,
}

impl Sent {
    fn choose(rng: &mut Rng, number: usize) -> Self {
        let mark = format!("#{number}#");
        let id = digit(rng);
        let (mut is_head, mut answers) = (false, None);
        let text = match rng.below(16) {
            0..=2 => {
                (is_head, answers) = (true, Some(id));
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":"{mark}"#)
            }
            3 => {
                is_head = true;
                format!(r#"{{"result":{{"a":"{mark}"#)
            }
            4 => {
                is_head = true;
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"a":"{mark}"#)
            }
            5 => {
                is_head = true;
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x","params":{{"a":"{mark}"#)
            }
            6 | 7 => {
                answers = Some(id);
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":"{mark}"}}}}"#)
            }
            8 => {
                answers = Some(id);
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"{mark}"}}}}"#)
            }
            9 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list","x":"{mark}"}}"#),
            10 => format!("{mark}\"}}}}"),
            11 => format!("{mark}\"}},\"id\":{id},\"jsonrpc\":\"2.0\"}}"),
            12 => format!("{mark} say \\\"hi\\\" {}", rng.pick(&["\\", "\"", "", "{", "\t"])),
            13 => message(rng).replace('\n', " "),
            14 => {
                let bytes = rng.bytes(40);
                let text = String::from_utf8_lossy(&bytes).replace(['\n', '#'], "");
                format!("{text}{mark}")
            }
            _ => rng.pick(&["", "\r", "plain", "\"", "\\", "}", "]}", "\u{feff}", "[1]"]).into(),
        };
        Self { text, number, is_head, answers }
    }
}

struct Run {
    limits: Limits,
    framer: LineFramer,
    joiner: Joiner,
    observer: Joiner,
    pending: HashSet<Id<'static>>,
    /// Requests whose answer was held.
    owed: HashSet<Id<'static>>,
    now: Duration,
    /// Number of bytes sent.
    length: u64,
    /// Numbers of the held lines.
    held: Vec<usize>,
    /// Numbers of all delivered lines.
    delivered: Vec<usize>,
}

impl Run {
    fn new(limits: Limits) -> Self {
        Self {
            framer: LineFramer::new(&limits),
            joiner: Joiner::new(&limits),
            observer: Joiner::observing(&limits),
            limits,
            // Fewer than the ids in the lines, so that some answers match no request.
            pending: (0..6).map(Id::from_integer).chain([Id::from_string("a")]).collect(),
            owed: HashSet::new(),
            now: Duration::ZERO,
            length: 0,
            held: Vec::new(),
            delivered: Vec::new(),
        }
    }

    fn line(&mut self, sent: &Sent) {
        // Handles timers that are due now, so that the line alone decides what happens below.
        self.wait(Duration::ZERO);
        let was_holding = self.joiner.is_holding();
        if !was_holding {
            self.held.clear();
        }
        let chunk = format!("{}\n", sent.text);
        self.length += chunk.len() as u64;
        let mut rest = chunk.as_bytes();
        let line = self.framer.next_line(&mut rest).expect("it is a line");
        let pending = &self.pending;
        let is_pending = |id: &Id<'_>| pending.contains(&id.clone().into_owned());
        let taken = self.joiner.handle_line(&line, self.now, &is_pending);
        // A second joiner only observes the same lines and must not hold any of them.
        let seen = self.observer.handle_line(&line, self.now, &is_pending);
        assert_eq!(seen, Taken::Pass, "an observing joiner holds nothing back");
        let passed = (taken == Taken::Pass).then(|| line.whole().map(<[u8]>::to_vec)).flatten();
        let fits = line.whole().is_some();

        match taken {
            Taken::Held => self.held.push(sent.number),
            Taken::Pass => {
                // The joiner gives up a line of opening brackets if the next line shows that it is
                // no head.
                let was_head = was_holding && self.held.len() > 1;
                assert!(!was_head && !self.joiner.is_holding(), "passed while a head is open");
                assert!(!(sent.is_head && fits), "a head passed: {}", sent.text);
            }
        }
        if let Some(id) = sent.answers.map(Id::from_integer)
            && taken == Taken::Held
            && self.pending.contains(&id)
        {
            self.owed.insert(id);
        }
        self.drain(was_holding);
        if let Some(text) = passed {
            assert_eq!(
                text,
                sent.text.trim_start_matches('\u{feff}').trim_end_matches('\r').as_bytes()
            );
            self.pass(&text, sent.number);
        }
    }

    /// Handles a line that passes, as the guard does.
    fn pass(&mut self, text: &[u8], number: usize) {
        self.deliver(number);
        let mut decoder = Decoder::new(&self.limits);
        let Ok(Frame::Message(message @ (Message::Response(_) | Message::Error(_)), _)) =
            decoder.decode(text)
        else {
            return;
        };
        if let Some(id) = message.id() {
            self.cancel(&id.clone().into_owned());
        }
    }

    fn cancel(&mut self, id: &Id<'static>) {
        self.pending.remove(id);
        self.joiner.settle(id);
        self.observer.settle(id);
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        let pending = &self.pending;
        let is_pending = |id: &Id<'_>| pending.contains(&id.clone().into_owned());
        self.joiner.handle_timeout(self.now, &is_pending);
        self.observer.handle_timeout(self.now, &is_pending);
        self.drain(false);
        let is_over = self.joiner.poll_timeout().is_none_or(|it| self.now < it);
        assert!(is_over, "told the time, it still waits for it");
    }

    fn finish(&mut self) {
        let pending = &self.pending;
        let is_pending = |id: &Id<'_>| pending.contains(&id.clone().into_owned());
        self.joiner.finish(&is_pending);
        self.drain(false);
    }

    /// Handles all events. Only a line after a head can complete a message.
    fn drain(&mut self, mut may_join: bool) {
        while let Some(event) = self.joiner.poll_event() {
            match event {
                JoinEvent::Found { finding, start } => {
                    assert!(start + (finding.offset + finding.length) as u64 <= self.length + 3);
                    assert!(matches!(
                        finding.rule,
                        Rule::FrameSplit | Rule::FrameNotJson | Rule::FrameNoise
                    ));
                }
                JoinEvent::Joined(joined) => {
                    assert!(may_join, "two messages of one hold, or one of nothing");
                    may_join = false;
                    assert!(!self.joiner.is_holding());
                    assert!(self.pending.remove(&joined.id), "{} was not pending", joined.id);
                    self.joined(&joined.text, &joined.id);
                }
                JoinEvent::Failed(reply) => {
                    assert!(self.pending.remove(&reply.id), "{} was not pending", reply.id);
                }
                JoinEvent::Unawaited { id, .. } => assert!(!self.pending.contains(&id)),
                JoinEvent::Refused(_) | JoinEvent::Lost | JoinEvent::Printed { .. } => {}
                other => panic!("{other:?} is new"),
            }
        }
        while let Some(event) = self.observer.poll_event() {
            assert!(matches!(event, JoinEvent::Found { .. }), "an observing joiner does nothing");
        }
    }

    fn joined(&mut self, text: &[u8], id: &Id<'static>) {
        assert!(!text.iter().any(|it| b"\r\n".contains(it)), "a message is one line");
        // A torn message may contain half a surrogate pair, which the decoder refuses.
        let mut mended = text.to_vec();
        for at in lone_surrogates(text) {
            mended.splice(at..at + 6, *b"\\ufffd");
        }
        let mut decoder = Decoder::new(&self.limits);
        let Ok(Frame::Message(message, _)) = decoder.decode(&mended) else {
            panic!("no message: {}", String::from_utf8_lossy(text));
        };
        assert!(matches!(message, Message::Response(_) | Message::Error(_)));
        assert_eq!(message.id(), Some(id));
        // The numbers must be those of all held lines.
        let text = String::from_utf8_lossy(text);
        for number in text.split('#').filter_map(|it| it.parse().ok()) {
            assert!(self.held.contains(&number), "line {number} is not one of {:?}", self.held);
            self.deliver(number);
        }
    }

    /// Records the delivery of a line, which must come after all lines before it.
    fn deliver(&mut self, number: usize) {
        assert!(self.delivered.last().is_none_or(|it| *it < number), "{number} out of its order");
        self.delivered.push(number);
    }
}
