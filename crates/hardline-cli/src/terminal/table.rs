//! Tables for people: each column is as wide as its content, and a row no wider than the terminal.
//!
//! A row that does not fit is folded: the first columns on one line, the others on lines below it.
//! A name that would make its column too wide gets a line of its own, uncut, and the rest of its
//! row goes below. Without a terminal, as in a pipe, a row is one whole line.

use std::io::{self, IsTerminal, Write};

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Pieces;

/// Limit on the width of a column on a terminal, except for the last column and firm ones.
const MAX_WIDTH: usize = 40;
/// Limit on the width of a cell's text.
const MAX_TEXT: usize = 4096;
/// Smallest width of the last column beside the others; with less room, the row is folded.
const MIN_LAST: usize = 40;
/// Smallest width to which a column is shrunk.
const MIN_SOFT: usize = 6;
/// A firm cell widens its column to at most this fraction of the terminal: one half.
const FIRM_SHARE: usize = 2;
const GAP: &str = "  ";

/// Columns of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    heads: &'static [&'static str],
    /// Index of the first column that goes below the others if there is no room.
    fold: usize,
    /// True if the last column is wrapped on further lines instead of being cut.
    is_whole: bool,
}

impl Layout {
    /// No columns.
    pub(crate) const NONE: Self = Self::cut(&[], 0);

    /// Cuts the last column at the width of the terminal.
    pub(crate) const fn cut(heads: &'static [&'static str], fold: usize) -> Self {
        Self { heads, fold, is_whole: false }
    }

    /// Wraps the last column on further lines.
    pub(crate) const fn whole(heads: &'static [&'static str], fold: usize) -> Self {
        Self { heads, fold, is_whole: true }
    }
}

#[derive(Debug)]
pub(crate) struct Table {
    layout: Layout,
    rows: Vec<Vec<Cell>>,
    is_colored: bool,
}

/// A cell; its text is escaped, because a peer may have written it.
#[derive(Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
    is_number: bool,
    /// True if the text is never cut: a name or an address that people copy.
    is_firm: bool,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        // Excerpts are already escaped, so their backslashes stay.
        let text = Pieces::up_to(MAX_TEXT, text.as_ref().as_bytes(), true).first(MAX_TEXT, false);
        Self { text, style: Style::new(), is_number: false, is_firm: false }
    }

    /// Creates a cell that is never cut.
    pub(crate) fn firm(text: impl AsRef<str>) -> Self {
        Self { is_firm: true, ..Self::new(text) }
    }

    pub(crate) fn number(number: u64) -> Self {
        Self::right(number.to_string())
    }

    pub(crate) fn right(text: impl AsRef<str>) -> Self {
        Self { is_number: true, ..Self::firm(text) }
    }

    pub(crate) fn style(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

impl Table {
    pub(crate) fn new(layout: Layout, is_colored: bool) -> Self {
        Self { layout, rows: Vec::new(), is_colored }
    }

    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table for a terminal of this width. An empty last column is left out.
    pub(crate) fn write(&self, out: &mut dyn Write, width: Option<usize>) -> io::Result<()> {
        let mut heads: Vec<Cell> = self.layout.heads.iter().map(Cell::new).collect();
        let last = heads.len().saturating_sub(1);
        // A column that is empty in each row needs no head.
        if self.rows.iter().all(|row| row.get(last).is_none_or(|cell| cell.text.is_empty())) {
            heads.pop();
        }
        for (column, head) in heads.iter_mut().enumerate() {
            head.style = Style::new().dimmed();
            head.is_number =
                self.rows.first().and_then(|row| row.get(column)).is_some_and(|it| it.is_number);
        }
        let (fold, widths) = self.places(heads.len(), width);
        for row in std::iter::once(&heads).chain(&self.rows) {
            // The empty last column was dropped from the heads only.
            let cells = row.get(..heads.len()).unwrap_or(row);
            let (first, below) = cells.split_at_checked(fold).unwrap_or((cells, &[]));
            let (widths, widths_below) = widths.split_at_checked(fold).unwrap_or((&widths, &[]));
            self.write_line(out, "", first, widths)?;
            if !below.is_empty() {
                self.write_line(out, GAP, below, widths_below)?;
            }
        }
        Ok(())
    }

    /// Returns the column at which rows are folded, and the widths of all columns.
    fn places(&self, columns: usize, width: Option<usize>) -> (usize, Vec<usize>) {
        let mut widths: Vec<usize> =
            self.layout.heads.iter().take(columns).map(|head| head.width()).collect();
        let max_firm = width.map_or(usize::MAX, |width| width / FIRM_SHARE);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                let needed = cell.text.width();
                // A very wide firm cell gets a line of its own, so it must not widen its column.
                if !cell.is_firm || needed <= max_firm {
                    *width = (*width).max(needed);
                }
            }
        }
        // Without a terminal, nothing is cut or folded.
        let Some(width) = width else { return (columns, widths) };
        let is_soft: Vec<bool> = (0..columns).map(|column| self.is_soft(column)).collect();
        let last = columns.saturating_sub(1);
        for (it, _) in widths.iter_mut().zip(&is_soft).take(last).filter(|(_, is_soft)| **is_soft) {
            *it = (*it).min(MAX_WIDTH);
        }
        let taken: usize = widths.iter().take(last).map(|it| it + GAP.len()).sum();
        let room = width.saturating_sub(taken);
        let needed = widths.last().copied().unwrap_or(0);
        // Everything fits on one line.
        // The last column is usually a text, and may be folded, but not to a few characters.
        if needed.min(MIN_LAST) <= room {
            if let Some(it) = widths.last_mut() {
                *it = needed.min(room);
            }
            return (columns, widths);
        }
        // The row is folded: columns before the fold share one line, the others the next.
        let fold = self.layout.fold.min(columns);
        let (first, below) = widths.split_at_mut(fold);
        shrink(first, is_soft.get(..fold).unwrap_or_default(), width);
        let taken: usize = below.iter().rev().skip(1).map(|it| it + GAP.len()).sum();
        if let Some(it) = below.last_mut() {
            *it = (*it).min(width.saturating_sub(taken + GAP.len()).max(MIN_SOFT));
        }
        (fold, widths)
    }

    /// Returns true if a column may be cut.
    fn is_soft(&self, column: usize) -> bool {
        self.rows.iter().all(|row| row.get(column).is_none_or(|cell| !cell.is_firm))
    }

    fn write_line(
        &self,
        out: &mut dyn Write,
        indent: &str,
        cells: &[Cell],
        widths: &[usize],
    ) -> io::Result<()> {
        out.write_all(indent.as_bytes())?;
        let mut taken = indent.len();
        for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            let style = if self.is_colored { cell.style } else { Style::new() };
            let is_last = column + 1 == cells.len();
            if is_last && self.layout.is_whole && !cell.is_firm {
                let lines = wrapped(&cell.text, width);
                let lines = lines.join(&format!("\n{}", " ".repeat(taken)));
                return writeln!(out, "{style}{lines}{style:#}");
            }
            // An uncut name that is too wide takes a line of its own; the row continues below it.
            if cell.is_firm && !is_last && width < cell.text.width() {
                writeln!(out, "{style}{}{style:#}", cell.text)?;
                taken += width + GAP.len();
                write!(out, "{}", " ".repeat(taken))?;
                continue;
            }
            let width = if cell.is_firm { width.max(cell.text.width()) } else { width };
            // Cut by display width, not by bytes.
            let shown = Pieces::up_to(width, cell.text.as_bytes(), true).first(width, false);
            let room = " ".repeat(width.saturating_sub(shown.width()));
            match (cell.is_number, is_last) {
                (true, _) => write!(out, "{room}{style}{shown}{style:#}")?,
                // No padding after the last column.
                (false, true) => write!(out, "{style}{shown}{style:#}")?,
                (false, false) => write!(out, "{style}{shown}{style:#}{room}")?,
            }
            out.write_all(if is_last { b"\n" } else { GAP.as_bytes() })?;
            taken += width + GAP.len();
        }
        Ok(())
    }
}

/// Shrinks the widest of the columns that may be cut, until all fit.
fn shrink(widths: &mut [usize], is_soft: &[bool], width: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while width < widths.iter().sum::<usize>() + gaps {
        let soft = widths.iter_mut().zip(is_soft).filter(|(_, is_soft)| **is_soft);
        match soft.map(|(it, _)| it).max_by_key(|it| **it) {
            // One column at a time, so that wide columns become equally wide.
            Some(widest) if *widest > MIN_SOFT => *widest -= 1,
            _ => return,
        }
    }
}

/// Wraps a text at `width`, between words if possible.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        if used > 0 && width < used + word.trim_end().width() {
            lines.push(String::new());
            used = 0;
        }
        // A word that is wider than a line is broken between characters.
        for char in word.chars() {
            let wide = char.width().unwrap_or(0);
            if width < used + wide && char != ' ' {
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push(char);
            }
            used += wide;
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Returns the width of the terminal, or `None` if standard output is not one.
pub(crate) fn width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(stdout)
        && size.ws_col > 0
    {
        return Some(size.ws_col.into());
    }
    // A terminal that does not say its width.
    Some(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: &[&str] = &["A", "COUNT", "TEXT"];

    fn check(layout: Layout, width: Option<usize>, expected: &str) {
        let mut table = Table::new(layout, false);
        table.push(vec![Cell::new("x"), Cell::number(7), Cell::new("short")]);
        let long = format!("some words {}", "é".repeat(30));
        table.push(vec![Cell::new("wide\n"), Cell::number(12_345), Cell::new(long)]);
        let mut out = Vec::new();
        table.write(&mut out, width).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{width:?}");
    }

    #[test]
    fn columns_are_aligned_and_whole_where_there_is_room() {
        let long = "é".repeat(30);
        let expected = format!(
            "A       COUNT  TEXT\nx           7  short\nwide\\n  12345  some words {long}\n"
        );
        check(Layout::cut(HEADS, 2), None, &expected);
        check(Layout::cut(HEADS, 2), Some(56), &expected);
    }

    #[test]
    fn what_has_no_room_goes_below_or_is_cut() {
        let cut = "é".repeat(28);
        let expected = format!(
            "A       COUNT  TEXT\nx           7  short\nwide\\n  12345  some words {cut}…\n"
        );
        check(Layout::cut(HEADS, 2), Some(55), &expected);
        let cut = "é".repeat(26);
        let expected = format!(
            "A       COUNT\n  TEXT\nx           7\n  short\nwide\\n  12345\n  some words {cut}…\n"
        );
        check(Layout::cut(HEADS, 2), Some(40), &expected);
        let (first, rest) = ("é".repeat(20), "é".repeat(10));
        let expected = format!(
            "A       COUNT\n  TEXT\nx           7\n  short\nwide\\n  12345\n  some words\n  {first}\n  {rest}\n"
        );
        check(Layout::whole(HEADS, 2), Some(22), &expected);
    }

    #[test]
    fn a_name_that_is_too_wide_costs_only_its_own_row() {
        let row = |name: &str| vec![Cell::firm(name), Cell::number(7), Cell::new("text")];
        let long = "x".repeat(300);
        let mut table = Table::new(Layout::cut(HEADS, 2), false);
        table.push(row("short"));
        table.push(row(&long));
        table.push(row("other"));
        let check = |width: Option<usize>, expected: &str| {
            let mut out = Vec::new();
            table.write(&mut out, width).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(
            Some(80),
            &format!(
                "A      COUNT  TEXT\nshort      7  text\n{long}\n           7  text\nother      7  text\n"
            ),
        );
        let room = " ".repeat(295);
        check(
            None,
            &format!(
                "A    {room}  COUNT  TEXT\nshort{room}      7  text\n{long}      7  text\nother{room}      7  text\n"
            ),
        );
    }

    #[test]
    fn the_widest_column_gives_room() {
        let mut table = Table::new(Layout::cut(&["ONE", "TWO", "THREE"], 3), false);
        table.push(vec![Cell::firm("x".repeat(12)), Cell::new("y".repeat(20)), Cell::new("z")]);
        let mut out = Vec::new();
        table.write(&mut out, Some(30)).unwrap();
        let expected = "ONE           TWO        THREE\nxxxxxxxxxxxx  yyyyyyyy…  z\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
