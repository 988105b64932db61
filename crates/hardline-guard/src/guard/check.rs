//! Judges one line alone, or a text: no session, no time.

use std::borrow::Cow;

use hardline_wire::frame::Frame;
use hardline_wire::json::{Checker, lone_surrogates};
use hardline_wire::limits::Limits;
use hardline_wire::line::{Content, Line};
use hardline_wire::recover::Ending;
use hardline_wire::single_line::single_line;

use super::Guard;
use super::content::{self, Subject};
use super::findings::Findings;
use crate::content::{Reader, for_each_string};
use crate::finding::{Direction, Finding};
use crate::frame::{FrameVerdict, Refused};
use crate::inspected::Inspected;
use crate::rule::{Action, Rule};
use crate::sanitize;
use crate::scan::Hit;

/// Result of [`Guard::check_frame`].
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FrameReport<'a> {
    /// All findings, also those that the policy allows.
    pub findings: Vec<Finding>,
    /// The most severe action.
    pub action: Action,
    /// The frame that may pass: the original bytes, or sanitized ones. `None` if it is blocked.
    pub frame: Option<Inspected<Cow<'a, [u8]>>>,
}

/// Result of [`Guard::scan_text`].
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct TextReport {
    /// All findings, also those that the policy allows.
    pub findings: Vec<Finding>,
    /// The most severe action.
    pub action: Action,
    /// Number of bytes that were scanned, from the start.
    pub scanned: usize,
    /// The sanitized text, if the policy asks for that.
    pub sanitized: Option<String>,
}

impl Guard {
    /// Scans a text that is in no frame, as content from the server.
    pub fn scan_text(&mut self, text: &str) -> TextReport {
        let direction = Direction::ServerToClient;
        let scan = self.strings.scanner().scan(text);
        let actions = self.policy.actions(None);
        let decide = |hit: &Hit| actions.action_at(hit.rule, hit.severity, direction);
        let finding = |hit: &Hit| content::finding(hit, direction, hit.range.clone(), text, None);
        let findings = scan.hits.iter().map(finding).collect();
        let mut action = scan.hits.iter().map(decide).max().unwrap_or(Action::Allow);
        let mut sanitized = None;
        if action == Action::Sanitize {
            let is_wanted = |hit: &Hit| decide(hit) >= Action::Sanitize;
            match sanitize::clean(self.strings.scanner(), text, is_wanted) {
                Some(cleaned) => sanitized = Some(cleaned.text),
                None => action = Action::Block,
            }
        }
        TextReport { findings, action, scanned: scan.scanned, sanitized }
    }

    /// Judges one line of a stream. Its byte order mark counts, and a line that was too long to be
    /// stored is blocked.
    pub fn check_line<'a>(&mut self, direction: Direction, line: &Line<'a>) -> FrameReport<'a> {
        let judge = self.frames.of(direction);
        let Content::Whole(text) = line.content else {
            return FrameReport {
                findings: judge.judge(line).findings,
                action: Action::Block,
                frame: None,
            };
        };
        let bom = line.has_bom.then(|| judge.judge(line).findings);
        let bom = bom.into_iter().flatten().find(|it| it.rule == Rule::FrameBom);
        let mut report = self.check_frame(direction, text);
        if let Some(bom) = bom {
            let action = self.policy.decide(&bom, None);
            report.action = report.action.max(action);
            report.frame = report.frame.filter(|_| action < Action::Block);
            report.findings.insert(0, bom);
        }
        report
    }

    /// Judges the content of one line, without its end and byte order mark. Earlier lines and
    /// pending requests do not count.
    pub fn check_frame<'a>(&mut self, direction: Direction, line: &'a [u8]) -> FrameReport<'a> {
        let judged = self.frames.of(direction).judge_text(line, Ending::Whole);
        let mut findings = Findings::of_all();
        let mut action = self.add_findings(direction, judged.findings, &mut findings, true);
        let mut edits = Vec::new();
        let is_json = matches!(judged.verdict, FrameVerdict::Frame(_));
        match judged.verdict {
            FrameVerdict::Refused(refused) if action == Action::Sanitize => {
                return self.check_mended(direction, line, refused, findings);
            }
            FrameVerdict::Blank | FrameVerdict::Refused(_) => {}
            FrameVerdict::Frame(Frame::Message(_, value)) => {
                let subject = Subject { value, text: line, base: 0, names: 1 };
                let (found, edit) = self.check_message(direction, subject, &mut findings);
                action = action.max(found);
                edits.extend(edit);
            }
            FrameVerdict::Frame(Frame::Batch(batch)) => {
                for element in batch.elements() {
                    let judged = self.frames.of(direction).judge_element(element);
                    // Mending needs the whole line, so an element is blocked instead.
                    let found = self.add_findings(direction, judged.findings, &mut findings, false);
                    action = action.max(found);
                    let FrameVerdict::Frame(Frame::Message(_, value)) = judged.verdict else {
                        continue;
                    };
                    let (text, base) = (element.text, element.offset);
                    let subject = Subject { value, text, base, names: 1 };
                    let (found, edit) = self.check_message(direction, subject, &mut findings);
                    action = action.max(found);
                    edits.extend(edit);
                }
            }
        }
        let frame = match action {
            Action::Allow | Action::Log => Some(Cow::Borrowed(line)),
            Action::Sanitize => Some(Cow::Owned(content::apply(line, edits))),
            Action::Block | Action::Close => None,
        };
        // Some readers also end a line at a carriage return or a separator.
        let frame = frame.map(|frame| match single_line(&frame) {
            Cow::Owned(rewritten) if is_json && self.rewrites_lines => Cow::Owned(rewritten),
            _ => frame,
        });
        // Edits make a frame longer.
        let frame = frame.filter(|it| it.len() <= self.limits.max_frame_bytes());
        let action = if frame.is_none() { action.max(Action::Block) } else { action };
        FrameReport { findings: findings.into_list(), action, frame: frame.map(Inspected::new) }
    }

    /// Adds findings. Returns the most severe action on one of them. If the frame cannot be mended,
    /// it is blocked instead of sanitized.
    fn add_findings(
        &self,
        direction: Direction,
        added: Vec<Finding>,
        findings: &mut Findings,
        can_mend: bool,
    ) -> Action {
        let actions = self.policy.actions(None);
        let mut worst = Action::Allow;
        for finding in added {
            let action = actions.action_at(finding.rule, finding.severity, direction);
            let cannot = action == Action::Sanitize && !can_mend;
            let action = if cannot { Action::Block } else { action };
            worst = worst.max(action);
            findings.add(finding.rule, action, || finding);
        }
        worst
    }

    /// Judges the strings of one message. Returns the action, and the edit if it was sanitized.
    fn check_message(
        &mut self,
        direction: Direction,
        subject: Subject<'_>,
        findings: &mut Findings,
    ) -> (Action, Option<content::Edit>) {
        let actions = self.policy.actions(None);
        let verdict = self.strings.judge(subject, direction, actions, findings);
        let range = subject.base..subject.base + subject.text.len();
        (verdict.action(findings.action), verdict.edit(range))
    }

    /// Judges a frame that passes only if it is mended.
    fn check_mended(
        &mut self,
        direction: Direction,
        line: &[u8],
        refused: Refused,
        findings: Findings,
    ) -> FrameReport<'static> {
        let mut findings = findings.into_list();
        let mended = refused.mended.filter(|it| is_fit(it, line, &self.limits));
        // A frame that cannot be sanitized is blocked.
        let Some(mended) = mended else {
            return FrameReport { findings, action: Action::Block, frame: None };
        };
        let rest = self.check_frame(direction, &mended);
        findings.extend(rest.findings);
        let frame = rest.frame.map(Inspected::into_owned);
        FrameReport { findings, action: rest.action.max(Action::Sanitize), frame }
    }
}

/// Returns true if a line may be mended: no surrogate is in a string that must not be edited.
pub(super) fn is_fit(mended: &[u8], line: &[u8], limits: &Limits) -> bool {
    let Ok(checked) = Checker::new(limits).check(mended) else { return false };
    let edited: Vec<usize> = lone_surrogates(line).collect();
    let mut is_fit = true;
    for_each_string(checked.value, |string, place, is_key| {
        let start = edited.partition_point(|at| *at < string.offset());
        let is_in = |at: &usize| *at < string.offset() + string.text().len();
        let is_edited = edited.get(start).is_some_and(is_in);
        is_fit &= !is_edited || place.reader(is_key) == Reader::Person;
    });
    is_fit
}
