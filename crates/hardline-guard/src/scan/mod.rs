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
mod decode;
mod header;
mod hidden;
mod line;
mod message;
mod open;
mod plain;
mod script;
mod survey;
mod value;

use std::ops::Range;

use crate::finding::Severity;
use crate::rule::Rule;
use message::Class;
use open::{Found, Level, Opener};

pub(crate) use character::is_control;
pub(crate) use hidden::is_invisible;
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
}

/// The most levels of encodings that can be opened.
pub const MAX_DECODE_DEPTH: usize = 3;

impl Default for Settings {
    fn default() -> Self {
        Self { max_bytes: 16 * 1024 * 1024, max_decode_depth: 2, allow_jsonrpc: false }
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
    pub detail: String,
    /// The encodings that hid it, outermost first.
    pub layers: Vec<Layer>,
    /// Where text put in breaks a message that is no line of its own.
    pub(crate) breaks: Vec<usize>,
}

impl Hit {
    fn new(rule: Rule, range: Range<usize>, detail: &str) -> Self {
        let (layers, breaks) = (Vec::new(), Vec::new());
        Self { rule, severity: rule.severity(), range, detail: detail.to_owned(), layers, breaks }
    }
}

/// What a scan saw.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Scan {
    /// The hits, by their place.
    pub hits: Vec<Hit>,
    /// How many bytes of the text were looked at, from its start.
    pub scanned: usize,
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
        let scanned = text.floor_char_boundary(self.settings.max_bytes);
        let text = text.get(..scanned).unwrap_or_default();
        let opened = self.opener.open(text.as_bytes(), Level::GIVEN);
        let mut hits: Vec<Hit> = Vec::new();
        hits.extend(opened.found.into_iter().filter_map(|it| self.judge(it)));
        hits.extend(opened.headers.iter().filter_map(|&colon| header::hit(text, colon)));
        if opened.has_odd_bytes {
            character::scan(text, &mut hits);
        }
        hits.sort_by(|one, other| {
            let place = |it: &Hit| (it.range.start, it.rule);
            place(one).cmp(&place(other)).then(other.severity.cmp(&one.severity))
        });
        hits.dedup_by(|later, first| {
            later.rule == first.rule && later.range.start == first.range.start
        });
        Scan { hits, scanned }
    }

    /// The hit that a message is.
    fn judge(&self, found: Found) -> Option<Hit> {
        let Found { range, class, is_relaxed, is_line, layers, breaks } = found;
        let (rule, severity, detail) = if layers.is_empty() {
            let (rule, severity, detail) = judge_plain(class, is_line, is_relaxed);
            (rule, severity, detail.to_owned())
        } else {
            let names: Vec<&str> = layers.iter().map(|it| it.name()).collect();
            let severity = judge_encoded(class, is_line, is_relaxed, &layers)?;
            let detail = format!("a JSON-RPC message behind {}", names.join(" in "));
            (Rule::ContentEncodedFrame, severity, detail)
        };
        let is_harmless = severity == Severity::Low || class != Class::Message;
        if is_harmless && self.settings.allow_jsonrpc {
            return None;
        }
        Some(Hit { rule, severity, range, detail, layers, breaks })
    }
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

fn judge_encoded(
    class: Class,
    is_line: bool,
    is_relaxed: bool,
    layers: &[Layer],
) -> Option<Severity> {
    match class {
        Class::Fragment => None,
        Class::Foreign => Some(Severity::Low),
        Class::Message if is_relaxed => Some(Severity::Low),
        // Documentation as HTML writes braces inside a sentence so.
        Class::Message => Some(match layers {
            [Layer::Base64] => Severity::Medium,
            [Layer::Reference] if !is_line => Severity::Medium,
            [_] => Severity::High,
            _ => Severity::Medium,
        }),
    }
}
