//! Lines that are held, with their places in the file.

use std::ops::Range;

use hardline_guard::{Direction, Finding};
use hardline_wire::line::{Line, LineEnd, LineFramer};

use super::Stop;
use super::desk::{BOM, Desk, Finder, Heard, Origin};
use super::encoding::Encoding;
use super::place::Place;
use super::recording::Written;

/// Lines of the server, one after the other.
#[derive(Debug, Default)]
pub(super) struct Held {
    lines: Vec<HeldLine>,
    /// What the server wrote, from the start of the first line, with the ends of the lines.
    raw: Vec<u8>,
}

#[derive(Debug)]
struct HeldLine {
    /// Where in `raw` its content is.
    range: Range<usize>,
    has_bom: bool,
    is_refused: bool,
    /// What was found in it, if it cannot be judged again, as it is not kept.
    findings: Option<Vec<Finding>>,
    /// The line of the file, if it is not the content.
    file_line: Option<(Vec<u8>, Written)>,
    place: Place,
    base: usize,
}

impl Held {
    pub(super) fn bytes(&self) -> usize {
        self.raw.len()
    }

    /// Adds a line. Of one that is overlong only the beginning is kept, so that it must be the last.
    pub(super) fn push(&mut self, line: &Line<'_>, heard: Heard<'_>) {
        let is_refused = heard.is_refused();
        let Heard { text, origin, findings } = heard;
        let findings = line.whole().is_none().then_some(findings);
        if line.has_bom && !self.lines.is_empty() {
            self.raw.extend_from_slice(BOM);
        }
        let start = self.raw.len();
        self.raw.extend_from_slice(text);
        let range = start..self.raw.len();
        self.raw.extend_from_slice(match line.end {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
            LineEnd::Eof => b"",
        });
        let file_line = origin.written.map(|written| (origin.line.to_vec(), written.clone()));
        let Origin { place, base, .. } = origin;
        let has_bom = line.has_bom;
        self.lines.push(HeldLine { range, has_bom, is_refused, findings, file_line, place, base });
    }

    /// Reports a finding about all of the lines, whose place counts from the start of the first.
    pub(super) fn tell(&self, finding: &Finding, desk: &mut Desk<'_, '_>) -> Result<(), Stop> {
        let range = finding.offset..finding.offset.saturating_add(finding.length);
        let place = self.finder(desk.encoding).find(&range);
        desk.add(finding, place, &self.raw, range)
    }

    /// Reports what is in the message that the lines were put together to.
    pub(super) fn tell_joined(&self, text: &[u8], desk: &mut Desk<'_, '_>) -> Result<(), Stop> {
        let refused = self.lines.iter().filter(|line| line.is_refused).count();
        desk.report.seen.refused -= refused as u64;
        let findings = desk.judge_joined(Direction::ServerToClient, text);
        let mut finder = self.finder(desk.encoding);
        let mut trace = Trace { joined: text, raw: &self.raw, at: (0, 0) };
        for finding in findings {
            let range = finding.offset..finding.offset.saturating_add(finding.length);
            // In a text that was edited otherwise, the whole of it is the place.
            let raw = match (trace.find(range.start), trace.find(range.end)) {
                (Some(start), Some(end)) => start..end,
                _ => 0..self.raw.len(),
            };
            let place = finder.find(&raw);
            desk.add(&finding, place, text, range)?;
        }
        Ok(())
    }

    /// Reports what was found in each line on its own, as far as it `is_wanted`.
    pub(super) fn tell_each(
        self,
        desk: &mut Desk<'_, '_>,
        is_wanted: impl Fn(&Finding) -> bool,
    ) -> Result<(), Stop> {
        let mut framer = LineFramer::new(&desk.judges.limits.clone());
        let mut buffer = Vec::new();
        for mut line in self.lines {
            let text = self.raw.get(line.range.clone()).unwrap_or_default();
            let mut findings = line.findings.take().unwrap_or_else(|| {
                buffer.clear();
                buffer.extend_from_slice(if line.has_bom { BOM } else { b"" });
                buffer.extend_from_slice(text);
                buffer.push(b'\n');
                let again = framer.next_line(&mut &*buffer);
                again.map(|it| desk.judge(Direction::ServerToClient, &it)).unwrap_or_default()
            });
            findings.retain(&is_wanted);
            let origin = line.origin(text);
            desk.tell(&Heard { text, origin, findings })?;
        }
        Ok(())
    }

    fn finder(&self, encoding: Encoding) -> HeldFinder<'_> {
        HeldFinder { held: self, encoding, last: None }
    }
}

/// Finds places of the lines in the file. Places that are asked for in order cost one pass in all.
struct HeldFinder<'a> {
    held: &'a Held,
    encoding: Encoding,
    /// The line that was asked about last, by its number.
    last: Option<(usize, Finder<'a>)>,
}

impl HeldFinder<'_> {
    /// Where a part of the lines starts in the file, and how many bytes it takes there.
    fn find(&mut self, range: &Range<usize>) -> (Place, u64) {
        let start = self.place(range.start);
        let end = self.place(range.end);
        (start, end.offset.saturating_sub(start.offset))
    }

    fn place(&mut self, at: usize) -> Place {
        let Self { held, encoding, .. } = *self;
        let number = held.lines.partition_point(|line| line.range.start <= at).saturating_sub(1);
        let Some(line) = held.lines.get(number) else { return Place::START };
        let text = held.raw.get(line.range.clone()).unwrap_or_default();
        let last = self.last.take().filter(|(last, _)| *last == number);
        let (_, finder) =
            self.last.insert(last.unwrap_or_else(|| (number, line.origin(text).finder(encoding))));
        let at = at.saturating_sub(line.range.start);
        let inside = at.min(text.len());
        let mut place = finder.find(inside..inside).0;
        if line.file_line.is_none() {
            // In the end of the line.
            let end = b"\r\n".get(..at - inside).unwrap_or_default();
            place.offset += encoding.measure(end);
        }
        place
    }
}

impl HeldLine {
    fn origin<'a>(&'a self, text: &'a [u8]) -> Origin<'a> {
        let Self { place, base, .. } = *self;
        match &self.file_line {
            Some((line, written)) => Origin { line, place, written: Some(written), base },
            None => Origin { line: text, place, written: None, base },
        }
    }
}

/// Follows a text that was put together through the lines that it was made of.
///
/// Nothing was done to those but this: control characters in strings became escapes, other line ends
/// spaces, and a backslash was put before quotes and backslashes.
struct Trace<'a> {
    joined: &'a [u8],
    raw: &'a [u8],
    /// How far it was followed, in both.
    at: (usize, usize),
}

impl Trace<'_> {
    /// Where in the lines the byte `at` of the text came from.
    fn find(&mut self, at: usize) -> Option<usize> {
        if at < self.at.0 {
            self.at = (0, 0);
        }
        let (mut joined, mut raw) = self.at;
        while joined < at {
            let was = *self.raw.get(raw)?;
            let is = *self.joined.get(joined)?;
            let (read, written) = match (was, is) {
                (b'\n' | b'\r' | b'\t', b'\\') => (1, 2),
                (..0x20, b'\\') => (1, 6),
                (b'\n' | b'\r', b' ') => (1, 1),
                _ if was == is => (1, 1),
                (_, b'\\') => (0, 1),
                _ => return None,
            };
            raw += read;
            joined += written;
        }
        self.at = (joined, raw);
        Some(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, joined: &str, pairs: &[(&str, &str)]) {
        let mut trace = Trace { joined: joined.as_bytes(), raw: raw.as_bytes(), at: (0, 0) };
        for (in_joined, in_raw) in pairs {
            let at = joined.find(in_joined).unwrap();
            assert_eq!(trace.find(at), raw.find(in_raw), "{in_joined}");
        }
    }

    #[test]
    fn follows_what_was_put_together() {
        check(
            "{\"a\":\"x\ny\tz\u{1}w\"\r\n}",
            "{\"a\":\"x\\ny\\tz\\u0001w\"  }",
            &[("y", "y"), ("z", "z"), ("w", "w"), ("}", "}"), ("a", "a")],
        );
        let raw = "{\"a\":\"x\n{\"b\":\"\\n\\\\ \\u0041\"}\nend\"}";
        let joined = "{\"a\":\"x\\n{\\\"b\\\":\\\"\\\\n\\\\\\\\ \\\\u0041\\\"}\\nend\"}";
        check(raw, joined, &[("b", "b"), ("0041", "0041"), ("end", "end")]);
    }
}
