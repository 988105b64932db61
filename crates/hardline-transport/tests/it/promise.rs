//! The promise of the crate, in random sessions: every request that has an id and was not cancelled
//! gets exactly one answer, independent of all other input and its timing.

use std::collections::HashMap;
use std::time::Duration;

use hardline_testkit::generate::Rng;
use hardline_transport::{EndpointSettings, Incoming, Role};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use serde_json::Value;

use crate::peer::{as_text, pair_over};

const SESSIONS: u64 = 400;
const LINES: usize = 60;

/// Input from a peer, and the number of answers due for each id.
struct Script {
    text: Vec<u8>,
    owed: HashMap<String, usize>,
}

impl Script {
    fn random(random: &mut Rng, has_batches: bool) -> Self {
        let mut script = Self { text: Vec::new(), owed: HashMap::new() };
        for number in 0..LINES {
            let id = match random.below(4) {
                0 => format!("\"id-{number}\""),
                1 => format!("-1{number}"),
                _ => number.to_string(),
            };
            script.line(random, &id, has_batches);
            script.text.extend_from_slice(if random.one_in(5) { b"\r\n" } else { b"\n" });
        }
        // The last line counts even without its newline.
        script.request("\"last\"");
        script
    }

    fn owe(&mut self, id: &str, answers: usize) {
        *self.owed.entry(id.to_owned()).or_default() += answers;
    }

    fn request(&mut self, id: &str) {
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"id":0,"x":"{{"}}}}"#);
        self.text.extend_from_slice(text.as_bytes());
        self.owe(id, 1);
    }

    fn line(&mut self, random: &mut Rng, id: &str, has_batches: bool) {
        let text = match random.below(14) {
            0 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"cut","params":{{"a":"#),
            1 => format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"a":NaN}},"id":{id}}}"#),
            2 => format!(r#"{{"id":{id},"method":"no version"}}"#),
            3 => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"a":"{}"}}}}"#,
                "x".repeat(3000)
            ),
            4 => {
                // Two values on one line, the second with its own id.
                let other = format!("\"{}-b\"", id.trim_matches('"'));
                self.owe(&other, 1);
                format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}{{"jsonrpc":"2.0","id":{other},"method":"m"}}"#
                )
            }
            5 => {
                self.text.extend_from_slice(
                    [
                        &b"noise"[..],
                        b"",
                        b"\xff\xfe",
                        b"[1,2",
                        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
                    ][random.below(5)],
                );
                return;
            }
            6 => {
                self.text.extend_from_slice(
                    br#"{"jsonrpc":"2.0","method":"notifications/x","params":{"id":5}}"#,
                );
                return;
            }
            7 => {
                let other = format!("\"{}-c\"", id.trim_matches('"'));
                self.owe(&other, 1);
                let bad = if has_batches { r#"{"jsonrpc":"2.0"}"# } else { "" };
                let comma = if bad.is_empty() { "" } else { "," };
                format!(
                    r#"[{{"jsonrpc":"2.0","id":{id},"method":"m"}},{bad}{comma}{{"jsonrpc":"2.0","id":{other},"method":"m"}}]"#
                )
            }
            _ => return self.request(id),
        };
        self.text.extend_from_slice(text.as_bytes());
        self.owe(id, 1);
    }
}

async fn session(seed: u64) {
    let mut random = Rng::new(seed);
    let has_batches = random.one_in(2);
    let script = Script::random(&mut random, has_batches);
    let limits = Limits::default().with_max_frame_bytes(2000).unwrap();
    let limits = limits.with_max_queue_frames(1 + random.below(8)).unwrap();
    let settings =
        EndpointSettings::default().with_limits(limits).with_grace(Duration::from_secs(20));
    let (mut connection, peer, _) = pair_over(Role::Server, settings, 1 + random.below(5000));
    if has_batches {
        connection.set_version("2025-03-26".parse().unwrap());
    }
    let serving = tokio::spawn(async move {
        let mut open: Vec<Id<'static>> = Vec::new();
        loop {
            let patience = Duration::from_micros(1 + random.below(200) as u64);
            match tokio::time::timeout(patience, connection.receive_with(as_text)).await {
                Ok(None) => break,
                Ok(Some(Incoming::Message(text))) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    match message.get("id") {
                        Some(Value::String(id)) => open.push(Id::from_string(id)),
                        Some(id) => open.push(Id::from_integer(id.as_i64().unwrap())),
                        None => {}
                    }
                }
                Ok(Some(_)) => {}
                // The service never answers some requests: the end of the grace period does.
                Err(_) if !open.is_empty() && !random.one_in(8) => {
                    let id = open.swap_remove(random.below(open.len()));
                    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
                    let sending = connection.send_answer(&id, line.clone().into_bytes());
                    if !random.one_in(3) {
                        sending.room().await.unwrap();
                    }
                    if random.one_in(10) {
                        // A second answer is not sent.
                        drop(connection.send_answer(&id, line.into_bytes()));
                    }
                }
                Err(_) => {
                    if random.one_in(20) {
                        open.pop();
                    }
                }
            }
        }
        connection.close().await.unwrap();
    });
    let text = script.text;
    let (writer, mut reader) = peer.split();
    let writing = tokio::spawn(async move { writer.write_in_pieces(&text, seed).await });
    let lines = reader.lines().await;
    writing.await.unwrap();
    serving.await.unwrap();

    let mut answers: HashMap<String, usize> = HashMap::new();
    for line in &lines {
        let parsed: Value = serde_json::from_str(line).unwrap();
        let all = match parsed {
            Value::Array(all) => all,
            one => vec![one],
        };
        for answer in all {
            if !answer["id"].is_null() {
                *answers.entry(answer["id"].to_string()).or_default() += 1;
            }
        }
    }
    let mut wrong: Vec<_> =
        script.owed.iter().filter(|(id, count)| answers.get(*id) != Some(count)).collect();
    wrong.sort();
    assert!(wrong.is_empty(), "seed {seed}: owed {wrong:?}, answers {answers:?}\n{lines:#?}");
    assert_eq!(answers.len(), script.owed.len(), "seed {seed}: an answer to an unknown id");
}

#[tokio::test(start_paused = true)]
async fn every_request_is_answered_exactly_once() {
    for seed in 0..SESSIONS {
        session(seed).await;
    }
}
