//! What is planted in a text: messages, control characters, what people do not see.
//!
//! One text, already taken out of its frame; which strings of a frame are looked at, and what is
//! done about a hit, is decided elsewhere.
//!
//! Every text is surveyed once at several gigabytes a second, which names all that can be a hit
//! (see `survey`); only that is read. A message is told by reading it as the most generous reader
//! would, never by a pattern.
//!
//! Invariants:
//! - The work is linear in the text, whatever it is, with a factor that the settings bound.
//! - A hit's range is inside the text and on character boundaries; hits are in order.

mod block;
mod character;
mod cut;
mod decode;
mod found;
mod header;
mod hidden;
mod line;
mod list;
mod message;
mod nest;
mod open;
mod plain;
mod survey;
mod text;
mod token;
mod unicode;
mod value;

use std::borrow::Cow;
use std::ops::Range;

use crate::finding::Severity;
use crate::rule::Rule;
use found::{Found, Path};
use list::{Entry, List};
use message::Class;
use open::{Opened, Opener};

pub(crate) use character::is_control;
pub(crate) use hidden::{Residue, Together, is_invisible};
pub(crate) use plain::is_plain;

/// How texts are scanned.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Bytes of a text that are looked at; the rest is not, and [`Scan::scanned`] says so. Bounds
    /// time and memory; the default, 16 MiB, is as much as a frame may have.
    pub max_bytes: usize,
    /// Encodings inside one another that are opened; 2 unless told. More than
    /// [`MAX_DECODE_DEPTH`] count as that many, because each multiplies the work.
    pub max_decode_depth: usize,
    /// Whether JSON-RPC that is no threat is no hit either: what is not on a line of its own, and
    /// messages that MCP could not carry. For tools that serve documentation.
    pub allow_jsonrpc: bool,
    /// Hits of one rule and severity that are listed one by one; 1000 unless told. All that come
    /// after them are one hit together, from the first of them to the last, so that a text made of
    /// hits costs no more memory than it has bytes, and whoever goes through them no more time.
    /// Judging and sanitizing lose nothing by it.
    pub max_listed: usize,
}

/// The most levels of encodings that can be opened.
pub const MAX_DECODE_DEPTH: usize = 3;

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_bytes: 16 * 1024 * 1024,
            max_decode_depth: 2,
            allow_jsonrpc: false,
            max_listed: 1000,
        }
    }
}

/// An encoding that hid a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Layer {
    /// A string inside JSON.
    Json,
    /// Escapes that start with a backslash.
    Backslash,
    /// Character references of HTML.
    Reference,
    /// Percent-encoding.
    Percent,
    /// Base64 or base64url.
    Base64,
}

impl Layer {
    /// What it is called in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "a JSON string",
            Self::Backslash => "backslash escapes",
            Self::Reference => "HTML entities",
            Self::Percent => "percent-encoding",
            Self::Base64 => "base64",
        }
    }
}

/// Something that a rule found in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The rule.
    pub rule: Rule,
    /// How bad this one is.
    pub severity: Severity,
    /// Where it stands, in bytes of the text.
    pub range: Range<usize>,
    /// What it is, in words for a person.
    pub detail: Cow<'static, str>,
    /// The encodings that hid it, outermost first.
    pub layers: Vec<Layer>,
    /// Where edits make it harmless: words are put in where a range is empty, and what stands at
    /// others is made visible.
    pub(crate) places: Vec<Range<usize>>,
}

/// What a scan saw.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Scan {
    /// The hits, by their place.
    pub hits: Vec<Hit>,
    /// How many bytes of the text were looked at, from its start.
    pub scanned: usize,
    /// Capacity that is left for a message spread over several texts.
    pub(crate) residue: Residue,
}

/// Scans texts, one after the other.
#[derive(Debug)]
pub struct Scanner {
    settings: Settings,
    opener: Opener,
}

impl Scanner {
    /// Creates a scanner.
    pub fn new(settings: Settings) -> Self {
        let opener = Opener::new(settings.max_decode_depth.min(MAX_DECODE_DEPTH));
        Self { settings, opener }
    }

    /// Looks for everything in `text`.
    pub fn scan(&mut self, text: &str) -> Scan {
        self.scan_part(text, false)
    }

    /// The same in one of several texts; `is_part` says that they hide a message together.
    pub(crate) fn scan_part(&mut self, text: &str, is_part: bool) -> Scan {
        let scanned = text.floor_char_boundary(self.settings.max_bytes);
        let text = text.get(..scanned).unwrap_or_default();
        let Opened { mut found, headers, has_odd_bytes } = self.opener.open(text.as_bytes());
        let mut list = List::new(self.settings.max_listed);
        found.sort_by_key(|it| it.range.start);
        for same in found.chunk_by(|one, other| one.range.start == other.range.start) {
            self.judge(same, &mut list);
        }
        headers.iter().for_each(|colon| header::judge(text, *colon, &mut list));
        let mut residue = Residue::default();
        if has_odd_bytes {
            residue = character::scan(text, is_part, &mut list);
        }
        Scan { hits: list.finish(), scanned, residue }
    }

    /// Lists the messages that start at one place: of each rule, the first of the worst.
    fn judge(&self, found: &[Found], list: &mut List) {
        for (index, it) in found.iter().enumerate() {
            let Some((rule, severity)) = judge(it) else { continue };
            let is_harmless = severity == Severity::Low || it.class != Class::Message;
            let is_better = |(at, other): (usize, &Found)| {
                let is_first = |of| severity < of || severity == of && at < index;
                judge(other).is_some_and(|(same, of)| same == rule && is_first(of))
            };
            if is_harmless && self.settings.allow_jsonrpc
                || found.len() > 1 && found.iter().enumerate().any(is_better)
            {
                continue;
            }
            let range = it.range.clone();
            let describe = || (it.describe(), it.path.layers().collect());
            if rule == Rule::ContentFrame {
                let places = std::iter::once(range.start..range.start);
                list.add(Entry { rule, severity, range, places }, describe);
            } else {
                let places = it.breaks.iter().map(|at| at..at);
                list.add(Entry { rule, severity, range, places }, describe);
            }
        }
    }
}

impl Found {
    fn describe(&self) -> Cow<'static, str> {
        if self.path.is_empty() {
            let (.., detail) = judge_plain(self.class, self.is_line, self.is_relaxed);
            return detail.into();
        }
        let names: Vec<&str> = self.path.layers().map(Layer::name).collect();
        format!("a JSON-RPC message behind {}", names.join(" in ")).into()
    }
}

/// The rule that a message breaks, and how bad that is.
fn judge(found: &Found) -> Option<(Rule, Severity)> {
    let Found { class, is_line, is_relaxed, path, .. } = *found;
    if path.is_empty() {
        let (rule, severity, _) = judge_plain(class, is_line, is_relaxed);
        return Some((rule, severity));
    }
    let severity = judge_encoded(class, is_line, is_relaxed, path)?;
    Some((Rule::ContentEncodedFrame, severity))
}

fn judge_plain(class: Class, is_line: bool, is_relaxed: bool) -> (Rule, Severity, &'static str) {
    match class {
        Class::Message if is_line && !is_relaxed => {
            (Rule::ContentFrame, Severity::Critical, "this line alone is a JSON-RPC message")
        }
        Class::Message if is_line => {
            let detail = "this line alone is a JSON-RPC message for a relaxed reader";
            (Rule::ContentFrame, Severity::Medium, detail)
        }
        Class::Foreign if is_line => {
            let detail = "this line alone is a JSON-RPC message, but none that MCP could carry";
            (Rule::ContentFrame, Severity::Medium, detail)
        }
        _ => (Rule::ContentJsonrpc, Severity::Low, "JSON-RPC that is not on a line of its own"),
    }
}

fn judge_encoded(class: Class, is_line: bool, is_relaxed: bool, path: Path) -> Option<Severity> {
    match class {
        Class::Fragment => None,
        Class::Foreign => Some(Severity::Low),
        Class::Message if is_relaxed => Some(Severity::Low),
        // Documentation as HTML writes braces inside a sentence so.
        Class::Message => Some(match path.only() {
            None | Some(Layer::Base64) => Severity::Medium,
            Some(Layer::Reference) if !is_line => Severity::Medium,
            Some(_) => Severity::High,
        }),
    }
}
