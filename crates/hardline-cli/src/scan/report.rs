//! Collects findings and counts, and passes them to a printer.

use std::io;
use std::ops::Range;

use hardline_guard::policy::Policy;
use hardline_guard::scan::Hit;
use hardline_guard::{Action, Direction, Finding, Rule, Severity};
use hardline_wire::excerpt::Excerpt;

use super::kind::Kind;
use super::output::Output;
use super::position::Position;
use super::print::Printer;
use super::snippet::Snippet;

/// Limit on the excerpt for programs, in bytes.
const EXCERPT_BYTES: usize = 80;

/// A finding with its position in a file.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) rule: Rule,
    pub(super) severity: Severity,
    /// Direction of the frame, if the file has it.
    pub(super) direction: Option<Direction>,
    /// Path in the frame's JSON.
    pub(super) path: Option<String>,
    pub(super) place: Position,
    /// Length in the file, in bytes.
    pub(super) length: u64,
    pub(super) excerpt: String,
    pub(super) detail: String,
    /// Action of the policy.
    pub(super) action: Action,
    pub(super) snippet: Snippet,
}

/// A file that is scanned.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// Name for people.
    pub(super) name: String,
    /// Path as the user gave it.
    pub(super) path: String,
    pub(super) kind: Kind,
}

/// Counts of what was scanned, and of what was not.
#[derive(Debug, Default)]
pub(super) struct ScanTotals {
    /// Number of files of each kind, in the order of [`KINDS`].
    pub(super) files: [u64; KINDS.len()],
    /// Bytes that were scanned.
    pub(super) bytes: u64,
    pub(super) frames: u64,
    pub(super) strings: u64,
    /// Bytes of lines over the size limit.
    pub(super) overlong: u64,
    /// Lines of transcripts that are not messages; their strings were not scanned.
    pub(super) refused: u64,
    /// Lines of texts that were scanned in pieces.
    pub(super) cut_lines: u64,
    /// Bytes that are not text; each was scanned as a question mark.
    pub(super) not_text: u64,
    /// Number of findings of each severity, in the order of [`Severity::ALL`].
    pub(super) findings: [u64; 4],
    /// Files that could not be read completely, with the error.
    pub(super) unread: Vec<(File, String)>,
}

pub(super) const KINDS: [Kind; 4] = [Kind::Text, Kind::Binary, Kind::Transcript, Kind::Recording];

/// Collects findings.
pub(super) struct Report<'a> {
    pub(super) totals: ScanTotals,
    pub(super) file: File,
    output: &'a mut Output,
    printer: Box<dyn Printer>,
    policy: &'a Policy,
    server: Option<&'a str>,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        printer: Box<dyn Printer>,
        output: &'a mut Output,
        policy: &'a Policy,
        server: Option<&'a str>,
    ) -> Self {
        let file = File { name: String::new(), path: String::new(), kind: Kind::Text };
        Self { totals: ScanTotals::default(), file, output, printer, policy, server }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        let Self { printer, output, .. } = self;
        output.print(|out| printer.begin(out))
    }

    /// Starts the next file.
    pub(super) fn begin_file(&mut self, file: File) {
        self.file = file;
    }

    /// Counts the file by its kind.
    pub(super) fn count_file(&mut self) {
        let index = KINDS.iter().position(|kind| *kind == self.file.kind);
        if let Some(count) = index.and_then(|index| self.totals.files.get_mut(index)) {
            *count += 1;
        }
    }

    /// Returns a snippet of the finding's line, if the printer shows it.
    fn snippet(&self, rule: Rule, text: &[u8], range: Range<usize>, is_json: bool) -> Snippet {
        // Not every finding is shown with its line, and a snippet costs time.
        let is_wanted = self.printer.wants_snippet(&self.file, rule);
        if is_wanted { Snippet::new(text, range, is_json) } else { Snippet::default() }
    }

    /// Adds a finding in a text.
    pub(super) fn add_hit(
        &mut self,
        hit: &Hit,
        text: &str,
        place: Position,
        length: u64,
    ) -> io::Result<()> {
        let actions = self.policy.actions(self.server, None);
        let found = text.get(hit.range.clone()).unwrap_or_default();
        let snippet = self.snippet(hit.rule, text.as_bytes(), hit.range.clone(), false);
        self.add(&Located {
            rule: hit.rule,
            severity: hit.severity,
            // A text has no sender.
            direction: None,
            path: None,
            place,
            length,
            excerpt: Excerpt::new(found.as_bytes(), EXCERPT_BYTES).to_string(),
            detail: hit.detail.to_string(),
            // Judged as content of a server, whose frames are the ones that a policy restricts.
            action: actions.action_at(hit.rule, hit.severity, Direction::ServerToClient),
            snippet,
        })
    }

    /// Adds a finding in a frame, shown as `range` of `text`.
    pub(super) fn add_finding(
        &mut self,
        finding: Finding,
        (place, length): (Position, u64),
        text: &[u8],
        range: Range<usize>,
    ) -> io::Result<()> {
        let snippet = self.snippet(finding.rule, text, range, true);
        let action = self.policy.decide(&finding, self.server, None);
        // Only a recording has the sender of each line; in a transcript it is a guess.
        let knows_direction = self.file.kind == Kind::Recording;
        self.add(&Located {
            rule: finding.rule,
            severity: finding.severity,
            direction: knows_direction.then_some(finding.direction),
            path: finding.path,
            place,
            length,
            excerpt: finding.excerpt,
            detail: finding.detail.to_string(),
            action,
            snippet,
        })
    }

    fn add(&mut self, located: &Located) -> io::Result<()> {
        let index = Severity::ALL.iter().position(|it| *it == located.severity);
        if let Some(count) = index.and_then(|index| self.totals.findings.get_mut(index)) {
            *count += 1;
        }
        let Self { printer, output, file, .. } = self;
        output.print(|out| printer.finding(out, file, located))
    }

    /// Adds a file that could not be read, and reports it at once.
    pub(super) fn add_unread(&mut self, error: &io::Error) {
        let error = error.to_string();
        // At once: a long scan ends much later.
        self.output.complain(&format!("cannot read {}: {error}", self.file.name));
        self.totals.unread.push((self.file.clone(), error));
    }

    /// Flushes the output, because more input may take long.
    pub(super) fn show(&mut self) -> io::Result<()> {
        self.output.show()
    }

    /// Advances the progress bar.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.output.advance(bytes);
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        let Self { printer, output, totals, .. } = self;
        // The bar must be gone before the summary.
        output.finish();
        output.print(|out| printer.end(out, totals))?;
        output.flush()
    }
}

impl ScanTotals {
    /// Returns the severity of the worst finding.
    pub(super) fn worst(&self) -> Option<Severity> {
        let all = Severity::ALL.into_iter().zip(self.findings);
        all.filter(|(_, count)| *count > 0).map(|(severity, _)| severity).max()
    }

    pub(super) fn all_files(&self) -> u64 {
        self.files.iter().sum()
    }

    pub(super) fn all_findings(&self) -> u64 {
        self.findings.iter().sum()
    }
}
