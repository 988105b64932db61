//! Columns for people: as wide as what is in them, the last as wide as the terminal lets it be.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::terminal::Pieces;

/// Widest column but the last.
const MAX_WIDTH: usize = 40;
/// Widest text of all.
const MAX_TEXT: usize = 4096;
/// Narrowest last column.
const MIN_LAST: usize = 20;
const GAP: &str = "  ";

pub(super) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    is_colored: bool,
}

/// What stands in one place: escaped, as peers may have written it.
pub(super) struct Cell {
    text: String,
    style: Style,
    is_number: bool,
}

impl Cell {
    pub(super) fn new(text: impl AsRef<str>) -> Self {
        // Excerpts are escaped already: backslashes stay.
        let text = Pieces::up_to(MAX_TEXT, text.as_ref().as_bytes(), true).first(MAX_TEXT, false);
        Self { text, style: Style::new(), is_number: false }
    }

    pub(super) fn number(number: u64) -> Self {
        Self { is_number: true, ..Self::new(number.to_string()) }
    }

    pub(super) fn right(text: impl AsRef<str>) -> Self {
        Self { is_number: true, ..Self::new(text) }
    }

    pub(super) fn style(self, style: Style) -> Self {
        Self { style, ..self }
    }
}

impl Table {
    pub(super) fn new(heads: &[&'static str], is_colored: bool) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new(), is_colored }
    }

    pub(super) fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes it, no wider than a terminal that is so wide. A last column with nothing in it is left out.
    pub(super) fn write(&mut self, out: &mut dyn Write, width: Option<usize>) -> io::Result<()> {
        if self.rows.iter().all(|row| row.last().is_none_or(|cell| cell.text.is_empty())) {
            self.heads.pop();
            for row in &mut self.rows {
                row.pop();
            }
        }
        let widths = self.widths(width);
        let dim = self.styled(Style::new().dimmed());
        for (column, head) in self.heads.iter().enumerate() {
            let is_number =
                self.rows.first().and_then(|row| row.get(column)).is_some_and(|it| it.is_number);
            self.write_cell(out, head, dim, is_number, column, &widths)?;
        }
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let style = self.styled(cell.style);
                self.write_cell(out, &cell.text, style, cell.is_number, column, &widths)?;
            }
        }
        Ok(())
    }

    fn styled(&self, style: Style) -> Style {
        if self.is_colored { style } else { Style::new() }
    }

    fn write_cell(
        &self,
        out: &mut dyn Write,
        text: &str,
        style: Style,
        is_number: bool,
        column: usize,
        widths: &[usize],
    ) -> io::Result<()> {
        let width = widths.get(column).copied().unwrap_or(0);
        let is_last = column + 1 == widths.len();
        let shown = Pieces::up_to(width, text.as_bytes(), true).first(width, false);
        let room = " ".repeat(width.saturating_sub(shown.width()));
        match (is_number, is_last) {
            (true, _) => write!(out, "{room}{style}{shown}{style:#}")?,
            (false, true) => write!(out, "{style}{shown}{style:#}")?,
            (false, false) => write!(out, "{style}{shown}{style:#}{room}")?,
        }
        out.write_all(if is_last { b"\n" } else { GAP.as_bytes() })
    }

    fn widths(&self, width: Option<usize>) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| head.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let Some((last, others)) = widths.split_last_mut() else { return widths };
        for other in &mut *others {
            *other = (*other).min(MAX_WIDTH);
        }
        if let Some(width) = width {
            let taken: usize = others.iter().map(|it| it + GAP.len()).sum();
            *last = (*last).min(width.saturating_sub(taken).max(MIN_LAST));
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_the_last_one_is_cut() {
        let mut table = Table::new(&["A", "COUNT", "TEXT"], false);
        table.push(vec![Cell::new("x"), Cell::number(7), Cell::new("short")]);
        table.push(vec![Cell::new("wide\n"), Cell::number(12_345), Cell::new("é".repeat(99))]);
        let mut out = Vec::new();
        table.write(&mut out, Some(40)).unwrap();
        let expected = format!(
            "A       COUNT  TEXT\nx           7  short\nwide\\n  12345  {}…\n",
            "é".repeat(24)
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
