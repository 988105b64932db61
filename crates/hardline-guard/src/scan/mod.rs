//! Scans one text for planted messages, control characters and hidden characters.
//!
//! The caller extracts the text from its frame, chooses the strings of a frame to scan, and decides
//! what to do about a hit.
//!
//! A prefilter reads every text once, at several gigabytes per second, and names every part that
//! can be a hit (see `survey`). Only those parts are parsed. A message is recognized by parsing it
//! as the most lenient reader would, never by a pattern.
//!
//! Invariants:
//! - The work is linear in the length of any text, with a factor that the settings bound.
//! - The range of a hit is inside the text and on character boundaries; hits are sorted.

mod block;
mod character;
pub(crate) mod content_length;
mod cut;
mod decode;
mod found;
mod gap;
mod harmless;
mod hidden;
mod letters;
mod line;
mod list;
mod message;
mod nest;
mod open;
pub(crate) mod pattern;
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
use found::{Found, Path, Veiled};
use list::{Entry, List};
use message::MessageClass;
use open::{Opened, Opener};

pub(crate) use character::CharacterClass;
pub(crate) use hidden::{Residue, Together, is_invisible};
pub(crate) use plain::is_plain;

/// Settings of a scanner.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ScanSettings {
    /// Limit on the bytes of a text that are scanned; [`Scan::scanned`] says where the scan
    /// stopped. Bounds time and memory. The default is the default limit of a frame.
    pub max_bytes: usize,
    /// Limit on nested encodings that are decoded; default 2. Values over [`MAX_DECODE_DEPTH`]
    /// count as that, because each level multiplies the work.
    pub max_decode_depth: usize,
    /// Set if harmless JSON-RPC is not a hit: objects that are not on a line of their own, and
    /// messages that MCP could not carry. For tools that serve documentation.
    pub allow_jsonrpc: bool,
    /// Limit on the hits of one rule and severity that are listed one by one; default 1000. All
    /// later ones become one hit, from the first of them to the last. So a text made of hits costs
    /// no more memory than it has bytes, and the caller no more time. Judging and sanitizing lose
    /// nothing by it.
    pub max_listed: usize,
}

/// Limit on nested encodings that can be decoded.
pub const MAX_DECODE_DEPTH: usize = 3;

impl Default for ScanSettings {
    fn default() -> Self {
        Self {
            max_bytes: hardline_wire::limits::DEFAULT_FRAME_BYTES,
            max_decode_depth: 2,
            allow_jsonrpc: false,
            max_listed: 1000,
        }
    }
}

/// An encoding that hid a message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Encoding {
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

impl Encoding {
    /// Returns the name used in reports.
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

/// One match of a rule in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The rule that matched.
    pub rule: Rule,
    /// Severity of this match.
    pub severity: Severity,
    /// Position in bytes of the text.
    pub range: Range<usize>,
    /// Description for people.
    pub detail: Cow<'static, str>,
    /// The encodings that hid it, outermost first.
    pub encodings: Vec<Encoding>,
    /// The edits that make it harmless: at an empty range, words are inserted; other ranges are
    /// made visible.
    pub(crate) places: Vec<Range<usize>>,
}

/// Result of a scan.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Scan {
    /// The hits, sorted by position.
    pub hits: Vec<Hit>,
    /// Number of bytes of the text that were scanned, from its start.
    pub scanned: usize,
    /// Remaining capacity for a message that is spread over several texts.
    pub(crate) residue: Residue,
}

/// Scans texts, one after the other.
#[derive(Debug)]
pub struct Scanner {
    settings: ScanSettings,
    opener: Opener,
}

impl Scanner {
    /// Creates a scanner.
    pub fn new(settings: ScanSettings) -> Self {
        let opener = Opener::new(settings.max_decode_depth.min(MAX_DECODE_DEPTH));
        Self { settings, opener }
    }

    /// Scans `text` for everything.
    pub fn scan(&mut self, text: &str) -> Scan {
        self.scan_part(text, false)
    }

    /// Scans one of several texts. `is_part` means that they hide a message together.
    pub(crate) fn scan_part(&mut self, text: &str, is_part: bool) -> Scan {
        let scanned = text.floor_char_boundary(self.settings.max_bytes);
        let text = text.get(..scanned).unwrap_or_default();
        let Opened { mut found, veiled, triggers, has_odd_bytes } =
            self.opener.open(text.as_bytes());
        let mut list = List::new(self.settings.max_listed);
        // Levels and units report their messages in different orders.
        found.sort_by_key(|it| it.range.start);
        for same in found.chunk_by(|one, other| one.range.start == other.range.start) {
            self.judge(same, &mut list);
        }
        veiled.into_iter().for_each(|it| add_veiled(it, &mut list));
        triggers.iter().for_each(|at| pattern::judge(text, *at, &mut list));
        let mut residue = Residue::default();
        // ASCII text without controls has no hidden characters.
        if has_odd_bytes {
            residue = character::scan(text, is_part, &mut list);
        }
        Scan { hits: list.finish(), scanned, residue }
    }

    /// Lists the messages that start at one position: for each rule, the first of the most severe
    /// ones.
    fn judge(&self, found: &[Found], list: &mut List) {
        for (index, it) in found.iter().enumerate() {
            let Some((rule, severity)) = judge(it) else { continue };
            // `allow_jsonrpc` excuses foreign messages and low severities only.
            let is_harmless = severity == Severity::Low || it.class != MessageClass::Message;
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
            let describe = || (it.describe(), it.path.encodings().collect());
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

/// Lists hidden characters behind an encoding. An edit would be guesswork, so they are less severe.
fn add_veiled(Veiled { range, path }: Veiled, list: &mut List) {
    let places = std::iter::once(range.start..range.start);
    let entry = Entry { rule: Rule::ContentHidden, severity: Severity::Medium, range, places };
    list.add(entry, || {
        let names: Vec<&str> = path.encodings().map(Encoding::name).collect();
        let detail = format!("hidden characters in {}", names.join(" in "));
        (detail.into(), path.encodings().collect())
    });
}

impl Found {
    fn describe(&self) -> Cow<'static, str> {
        if self.path.is_empty() {
            let (.., detail) = judge_plain(self.class, self.is_line, self.is_relaxed);
            return detail.into();
        }
        let names: Vec<&str> = self.path.encodings().map(Encoding::name).collect();
        format!("a JSON-RPC message behind {}", names.join(" in ")).into()
    }
}

/// Returns the rule that a message violates, and its severity.
fn judge(found: &Found) -> Option<(Rule, Severity)> {
    let Found { class, is_line, is_relaxed, path, .. } = *found;
    if path.is_empty() {
        let (rule, severity, _) = judge_plain(class, is_line, is_relaxed);
        return Some((rule, severity));
    }
    let severity = judge_encoded(class, is_line, is_relaxed, path)?;
    Some((Rule::ContentEncodedFrame, severity))
}

fn judge_plain(
    class: MessageClass,
    is_line: bool,
    is_relaxed: bool,
) -> (Rule, Severity, &'static str) {
    match class {
        MessageClass::Message if is_line && !is_relaxed => {
            (Rule::ContentFrame, Severity::Critical, "this line alone is a JSON-RPC message")
        }
        MessageClass::Message if is_line => {
            let detail = "this line alone is a JSON-RPC message for a relaxed reader";
            (Rule::ContentFrame, Severity::Medium, detail)
        }
        MessageClass::Foreign if is_line => {
            let detail = "this line alone is a JSON-RPC message, but none that MCP could carry";
            (Rule::ContentFrame, Severity::Medium, detail)
        }
        _ => (Rule::ContentJsonrpc, Severity::Low, "JSON-RPC that is not on a line of its own"),
    }
}

fn judge_encoded(
    class: MessageClass,
    is_line: bool,
    is_relaxed: bool,
    path: Path,
) -> Option<Severity> {
    match class {
        MessageClass::Fragment => None,
        MessageClass::Foreign => Some(Severity::Low),
        MessageClass::Message if is_relaxed => Some(Severity::Low),
        // Documentation in HTML writes braces inside a sentence this way.
        MessageClass::Message => Some(match path.only() {
            // No reader on the way decodes base64, or two encodings at once.
            None | Some(Encoding::Base64) => Severity::Medium,
            Some(Encoding::Reference) if !is_line => Severity::Medium,
            Some(_) => Severity::High,
        }),
    }
}
