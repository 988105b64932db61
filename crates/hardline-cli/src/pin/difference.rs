//! Differences between the last lists of a server and its pins, shown whole.
//!
//! A person approves what stands here, so nothing is shortened. Only one difference at a time is put
//! into words: a server with many changed tools costs no more memory than its largest tool.

use hardline_guard::pin::{Definition, Diff, Instructions};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Pins, shown};

/// A difference between the last lists of a server and its pins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Difference<'p> {
    /// The instructions of the server differ.
    Instructions { before: &'p Instructions, now: &'p Instructions },
    /// A tool differs.
    Changed { before: &'p Definition, now: &'p Definition },
    /// A tool is not pinned.
    New { now: &'p Definition },
    /// A pinned tool is no longer listed.
    Gone { before: &'p Definition },
}

/// A difference as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Document<'p> {
    server: &'p str,
    kind: &'static str,
    tool: Option<&'p str>,
    /// The text of `hardline pin diff`.
    detail: String,
    /// The pinned definition.
    before: Option<Box<RawValue>>,
    /// The listed definition.
    now: Option<Box<RawValue>>,
}

impl Pins {
    /// Returns the differences between the last lists of a server and its pins: instructions first,
    /// tools that are gone last.
    pub(super) fn differences(&self, server: &str) -> Vec<Difference<'_>> {
        let mut found = Vec::new();
        if let (Some(before), Some(now)) =
            (self.lock.instructions(server), self.listed.instructions(server))
            && before.fingerprint() != now.fingerprint()
        {
            found.push(Difference::Instructions { before, now });
        }
        // The server has not listed its tools completely yet.
        if !self.listed.has_list(server) {
            return found;
        }
        // If no list of the server is pinned, all its tools are new.
        found.extend(self.listed.tools(server).filter_map(|now| {
            match self.lock.tool(server, now.name()) {
                None => Some(Difference::New { now }),
                Some(before) if before.fingerprint() == now.fingerprint() => None,
                Some(before) => Some(Difference::Changed { before, now }),
            }
        }));
        let is_listed = |it: &&Definition| self.listed.tool(server, it.name()).is_some();
        let gone = self.lock.tools(server).filter(|it| !is_listed(it));
        found.extend(gone.map(|before| Difference::Gone { before }));
        found
    }
}

impl<'p> Difference<'p> {
    /// Returns the name of the tool, as the server writes it; `None` for instructions.
    pub(super) fn tool(self) -> Option<&'p str> {
        match self {
            Self::Instructions { .. } => None,
            Self::New { now: tool }
            | Self::Changed { now: tool, .. }
            | Self::Gone { before: tool } => Some(tool.name()),
        }
    }

    /// Returns the whole difference for people, escaped.
    pub(super) fn text(self) -> String {
        let tool = shown(self.tool().unwrap_or_default());
        let (words, lines, now) = match self {
            Self::Instructions { before, now } => {
                let (before, now) = (before.definition(), now.definition());
                let words = "the server's instructions differ from their pin".to_owned();
                (words, Diff::whole(before, now).to_string(), now)
            }
            Self::Changed { before, now } => {
                let words = format!("tool `{tool}` differs from its pin");
                (words, Diff::whole(before, now).to_string(), now)
            }
            Self::New { now } => (format!("tool `{tool}` is new"), now.to_lines(), now),
            Self::Gone { .. } => return format!("tool `{tool}` is gone"),
        };
        let note = if now.is_outline() {
            "; it is too long to store, so that long parts are shown as digests"
        } else {
            ""
        };
        format!("{words}{note}:\n  {}", lines.replace('\n', "\n  "))
    }

    pub(super) fn document(self, server: &'p str) -> Document<'p> {
        let (kind, before, now) = match self {
            Self::Instructions { before, now } => {
                ("instructions", Some(before.definition()), Some(now.definition()))
            }
            Self::Changed { before, now } => ("changed", Some(before), Some(now)),
            Self::New { now } => ("new", None, Some(now)),
            Self::Gone { before } => ("gone", Some(before), None),
        };
        // Raw, because a number in a definition may be longer than a double.
        let raw = |it: &Definition| RawValue::from_string(it.canonical().to_owned()).ok();
        let (before, now) = (before.and_then(raw), now.and_then(raw));
        Document { server, kind, tool: self.tool(), detail: self.text(), before, now }
    }
}
