//! What arrived at a client in one scene.

use hardline_wire::line::{Content, Line};
use serde_json::Value;

/// Everything that arrived, in its order.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) lines: Vec<Arrived>,
    /// Requests that were made.
    pub(super) asked: Vec<i64>,
    /// The one that triggered the attack.
    pub(super) attack: i64,
    /// Calls of honest tools, with the text that they return.
    pub(super) honest: Vec<(i64, &'static str)>,
    /// Whether the server has closed its output.
    pub(super) is_over: bool,
}

/// One line.
#[derive(Debug)]
pub(super) struct Arrived {
    /// Its bytes, or the first of them.
    pub(super) text: Vec<u8>,
    /// How long it was.
    pub(super) length: u64,
    /// Whether it was too long to be kept.
    pub(super) is_cut: bool,
    /// What it says, if it is JSON of a reasonable size. Read as most clients do: of two members with
    /// one name the last one counts.
    pub(super) value: Option<Value>,
}

/// Most lines that are kept: more than any attack here has.
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

    /// Whether it is an answer.
    pub(super) fn is_answer(&self) -> bool {
        self.member("method").is_none()
            && (self.member("result").is_some() || self.member("error").is_some())
    }
}

impl Seen {
    pub(super) fn add(&mut self, line: Arrived) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
        }
    }

    /// The answers to a request: one, if all is well.
    pub(super) fn answers(&self, id: i64) -> impl Iterator<Item = &Arrived> {
        let is_its = move |line: &Arrived| line.member("id").and_then(Value::as_i64) == Some(id);
        self.lines.iter().filter(move |line| is_its(line) && line.is_answer())
    }

    /// Whether an honest call got what it is due.
    pub(super) fn is_served(&self, id: i64, text: &str) -> bool {
        let said = |line: &Arrived| {
            line.value.as_ref().and_then(|it| it.pointer("/result/content/0/text"))
                == Some(&text.into())
        };
        self.answers(id).next().is_some_and(said)
    }

    /// How many requests got exactly one answer.
    pub(super) fn answered_once(&self) -> usize {
        self.asked.iter().filter(|id| self.answers(**id).count() == 1).count()
    }

    /// How many notifications there were.
    pub(super) fn notifications(&self) -> usize {
        let is_one =
            |line: &&Arrived| line.member("method").is_some() && line.member("id").is_none();
        self.lines.iter().filter(is_one).count()
    }
}
