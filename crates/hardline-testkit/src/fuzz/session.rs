//! The guard on whole sessions: each request of the client is answered once, and the output of the
//! guard passes again.

use std::collections::HashMap;
use std::time::Duration;

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::{Action, Carries, Direction, Guard, Inspection};
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::limits::Limits;
use hardline_wire::line::Line;
use hardline_wire::message::Message;

use crate::generate::Rng;
use crate::plant;

/// Limit on the steps of one session.
const MAX_STEPS: usize = 40;
/// Ids of the client's requests, which hostile lines use as well.
const IDS: usize = 12;

/// Plays a session that `data` chooses.
///
/// # Panics
///
/// If a promise is broken.
pub fn session(data: &[u8]) {
    let mut random = Rng::scripted(data);
    let profile = if random.one_in(2) { Profile::Balanced } else { Profile::Strict };
    let mut game = Game::new(profile);
    game.open(random.pick(&["2025-03-26", "2025-06-18", "2025-11-25"]));
    for step in 0..MAX_STEPS {
        // Without the fuzzer's bytes, further steps would only make a failure longer.
        if random.is_spent() {
            break;
        }
        game.step(step, &mut random);
    }
    game.end();
}

struct Game {
    guard: Guard,
    /// Guard that judges the output once more.
    again: Guard,
    decoder: Decoder,
    now: Duration,
    /// Requests of the client, and the number of answers to each.
    answers: HashMap<String, u32>,
    cancelled: Vec<String>,
}

impl Game {
    fn new(profile: Profile) -> Self {
        Self {
            guard: Guard::new(Policy::profile(profile)),
            again: Guard::new(Policy::profile(profile)),
            decoder: Decoder::new(&Limits::default()),
            now: Duration::ZERO,
            answers: HashMap::new(),
            cancelled: Vec::new(),
        }
    }

    fn open(&mut self, version: &str) {
        self.ask(
            "0",
            &format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"sampling":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
            ),
        );
        self.show(
            Direction::ServerToClient,
            format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#).as_bytes(),
        );
        let ready = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.show(Direction::ClientToServer, ready);
    }

    fn step(&mut self, step: usize, random: &mut Rng) {
        match random.below(8) {
            0 | 1 => {
                // Never an id in flight: that is a fault of the client, which is tested elsewhere.
                let id = (100 + step).to_string();
                let call = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#
                );
                self.ask(&id, &call);
            }
            2 => {
                // May name a request that does not exist, which the guard must ignore.
                let id = (100 + random.below(MAX_STEPS)).to_string();
                let line = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                );
                self.show(Direction::ClientToServer, line.as_bytes());
                // A cancelled request may be answered or not.
                self.cancelled.push(id);
            }
            3 => {
                self.now += Duration::from_millis(random.below(256) as u64 * 20);
                let verdict = self.guard.handle_timeout(self.now);
                self.check(verdict);
            }
            4 => {
                for line in plant::frame(random).split(|byte| *byte == b'\n') {
                    self.show(Direction::ServerToClient, line);
                }
            }
            _ => {
                let line = hostile(random);
                for part in line.split('\n') {
                    self.show(Direction::ServerToClient, part.as_bytes());
                }
            }
        }
    }

    fn ask(&mut self, id: &str, line: &str) {
        self.answers.insert(id.to_owned(), 0);
        self.show(Direction::ClientToServer, line.as_bytes());
    }

    fn show(&mut self, direction: Direction, text: &[u8]) {
        self.now += Duration::from_micros(10);
        let verdict = self.guard.inspect(direction, &Line::of_text(text), self.now);
        self.check(verdict);
    }

    /// Checks the output for a line.
    fn check(&mut self, verdict: Inspection<'_>) {
        for delivery in verdict.deliveries {
            let frame = delivery.frame.get();
            assert!(!frame.contains(&b'\n'), "a line is one line");
            assert!(
                !matches!(delivery.carries, Carries::Unchecked),
                "nothing unread is let through"
            );
            let report = self.again.check_frame(delivery.direction, frame);
            // An error that the guard writes may have an id that was invalid in the request.
            assert!(
                delivery.is_reply() || report.action < Action::Sanitize,
                "{} would be judged again: {:?}",
                String::from_utf8_lossy(frame),
                report.findings
            );
            if delivery.direction == Direction::ServerToClient {
                self.count(frame);
            }
        }
    }

    fn count(&mut self, frame: &[u8]) {
        let mut ids = Vec::new();
        match self.decoder.decode(frame) {
            Ok(Frame::Message(message, _)) => ids.extend(answered(&message)),
            Ok(Frame::Batch(batch)) => {
                for element in batch.elements() {
                    if let Ok((message, _)) = self.decoder.decode_element(element) {
                        ids.extend(answered(&message));
                    }
                }
            }
            Err(_) => {}
        }
        for id in ids {
            let count = self.answers.get_mut(&id).expect("an answer is to a request");
            *count += 1;
            assert_eq!(*count, 1, "{id} is answered once");
        }
    }

    /// Ends the server. Every request without an answer must get one now.
    fn end(mut self) {
        let verdict = self.guard.finish_server(self.now);
        self.check(verdict);
        // The caller of the guard answers these requests, so each counts as answered once.
        for orphan in self.guard.settle_all(Direction::ClientToServer) {
            let count = self.answers.get_mut(&orphan.id.to_string()).expect("it was asked");
            assert_eq!(*count, 0, "{} has its answer", orphan.id);
            *count = 1;
        }
        for (id, count) in self.answers {
            assert!(count == 1 || self.cancelled.contains(&id), "{id} has no answer");
        }
    }
}

/// Returns the id that a message answers.
fn answered(message: &Message<'_>) -> Option<String> {
    match message {
        Message::Response(response) => Some(response.id.to_string()),
        Message::Error(error) => error.id.as_ref().map(ToString::to_string),
        Message::Request(_) | Message::Notification(_) => None,
    }
}

/// Returns a line of a confused or hostile server.
fn hostile(random: &mut Rng) -> String {
    let id = 100 + random.below(IDS);
    let text = plant::text(random);
    let text = plant::spelled(random, &text);
    match random.below(12) {
        0..=2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":{text}}}}}"#),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1,"a":2}}}}"#),
        4 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"text\":\"torn\nend\"}}}}"),
        5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"text":"torn"#),
        6 => "end\"}}".to_owned(),
        7 => format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#),
        8 => format!(
            r#"[{{"jsonrpc":"2.0","id":{id},"result":{{}}}},{{"jsonrpc":"2.0","id":{},"error":{{"code":1,"message":{text}}}}}]"#,
            id + 1
        ),
        9 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}},"Method":"x"}}"#),
        10 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":1,"message":"\ud800"}}}}"#),
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{"x":{text}}}}}"#
        ),
    }
}
