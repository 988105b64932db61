//! Judges the lines of peers, and locates the findings in the file.

use std::collections::HashSet;
use std::ops::Range;

use hardline_guard::{Direction, Finding, Rule};
use hardline_wire::json::lone_surrogates;
use hardline_wire::line::{Content, Line};
use memchr::memchr2;

use super::encoding::Encoding;
use super::position::{Position, Ruler};
use super::report::Report;
use super::{Judges, Stop};
use crate::recording::Written;

/// Judges the lines of a file and reports their findings.
pub(super) struct LineScanner<'a, 'r> {
    pub(super) judges: &'a mut Judges,
    pub(super) report: &'a mut Report<'r>,
    pub(super) encoding: Encoding,
}

/// Position of a peer's line in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    /// Line of the file.
    pub(super) line: &'a [u8],
    /// Position of its start.
    pub(super) place: Position,
    /// Position of the peer's bytes in that line, if they are encoded in it.
    pub(super) written: Option<&'a Written>,
    /// Offset of the line in those bytes.
    pub(super) base: usize,
}

/// A line of a peer and its findings.
#[derive(Debug)]
pub(super) struct JudgedLine<'a> {
    pub(super) text: &'a [u8],
    pub(super) origin: Origin<'a>,
    pub(super) findings: Vec<Finding>,
}

pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";
/// Limit on the beginning of a line for excerpts: more than can be shown.
const SHOWN_BYTES: usize = 512;

impl JudgedLine<'_> {
    /// Returns true if the line is not a message, so that its strings were not judged.
    pub(super) fn is_refused(&self) -> bool {
        self.findings.iter().any(is_refusal)
    }
}

/// Returns true if a finding says that a line is not a message.
fn is_refusal(finding: &Finding) -> bool {
    is_about_frame(finding) && finding.rule != Rule::FrameBom
}

/// Returns true if a finding is about the bytes of a line, not about the message in it.
pub(super) fn is_about_frame(finding: &Finding) -> bool {
    finding.rule.group() == "frame"
}

impl LineScanner<'_, '_> {
    /// Judges a line on its own, and counts it.
    pub(super) fn judge_line<'l>(
        &mut self,
        direction: Direction,
        line: &Line<'l>,
        origin: Origin<'l>,
    ) -> JudgedLine<'l> {
        let text = match line.content {
            Content::Whole(text) => text,
            Content::Overlong(overlong) => overlong.prefix,
        };
        let mut judged = JudgedLine { text, origin, findings: Vec::new() };
        if line.is_blank() {
            return judged;
        }
        judged.findings = self.judge(direction, line);
        self.report.totals.frames += 1;
        match line.content {
            Content::Whole(text) => self.count(text, &judged.findings),
            Content::Overlong(overlong) => {
                let totals = &mut self.report.totals;
                totals.overlong += overlong.length;
                // The caller has counted the line as scanned, which it was not.
                totals.bytes = totals.bytes.saturating_sub(overlong.length);
            }
        }
        judged
    }

    /// Judges a line on its own.
    pub(super) fn judge(&mut self, direction: Direction, line: &Line<'_>) -> Vec<Finding> {
        let mut findings = self.judges.guard.check_line(direction, line).findings;
        self.look_inside(direction, line.whole().unwrap_or_default(), &mut findings);
        findings
    }

    /// Judges a message that was joined from several lines, and counts it.
    pub(super) fn judge_joined(&mut self, direction: Direction, text: &[u8]) -> Vec<Finding> {
        let mut findings = self.judges.guard.check_frame(direction, text).findings;
        self.look_inside(direction, text, &mut findings);
        self.count(text, &findings);
        findings
    }

    /// Judges the strings of a message with lone surrogates, because some readers repair such a
    /// message.
    fn look_inside(&mut self, direction: Direction, text: &[u8], findings: &mut Vec<Finding>) {
        // Of all refused lines, only these have strings that can be read after a small repair.
        if findings.iter().all(|it| it.rule != Rule::FrameLoneSurrogate) {
            return;
        }
        let mut mended = text.to_vec();
        // The replacement has the same length, so that offsets stay valid.
        for at in lone_surrogates(text) {
            let escape = mended.get_mut(at..at + 6).unwrap_or_default();
            escape.iter_mut().zip(b"\\ufffd").for_each(|(to, from)| *to = *from);
        }
        let inside = self.judges.guard.check_frame(direction, &mended).findings;
        let key = |it: &Finding| (it.rule, it.offset, it.length);
        // The second pass finds the first pass's findings again.
        let known: HashSet<_> = findings.iter().map(key).collect();
        let is_new = |it: &Finding| !is_about_frame(it) && !known.contains(&key(it));
        findings.extend(inside.into_iter().filter(is_new));
    }

    /// Counts a message or a refused line.
    fn count(&mut self, text: &[u8], findings: &[Finding]) {
        let totals = &mut self.report.totals;
        if findings.iter().any(is_refusal) {
            totals.refused += 1;
        } else {
            totals.strings += count_strings(text);
        }
    }

    /// Reports the findings in a line.
    pub(super) fn report(&mut self, judged: &JudgedLine<'_>) -> Result<(), Stop> {
        let mut finder = judged.origin.finder(self.encoding);
        for finding in &judged.findings {
            let range = finding.offset..finding.offset.saturating_add(finding.length);
            let place = match finding.rule {
                Rule::FrameBom => finder.find_bom(),
                // Only the beginning of the line is stored, so the finding has its own length.
                Rule::FrameTooLarge => {
                    (finder.find(range.start..range.start).0, finding.length as u64)
                }
                _ => finder.find(range.clone()),
            };
            if finding.rule == Rule::FrameBom {
                // The mark is not part of the stored line, but the reader should see it.
                let start = judged.text.get(..SHOWN_BYTES).unwrap_or(judged.text);
                self.add(finding, place, &[BOM, start].concat(), 0..BOM.len())?;
            } else {
                self.add(finding, place, judged.text, range)?;
            }
        }
        Ok(())
    }

    /// Reports a finding, shown as `range` of `text`.
    pub(super) fn add(
        &mut self,
        finding: &Finding,
        place: (Position, u64),
        text: &[u8],
        range: Range<usize>,
    ) -> Result<(), Stop> {
        self.report.add_finding(finding.clone(), place, text, range).map_err(Stop::Output)
    }
}

impl<'a> Origin<'a> {
    /// Returns the origin of a line that is in the file unchanged.
    pub(super) fn of(line: &'a [u8], place: Position) -> Self {
        Self { line, place, written: None, base: 0 }
    }

    pub(super) fn finder(self, encoding: Encoding) -> Finder<'a> {
        Finder { origin: self, ruler: Ruler::new(self.line, self.place, encoding), encoding }
    }
}

/// Locates parts of one peer's line in the file.
pub(super) struct Finder<'a> {
    origin: Origin<'a>,
    ruler: Ruler<'a>,
    encoding: Encoding,
}

impl Finder<'_> {
    /// Returns the position of a part of the line in the file, and its length there.
    pub(super) fn find(&mut self, range: Range<usize>) -> (Position, u64) {
        let base = self.origin.base;
        let range = base.saturating_add(range.start)..base.saturating_add(range.end);
        let range = self.origin.written.map_or(range.clone(), |written| written.find(&range));
        self.ruler.find(range)
    }

    /// Returns the position of the byte order mark before the line.
    fn find_bom(&mut self) -> (Position, u64) {
        let Origin { base, written, mut place, .. } = self.origin;
        if let (Some(written), Some(start)) = (written, base.checked_sub(BOM.len())) {
            return self.ruler.find(written.find(&(start..base)));
        }
        // The line starts after the mark, so its position is before the line.
        let length = self.encoding.measure(BOM);
        place.offset = place.offset.saturating_sub(length);
        place.column = place.column.saturating_sub(1);
        (place, length)
    }
}

/// Counts the strings of a message, including keys.
fn count_strings(text: &[u8]) -> u64 {
    let (mut quotes, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        let is_quote = text.get(at) == Some(&b'"');
        quotes += u64::from(is_quote);
        // A backslash escapes the next byte.
        at += if is_quote { 1 } else { 2 };
    }
    quotes / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_strings() {
        assert_eq!(count_strings(br#"{"a":"b\"c\\","d":["",1]}"#), 4);
        assert_eq!(count_strings(b"[1]"), 0);
    }
}
