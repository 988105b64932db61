//! Held lines of the server, with their positions in the file.
//!
//! In a transcript, the lines are in the file as the server wrote them, one after the other. In a
//! recording, each is encoded in a line of its own, with others in between.

use std::mem::size_of;
use std::ops::Range;

use hardline_guard::{Direction, Finding};
use hardline_wire::limits::Limits;
use hardline_wire::line::{Line, LineEnd, LineFramer};

use super::Stop;
use super::encoding::Encoding;
use super::line_scanner::{BOM, Finder, JudgedLine, LineScanner, Origin};
use super::position::{Position, Ruler};
use super::trace::Trace;
use crate::recording::Written;

/// Held lines of the server.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Bytes of the server from the start of the first line, including line ends.
    raw: Vec<u8>,
    /// Position of the first line, and true if a byte order mark was before it.
    start: Option<(Position, bool)>,
    /// Lines of a recording.
    recorded: Vec<HeldLine>,
    /// Offset in `raw` of a line of which only the beginning is stored, and its findings.
    overlong: Option<(usize, Vec<Finding>)>,
    /// Number of lines that are not messages.
    refused: u64,
    /// Number of bytes stored besides `raw`.
    beside: usize,
}

/// A line of a recording.
#[derive(Debug)]
struct HeldLine {
    /// Range of its content in `raw`.
    range: Range<usize>,
    has_bom: bool,
    /// Line of the file.
    line: Vec<u8>,
    place: Position,
    written: Written,
    base: usize,
}

impl Held {
    /// Returns true if more is stored than a frame of the maximum length needs.
    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        let most = limits.max_frame_bytes();
        // Base64 and escapes make the recorded lines longer than their content.
        self.overlong.is_some() || most < self.raw.len() || most.saturating_mul(4) < self.beside
    }

    /// Adds a line. An overlong line must be the last one.
    pub(super) fn push(&mut self, line: &Line<'_>, judged: JudgedLine<'_>) {
        self.refused += u64::from(line.whole().is_some() && judged.is_refused());
        let JudgedLine { text, origin, findings } = judged;
        let Origin { place, base, .. } = origin;
        if self.start.is_none() {
            self.start = Some((place, line.has_bom));
        // The mark of the first line is before `raw`; later ones are inside.
        } else if line.has_bom {
            self.raw.extend_from_slice(BOM);
        }
        let range = self.raw.len()..self.raw.len() + text.len();
        if line.whole().is_none() {
            self.overlong = Some((range.start, findings));
        }
        self.raw.extend_from_slice(text);
        self.raw.extend_from_slice(match line.end {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
            LineEnd::Eof => b"",
        });
        if let Some(written) = origin.written {
            let (line_of_file, written) = (origin.line.to_vec(), written.clone());
            self.beside += size_of::<HeldLine>() + line_of_file.len() + written.bytes();
            let has_bom = line.has_bom;
            self.recorded.push(HeldLine {
                range,
                has_bom,
                line: line_of_file,
                place,
                written,
                base,
            });
        }
    }

    /// Reports a finding about all held lines; its offset counts from the start of the first line.
    pub(super) fn report(
        &self,
        finding: &Finding,
        scanner: &mut LineScanner<'_, '_>,
    ) -> Result<(), Stop> {
        let range = finding.offset..finding.offset.saturating_add(finding.length);
        let place = self.finder(scanner.encoding).find(&range);
        scanner.add(finding, place, &self.raw, range)
    }

    /// Reports the findings in the message that the lines were joined to.
    pub(super) fn report_joined(
        &self,
        text: &[u8],
        scanner: &mut LineScanner<'_, '_>,
    ) -> Result<(), Stop> {
        // The lines turned out to be parts of a message, so they no longer count as refused.
        scanner.report.totals.refused -= self.refused;
        let findings = scanner.judge_joined(Direction::ServerToClient, text);
        let mut finder = self.finder(scanner.encoding);
        // Joining escapes characters, so offsets differ from those in the file.
        let mut trace = Trace::new(text, &self.raw);
        for finding in findings {
            let range = finding.offset..finding.offset.saturating_add(finding.length);
            // If the text cannot be traced to the lines, the finding covers all of them.
            let raw = match (trace.find(range.start), trace.find(range.end)) {
                (Some(start), Some(end)) => start..end,
                _ => 0..self.raw.len(),
            };
            let place = finder.find(&raw);
            scanner.add(&finding, place, text, range)?;
        }
        Ok(())
    }

    /// Reports the findings in each line on its own that `is_wanted`.
    pub(super) fn report_each(
        &self,
        scanner: &mut LineScanner<'_, '_>,
        is_wanted: impl Fn(&Finding) -> bool,
    ) -> Result<(), Stop> {
        let mut judge = Again {
            framer: LineFramer::new(&scanner.judges.limits.clone()),
            buffer: Vec::new(),
            is_wanted,
        };
        let (overlong, findings) = match &self.overlong {
            Some((start, findings)) => (*start, findings.clone()),
            None => (self.raw.len(), Vec::new()),
        };
        for line in self.recorded.iter().filter(|line| line.range.start < overlong) {
            let text = self.raw.get(line.range.clone()).unwrap_or_default();
            judge.report(text, line.has_bom, line.origin(), scanner)?;
        }
        let mut finder = self.finder(scanner.encoding);
        // A transcript: the lines are adjacent in the file.
        if self.recorded.is_empty() {
            let mut at = 0;
            while at < overlong {
                let rest = self.raw.get(at..overlong).unwrap_or_default();
                let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
                let line = rest.get(..end).unwrap_or_default();
                let marked = line.strip_prefix(BOM).filter(|_| at > 0);
                let has_bom = marked.is_some() || at == 0 && self.start.is_some_and(|it| it.1);
                let text = marked.unwrap_or(line);
                let place = finder.place(at + line.len() - text.len());
                let text = text.strip_suffix(b"\n").unwrap_or(text);
                let text = text.strip_suffix(b"\r").unwrap_or(text);
                judge.report(text, has_bom, Origin::of(text, place), scanner)?;
                at += end;
            }
        }
        let text = self.raw.get(overlong..).unwrap_or_default();
        let origin = match self.recorded.last() {
            Some(line) => line.origin(),
            None => Origin::of(text, finder.place(overlong)),
        };
        scanner.report(&JudgedLine { text, origin, findings })
    }

    fn finder(&self, encoding: Encoding) -> HeldFinder<'_> {
        let start = self.start.map_or(Position::START, |(place, _)| place);
        HeldFinder {
            held: self,
            ruler: Ruler::new(&self.raw, start, encoding),
            encoding,
            last: None,
        }
    }
}

/// Judges lines once more: their findings were not stored, because there may be very many.
struct Again<F> {
    framer: LineFramer,
    buffer: Vec<u8>,
    is_wanted: F,
}

impl<F: Fn(&Finding) -> bool> Again<F> {
    fn report(
        &mut self,
        text: &[u8],
        has_bom: bool,
        origin: Origin<'_>,
        scanner: &mut LineScanner<'_, '_>,
    ) -> Result<(), Stop> {
        let Self { framer, buffer, is_wanted } = self;
        buffer.clear();
        buffer.extend_from_slice(if has_bom { BOM } else { b"" });
        buffer.extend_from_slice(text);
        buffer.push(b'\n');
        let line = framer.next_line(&mut &**buffer).filter(|line| !line.is_blank());
        let findings = line.map(|line| scanner.judge(Direction::ServerToClient, &line));
        let mut findings = findings.unwrap_or_default();
        findings.retain(is_wanted);
        scanner.report(&JudgedLine { text, origin, findings })
    }
}

impl HeldLine {
    fn origin(&self) -> Origin<'_> {
        let Self { place, base, .. } = *self;
        Origin { line: &self.line, place, written: Some(&self.written), base }
    }
}

/// Locates the lines in the file. Positions that are requested in order cost one pass in total.
struct HeldFinder<'a> {
    held: &'a Held,
    /// Ruler for the lines of a transcript.
    ruler: Ruler<'a>,
    encoding: Encoding,
    /// Line of a recording that was used last, with its index.
    last: Option<(usize, Finder<'a>)>,
}

impl HeldFinder<'_> {
    /// Returns the position of a range of the lines in the file, and its length there.
    fn find(&mut self, range: &Range<usize>) -> (Position, u64) {
        let start = self.place(range.start);
        let end = self.place(range.end);
        (start, end.offset.saturating_sub(start.offset))
    }

    fn place(&mut self, at: usize) -> Position {
        let Self { held, encoding, .. } = *self;
        let after = held.recorded.partition_point(|line| line.range.start <= at);
        let number = after.saturating_sub(1);
        let Some(line) = held.recorded.get(number) else { return self.ruler.place(at) };
        // A ruler only moves forward cheaply, so it is kept for the same line.
        let last = self.last.take().filter(|(last, _)| *last == number);
        let (_, finder) =
            self.last.insert(last.unwrap_or_else(|| (number, line.origin().finder(encoding))));
        // Line ends between recorded lines have no position in the file.
        let inside = at.clamp(line.range.start, line.range.end) - line.range.start;
        finder.find(inside..inside).0
    }
}
