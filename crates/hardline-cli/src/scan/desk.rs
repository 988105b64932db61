//! Where lines of peers are judged, and what was found in them is put in its place in the file.

use std::collections::HashSet;
use std::ops::Range;

use hardline_guard::{Direction, Finding, Rule};
use hardline_wire::json::lone_surrogates;
use hardline_wire::line::{Content, Line};
use memchr::memchr2;

use super::encoding::Encoding;
use super::place::{Place, Ruler};
use super::report::Report;
use super::{Judges, Stop};
use crate::recording::Written;

/// All that judging needs.
pub(super) struct Desk<'a, 'r> {
    pub(super) judges: &'a mut Judges,
    pub(super) report: &'a mut Report<'r>,
    pub(super) encoding: Encoding,
}

/// Where a line of a peer stands in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'a> {
    /// The line of the file.
    pub(super) line: &'a [u8],
    /// Where that starts.
    pub(super) place: Place,
    /// Where in that line the peer's is written, if they are not the same.
    pub(super) written: Option<&'a Written>,
    /// Where the line starts in what was written.
    pub(super) base: usize,
}

/// What a peer wrote on one line, and what was found in it.
#[derive(Debug)]
pub(super) struct Heard<'a> {
    pub(super) text: &'a [u8],
    pub(super) origin: Origin<'a>,
    pub(super) findings: Vec<Finding>,
}

pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";
/// More of a line's beginning than can be shown.
const SHOWN_BYTES: usize = 512;

impl Heard<'_> {
    /// Whether it is no message, so that nobody looked inside.
    pub(super) fn is_refused(&self) -> bool {
        self.findings.iter().any(is_refusal)
    }
}

/// Whether a finding is about the bytes of a line that is no message.
fn is_refusal(finding: &Finding) -> bool {
    is_about_frame(finding) && finding.rule != Rule::FrameBom
}

/// Whether a finding is about the bytes of a line, and not about what the message on it says.
pub(super) fn is_about_frame(finding: &Finding) -> bool {
    finding.rule.layer() == "frame"
}

impl Desk<'_, '_> {
    /// Judges a line on its own, and counts it.
    pub(super) fn hear<'l>(
        &mut self,
        direction: Direction,
        line: &Line<'l>,
        origin: Origin<'l>,
    ) -> Heard<'l> {
        let text = match line.content {
            Content::Whole(text) => text,
            Content::Overlong(overlong) => overlong.prefix,
        };
        let mut heard = Heard { text, origin, findings: Vec::new() };
        if line.is_blank() {
            return heard;
        }
        heard.findings = self.judge(direction, line);
        self.report.seen.frames += 1;
        match line.content {
            Content::Whole(text) => self.count(text, &heard.findings),
            Content::Overlong(overlong) => {
                let seen = &mut self.report.seen;
                seen.overlong += overlong.length;
                seen.bytes = seen.bytes.saturating_sub(overlong.length);
            }
        }
        heard
    }

    /// Judges a line on its own.
    pub(super) fn judge(&mut self, direction: Direction, line: &Line<'_>) -> Vec<Finding> {
        let mut findings = self.judges.guard.check_line(direction, line).findings;
        self.look_inside(direction, line.whole().unwrap_or_default(), &mut findings);
        findings
    }

    /// Judges a message that several lines were put together to, and counts what is in it.
    pub(super) fn judge_joined(&mut self, direction: Direction, text: &[u8]) -> Vec<Finding> {
        let mut findings = self.judges.guard.check_frame(direction, text).findings;
        self.look_inside(direction, text, &mut findings);
        self.count(text, &findings);
        findings
    }

    /// Judges what is in a message that has halves of surrogate pairs in it: some readers mend that.
    fn look_inside(&mut self, direction: Direction, text: &[u8], findings: &mut Vec<Finding>) {
        if findings.iter().all(|it| it.rule != Rule::FrameLoneSurrogate) {
            return;
        }
        let mut mended = text.to_vec();
        for at in lone_surrogates(text) {
            let escape = mended.get_mut(at..at + 6).unwrap_or_default();
            escape.iter_mut().zip(b"\\ufffd").for_each(|(to, from)| *to = *from);
        }
        let inside = self.judges.guard.check_frame(direction, &mended).findings;
        let key = |it: &Finding| (it.rule, it.offset, it.length);
        let known: HashSet<_> = findings.iter().map(key).collect();
        let is_new = |it: &Finding| !is_about_frame(it) && !known.contains(&key(it));
        findings.extend(inside.into_iter().filter(is_new));
    }

    /// Counts what was looked at.
    fn count(&mut self, text: &[u8], findings: &[Finding]) {
        let seen = &mut self.report.seen;
        if findings.iter().any(is_refusal) {
            seen.refused += 1;
        } else {
            seen.strings += count_strings(text);
        }
    }

    /// Reports what was found in a line.
    pub(super) fn tell(&mut self, heard: &Heard<'_>) -> Result<(), Stop> {
        let mut finder = heard.origin.finder(self.encoding);
        for finding in &heard.findings {
            let range = finding.offset..finding.offset.saturating_add(finding.length);
            let place = match finding.rule {
                Rule::FrameBom => finder.find_bom(),
                // What is not kept is measured by its own length.
                Rule::FrameTooLarge => {
                    (finder.find(range.start..range.start).0, finding.length as u64)
                }
                _ => finder.find(range.clone()),
            };
            if finding.rule == Rule::FrameBom {
                let start = heard.text.get(..SHOWN_BYTES).unwrap_or(heard.text);
                self.add(finding, place, &[BOM, start].concat(), 0..BOM.len())?;
            } else {
                self.add(finding, place, heard.text, range)?;
            }
        }
        Ok(())
    }

    /// Reports a finding, shown as `range` of `text`.
    pub(super) fn add(
        &mut self,
        finding: &Finding,
        place: (Place, u64),
        text: &[u8],
        range: Range<usize>,
    ) -> Result<(), Stop> {
        self.report.add_finding(finding.clone(), place, text, range).map_err(Stop::Output)
    }
}

impl<'a> Origin<'a> {
    /// That of a line that stands in the file as it is.
    pub(super) fn of(line: &'a [u8], place: Place) -> Self {
        Self { line, place, written: None, base: 0 }
    }

    pub(super) fn finder(self, encoding: Encoding) -> Finder<'a> {
        Finder { origin: self, ruler: Ruler::new(self.line, self.place, encoding), encoding }
    }
}

/// Finds places of one peer's line in the file.
pub(super) struct Finder<'a> {
    origin: Origin<'a>,
    ruler: Ruler<'a>,
    encoding: Encoding,
}

impl Finder<'_> {
    /// Where a part of the peer's line starts in the file, and how many bytes it takes there.
    pub(super) fn find(&mut self, range: Range<usize>) -> (Place, u64) {
        let base = self.origin.base;
        let range = base.saturating_add(range.start)..base.saturating_add(range.end);
        let range = self.origin.written.map_or(range.clone(), |written| written.find(&range));
        self.ruler.find(range)
    }

    /// Where the byte order mark before the line is.
    fn find_bom(&mut self) -> (Place, u64) {
        let Origin { base, written, mut place, .. } = self.origin;
        if let (Some(written), Some(start)) = (written, base.checked_sub(BOM.len())) {
            return self.ruler.find(written.find(&(start..base)));
        }
        let length = self.encoding.measure(BOM);
        place.offset = place.offset.saturating_sub(length);
        place.column = place.column.saturating_sub(1);
        (place, length)
    }
}

/// How many strings are in a message, keys included.
fn count_strings(text: &[u8]) -> u64 {
    let (mut quotes, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        let is_quote = text.get(at) == Some(&b'"');
        quotes += u64::from(is_quote);
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
