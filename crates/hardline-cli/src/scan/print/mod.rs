//! Printers of findings: for people, for programs, and for code scanning.

mod json;
mod sarif;
mod text;

use std::io::{self, Write};

use hardline_guard::Rule;

use super::Format;
use super::report::{File, Located, ScanTotals};

pub(crate) use text::color;

/// Output format of findings.
pub(super) trait Printer {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    fn finding(&mut self, out: &mut dyn Write, file: &File, located: &Located) -> io::Result<()>;
    fn end(&mut self, out: &mut dyn Write, totals: &ScanTotals) -> io::Result<()>;

    /// Returns true if a finding of a rule is shown with a snippet of its line.
    fn wants_snippet(&self, _: &File, _: Rule) -> bool {
        false
    }
}

pub(super) fn printer(format: Format, has_colors: bool) -> Box<dyn Printer> {
    match format {
        Format::Text => Box::new(text::Text::new(has_colors)),
        Format::Json => Box::<json::Json>::default(),
        Format::Sarif => Box::<sarif::Sarif>::default(),
    }
}
