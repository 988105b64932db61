//! Judges the strings of one message, and sanitizes them where the policy asks for that.

use std::ops::Range;
use std::time::Duration;

use hardline_wire::encode::push_json_string;
use hardline_wire::excerpt::Excerpt;
use hardline_wire::json::{Checker, Value};
use hardline_wire::splice::splice;

use super::findings::Findings;
use crate::content::{JsonPath, Reader, Unescaped, for_each_string};
use crate::finding::{Direction, Finding, Severity};
use crate::frame::finding_at;
use crate::policy::Actions;
use crate::rule::{Action, Rule, Trait};
use crate::sanitize;
use crate::scan::{Hit, Residue, Scanner, is_invisible, is_plain};
use crate::undo::{self, Undo};

/// Limit on the bytes of a match that a finding shows.
const EXCERPT_BYTES: usize = 80;

/// Limit on rounds of editing and judging. A message that is not clean then is blocked.
const MAX_ROUNDS: usize = 4;

/// The scanner with its buffers, reused between messages.
#[derive(Debug)]
pub(super) struct Judge {
    scanner: Scanner,
    /// Checks edited messages.
    checker: Checker,
    /// Holds strings without their escapes.
    buffer: String,
    /// Limit on the bytes of text in one message.
    max_bytes: usize,
    /// Edits of this session, which are undone in text that comes back.
    undo: Undo,
}

/// Decision about the strings of a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ContentVerdict {
    /// The message passes unchanged.
    Unchanged,
    /// This text passes in its place.
    Edited(Vec<u8>),
    /// The message does not pass.
    Blocked,
}

impl ContentVerdict {
    /// Returns the action that was taken, given the one that the policy asked for.
    pub(super) fn action(&self, asked: Action) -> Action {
        match self {
            Self::Blocked => asked.max(Action::Block),
            Self::Unchanged | Self::Edited(_) => asked,
        }
    }

    /// Returns the edit that replaces the text at `range`, if there is one.
    pub(super) fn edit(self, range: Range<usize>) -> Option<Edit> {
        match self {
            Self::Edited(replacement) => Some(Edit { range, replacement }),
            Self::Unchanged | Self::Blocked => None,
        }
    }
}

/// A message to judge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) value: Value<'a>,
    pub(super) text: &'a [u8],
    /// Offset of the message on its line.
    pub(super) base: usize,
    /// Number of times that `jsonrpc` may occur: once in a whole message.
    pub(super) names: u32,
}

/// Replacement of a range of bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Edit {
    range: Range<usize>,
    replacement: Vec<u8>,
}

/// Limit on the buffer that is kept between messages, in bytes.
const KEPT_BYTES: usize = 2 << 20;

impl Judge {
    pub(super) fn new(scanner: Scanner, checker: Checker, max_bytes: usize) -> Self {
        Self { scanner, checker, buffer: String::new(), max_bytes, undo: Undo::default() }
    }

    /// Moves the remembered edits of another judge here.
    pub(super) fn keep_edits_of(&mut self, other: &mut Self) {
        self.undo = std::mem::take(&mut other.undo);
    }

    pub(super) fn scanner(&mut self) -> &mut Scanner {
        &mut self.scanner
    }

    /// Judges the strings of a message, and sanitizes them where `actions` ask for that.
    pub(super) fn judge(
        &mut self,
        subject: Subject<'_>,
        direction: Direction,
        actions: &Actions,
        findings: &mut Findings,
    ) -> ContentVerdict {
        findings.reset_action();
        let edits = self.find_edits(subject, direction, actions, findings);
        let verdict = match findings.action {
            Action::Allow | Action::Log if direction == Direction::ClientToServer => self
                .put_back(subject, findings.now)
                .map_or(ContentVerdict::Unchanged, ContentVerdict::Edited),
            Action::Allow | Action::Log => ContentVerdict::Unchanged,
            Action::Sanitize => self.sanitize(subject, edits, direction, actions),
            Action::Block | Action::Close => ContentVerdict::Blocked,
        };
        if let (Direction::ServerToClient, Some(now)) = (direction, findings.now) {
            match &verdict {
                ContentVerdict::Edited(edited) => self.remember(subject.value, edited, now),
                ContentVerdict::Unchanged => self.remember_marks(subject, now),
                ContentVerdict::Blocked => {}
            }
        }
        // One huge string must not keep its memory for the whole session.
        if self.buffer.capacity() > KEPT_BYTES {
            self.buffer = String::new();
        }
        verdict
    }

    /// Edits a message until it needs no more edits.
    fn sanitize(
        &mut self,
        subject: Subject<'_>,
        mut edits: Vec<Edit>,
        direction: Direction,
        actions: &Actions,
    ) -> ContentVerdict {
        let names = subject.names;
        let mut edited = subject.text.to_vec();
        for _ in 0..MAX_ROUNDS {
            edited = apply(&edited, edits);
            // An edit makes the message longer, so it may exceed the limit now.
            let Ok(checked) = self.checker.check(&edited) else { return ContentVerdict::Blocked };
            // Judging again shows whether an edit has made something else of the text.
            let subject = Subject { value: checked.value, text: &edited, base: 0, names };
            let mut findings = Findings::of_worst(0);
            edits = self.find_edits(subject, direction, actions, &mut findings);
            match findings.action {
                Action::Allow | Action::Log => return ContentVerdict::Edited(edited),
                Action::Sanitize => {}
                Action::Block | Action::Close => return ContentVerdict::Blocked,
            }
        }
        ContentVerdict::Blocked
    }

    /// Remembers the edits of each string of a message.
    fn remember(&mut self, original: Value<'_>, edited: &[u8], now: Duration) {
        let Ok(edited) = self.checker.check(edited) else { return };
        let mut strings = Vec::new();
        for_each_string(original, |string, _, is_key| {
            strings.extend((!is_key).then_some(string));
        });
        let (undo, mut strings, mut most) = (&mut self.undo, strings.into_iter(), undo::MAX_EDITS);
        for_each_string(edited.value, |string, _, is_key| {
            let Some(original) = (!is_key).then(|| strings.next()).flatten() else { return };
            if let (Some(original), Some(edited)) = (original.as_str(), string.as_str()) {
                undo.remember(&original, &edited, now, &mut most);
            }
        });
    }

    /// Remembers texts of the server that look like our edits, so that they are not undone later.
    fn remember_marks(&mut self, subject: Subject<'_>, now: Duration) {
        if !undo::may_be_written(subject.text) {
            return;
        }
        let (undo, buffer, mut most) = (&mut self.undo, &mut self.buffer, undo::MAX_EDITS);
        for_each_string(subject.value, |string, _, is_key| {
            if !is_key
                && undo::may_be_written(string.text().as_bytes())
                && let Some(text) = Unescaped::read(string, buffer)
            {
                undo.remember(text.content(), text.content(), now, &mut most);
            }
        });
    }

    /// Undoes edits in the arguments of a client's request. Returns the changed message, or `None` if
    /// it contains no edited text.
    fn put_back(&mut self, subject: Subject<'_>, now: Option<Duration>) -> Option<Vec<u8>> {
        if self.undo.is_empty() || now.is_none() || !undo::may_be_escaped(subject.text) {
            return None;
        }
        let method = subject.value.get("method")?.as_str()?;
        if !matches!(&*method, "tools/call" | "prompts/get" | "completion/complete") {
            return None;
        }
        let (mut texts, mut origins) = (Vec::new(), Vec::new());
        for_each_argument(subject.value, &mut self.buffer, |text| {
            if undo::may_have(text.content()) {
                texts.push(text.content().to_owned());
                origins.push(text.origin());
            }
        });
        let mut edits = Vec::new();
        for (origin, puts) in origins.iter().zip(self.undo.undo(&texts)) {
            edits.extend(puts.into_iter().map(|(range, original)| Edit {
                range: origin.written(&range),
                replacement: escaped(original.map(String::from).as_deref().unwrap_or_default()),
            }));
        }
        let edited = (!edits.is_empty()).then(|| apply(subject.text, edits))?;
        // Restored text is longer, and may break the limits of a frame.
        self.checker.check(&edited).is_ok().then_some(edited)
    }

    /// Scans the strings of a message. Returns the edits that sanitize it.
    fn find_edits(
        &mut self,
        subject: Subject<'_>,
        direction: Direction,
        actions: &Actions,
        findings: &mut Findings,
    ) -> Vec<Edit> {
        let (Self { scanner, buffer, max_bytes, .. }, base) = (self, subject.base);
        let mut edits = Vec::new();
        // The prefilter reads the raw bytes; most messages end here.
        if base + subject.text.len() <= *max_bytes && is_plain(subject.text, subject.names) {
            return edits;
        }
        for_each_string(subject.value, |string, place, is_key| {
            if findings.looked > *max_bytes {
                return;
            }
            findings.looked += string.text().len();
            if findings.looked > *max_bytes {
                let rule = Rule::FrameTooLarge;
                let action = actions.action(rule, direction);
                return findings.add(rule, action, || too_much(string, base, direction, place));
            }
            // One odd string must not make all others expensive.
            if is_plain(string.text().as_bytes(), 0) {
                if !is_key && place.reader(is_key) == Reader::Person {
                    // Beside texts with a stray character, one without says something too.
                    findings.hidden.add(Residue::default(), string.text().len());
                }
                return;
            }
            let reader = place.reader(is_key);
            let Some(text) = Unescaped::read(string, buffer) else { return };
            let hits = scan(scanner, text.content(), reader, findings);
            if !hits.is_empty() {
                let context = Context { place, reader, base, direction, actions };
                edits.extend(judge_hits(hits, &text, &context, findings));
            }
        });
        edits
    }
}

/// The string that hits are in, and the policy for them.
struct Context<'a, 'b> {
    place: &'a JsonPath<'b>,
    reader: Reader,
    /// Offset of the message in its frame.
    base: usize,
    direction: Direction,
    actions: &'a Actions,
}

/// Records the hits of a string. Returns the edits that sanitize it.
fn judge_hits(
    hits: Vec<Hit>,
    text: &Unescaped<'_>,
    context: &Context<'_, '_>,
    findings: &mut Findings,
) -> Vec<Edit> {
    let Context { place, reader, base, direction, actions } = *context;
    let (origin, content) = (text.origin(), text.content());
    let mut wanted = Vec::new();
    for hit in hits {
        let mut action = actions.action_at(hit.rule, hit.severity, direction);
        if action == Action::Sanitize && reader != Reader::Person {
            action = instead_of_editing(&hit, reader);
        }
        let written = origin.written(&hit.range);
        let range = base + written.start..base + written.end;
        let finding = || finding(&hit, direction, range.clone(), content, Some(place));
        if is_poison(&hit) && place.is_inside(&["result", "tools"]) {
            let action = actions.action(Rule::ToolPoison, direction);
            findings.add(Rule::ToolPoison, action, || poison(finding()));
        }
        findings.add(hit.rule, action, finding);
        if action == Action::Sanitize {
            wanted.push(hit);
        }
    }
    let edit = |edit: sanitize::Edit| Edit {
        range: origin.written(&edit.range),
        replacement: escaped(&edit.replacement),
    };
    sanitize::edits(content, &wanted).into_iter().map(edit).collect()
}

/// Calls `take` with each string in the arguments of a request.
fn for_each_argument(request: Value<'_>, buffer: &mut String, mut take: impl FnMut(Unescaped<'_>)) {
    for_each_string(request, |string, place, is_key| {
        let is_inside = |name: &str| place.is_inside(&["params", name]);
        if !is_key
            && ["argument", "arguments", "context"].into_iter().any(is_inside)
            && let Some(text) = Unescaped::read(string, buffer)
        {
            take(text);
        }
    });
}

/// Scans a string. In names, and in strings that hide a message together, every hidden character
/// counts.
fn scan(scanner: &mut Scanner, text: &str, reader: Reader, findings: &mut Findings) -> Vec<Hit> {
    let scan = scanner.scan(text);
    let is_part = findings.hidden.add(scan.residue, text.len());
    let is_name = reader == Reader::Name && is_identifier(text);
    // A second scan counts what the first one excused as ordinary writing.
    if (is_part || is_name) && scan.residue.level > 0 {
        return scanner.scan_part(text, true).hits;
    }
    scan.hits
}

/// Returns true if a text looks like a name that programs use, and not like a sentence.
fn is_identifier(text: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "_-./:".contains(it) || is_invisible(it);
    text.chars().all(is_part) && text.contains(|it: char| it.is_ascii_alphabetic())
}

/// Returns the action for a string that may not be edited. Blocks planted messages everywhere, and
/// severe hits where people or models read the string; logs the rest.
fn instead_of_editing(hit: &Hit, reader: Reader) -> Action {
    let is_message = hit.rule.has(Trait::Message);
    let is_seen = reader != Reader::Machine && hit.severity >= Severity::High;
    if is_message || is_seen { Action::Block } else { Action::Log }
}

/// Returns true if a hit in the definition of a tool poisons the tool.
fn is_poison(hit: &Hit) -> bool {
    hit.rule.has(Trait::Poison) && hit.severity >= Severity::High
}

/// Returns the finding about the poisoned tool, besides the one about its content.
fn poison(finding: Finding) -> Finding {
    let (rule, detail) = (Rule::ToolPoison, format!("in a tool's definition: {}", finding.detail));
    Finding { rule, severity: rule.severity(), detail, ..finding }
}

/// Returns the finding for a hit at `place` of a frame, or in a text outside of frames.
pub(super) fn finding(
    hit: &Hit,
    direction: Direction,
    range: Range<usize>,
    content: &str,
    place: Option<&JsonPath<'_>>,
) -> Finding {
    let found = content.get(hit.range.clone()).unwrap_or_default();
    Finding {
        rule: hit.rule,
        severity: hit.severity,
        direction,
        path: place.map(ToString::to_string),
        offset: range.start,
        length: range.len(),
        excerpt: Excerpt::new(found.as_bytes(), EXCERPT_BYTES).to_string(),
        detail: hit.detail.to_string(),
    }
}

/// Returns the finding for the first string that was not scanned.
fn too_much(string: Value<'_>, base: usize, direction: Direction, place: &JsonPath<'_>) -> Finding {
    let text = string.text().as_bytes();
    let detail = "the message has more text than `max_content_bytes` allows";
    Finding {
        path: Some(place.to_string()),
        offset: base + string.offset(),
        ..finding_at(Rule::FrameTooLarge, direction, text, 0, text.len(), detail)
    }
}

/// Returns `text` with the escapes that it needs between the quotes of a JSON string.
fn escaped(text: &str) -> Vec<u8> {
    let mut quoted = String::with_capacity(text.len() + 2);
    push_json_string(&mut quoted, text);
    quoted.pop();
    quoted.remove(0);
    quoted.into_bytes()
}

/// Applies edits that do not overlap.
pub(super) fn apply(line: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort_by_key(|edit| edit.range.start);
    splice(line, edits.into_iter().map(|edit| (edit.range, edit.replacement)))
}
