//! The lines that reached a client in one scene.

use hardline_wire::line::{Content, Line};
use serde_json::Value;

/// All lines of a scene, in order.
#[derive(Debug, Default)]
pub(super) struct SceneTranscript {
    pub(super) lines: Vec<Arrived>,
    /// Ids of the client's requests.
    pub(super) asked: Vec<i64>,
    /// Id of the request that triggered the attack.
    pub(super) attack: i64,
    /// Calls of honest tools, with the text that each must return.
    pub(super) honest: Vec<(i64, &'static str)>,
    /// True if the server has closed its output.
    pub(super) is_over: bool,
}

/// A received line.
#[derive(Debug)]
pub(super) struct Arrived {
    /// Bytes of the line, or its beginning.
    pub(super) text: Vec<u8>,
    /// Full length in bytes.
    pub(super) length: u64,
    /// True if the line was too long to be stored.
    pub(super) is_cut: bool,
    /// Parsed JSON, if the line is JSON of a reasonable size. Parsed as most clients do: the last
    /// of two members with the same name counts.
    pub(super) value: Option<Value>,
}

/// Limit on stored lines; no attack of the demo sends more.
const MAX_LINES: usize = 20_000;

impl Arrived {
    pub(super) fn new(line: &Line<'_>) -> Self {
        match line.content {
            Content::Whole(text) => Self {
                text: text.to_vec(),
                length: text.len() as u64,
                is_cut: false,
                value: serde_json::from_slice(text).ok(),
            },
            Content::Overlong(line) => {
                Self { text: line.prefix.to_vec(), length: line.length, is_cut: true, value: None }
            }
        }
    }

    pub(super) fn member(&self, name: &str) -> Option<&Value> {
        self.value.as_ref()?.get(name)
    }

    /// Returns true for a result or an error.
    pub(super) fn is_answer(&self) -> bool {
        self.member("method").is_none()
            && (self.member("result").is_some() || self.member("error").is_some())
    }
}

impl SceneTranscript {
    pub(super) fn add(&mut self, line: Arrived) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
        }
    }

    /// Returns the answers to a request; there should be exactly one.
    pub(super) fn answers(&self, id: i64) -> impl Iterator<Item = &Arrived> {
        let is_its = move |line: &Arrived| line.member("id").and_then(Value::as_i64) == Some(id);
        self.lines.iter().filter(move |line| is_its(line) && line.is_answer())
    }

    /// Returns true if an honest call got its text.
    pub(super) fn is_served(&self, id: i64, text: &str) -> bool {
        let said = |line: &Arrived| {
            line.value.as_ref().and_then(|it| it.pointer("/result/content/0/text"))
                == Some(&text.into())
        };
        self.answers(id).next().is_some_and(said)
    }

    /// Counts the requests with exactly one answer.
    pub(super) fn answered_once(&self) -> usize {
        self.asked.iter().filter(|id| self.answers(**id).count() == 1).count()
    }

    /// Counts the notifications.
    pub(super) fn notifications(&self) -> usize {
        let is_one =
            |line: &&Arrived| line.member("method").is_some() && line.member("id").is_none();
        self.lines.iter().filter(is_one).count()
    }
}
