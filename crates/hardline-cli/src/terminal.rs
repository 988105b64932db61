//! Terminal output: colors, and text of peers cut to the width of a terminal.
//!
//! Text of peers goes through [`Excerpt`], so that it cannot move the cursor, hide text or reverse
//! it.

pub(crate) mod table;

use std::borrow::Cow;
use std::fmt::Write;
use std::io;
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use hardline_wire::excerpt::Excerpt;
use unicode_width::UnicodeWidthStr;

/// Use of colors on standard output.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Returns the color choice, never `Auto`.
    pub(crate) fn choice(self) -> ColorChoice {
        match self {
            Self::Auto => AutoStream::choice(&io::stdout()),
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
    }
}

/// Returns true for characters that end lines, control a terminal or reorder text.
pub(crate) fn is_obeyed(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{61c}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{206f}'
        )
}

/// Limit on the bytes of a file name that is shown.
const MAX_PATH_BYTES: usize = 1000;

/// Escapes and shortens the name of a file, which may contain line ends.
pub(crate) fn shown_path(path: &Path) -> String {
    Excerpt::new(path.as_os_str().as_encoded_bytes(), MAX_PATH_BYTES).to_string()
}

/// Escapes a message that may quote users or peers. Only its line ends keep their effect.
pub(crate) fn harmless(message: &str) -> Cow<'_, str> {
    let is_harmless = |char: char| char == '\n' || !is_obeyed(char);
    if message.chars().all(is_harmless) {
        return Cow::Borrowed(message);
    }
    let mut result = String::with_capacity(message.len() + 16);
    for char in message.chars() {
        match char {
            _ if is_harmless(char) => result.push(char),
            // A tab is harmless but would break alignment.
            '\t' => result.push(' '),
            _ => result.push_str(&format!("\\u{{{:x}}}", u32::from(char))),
        }
    }
    Cow::Owned(result)
}

/// Prints an error or a warning on standard error.
pub(crate) fn complain(what: &str) {
    // A failed write is ignored: there is no other stream to report it on.
    let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("hardline: {}\n", harmless(what)));
}

/// Prints a status message on standard error.
pub(crate) fn tell(what: &str) {
    let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("{}\n", harmless(what)));
}

/// A text in pieces that are shown or cut as a whole: characters, or their escapes.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    text: String,
    /// End of each piece, and the total width up to there.
    ends: Vec<(usize, usize)>,
}

impl Pieces {
    /// Escapes `text`. In JSON, backslashes stay as they are.
    pub(crate) fn new(text: &[u8], is_json: bool) -> Self {
        Self::up_to(usize::MAX, text, is_json)
    }

    /// Escapes `text` until its width exceeds `max_width`, by at most one piece.
    pub(crate) fn up_to(max_width: usize, text: &[u8], is_json: bool) -> Self {
        let mut pieces = Self::default();
        for chunk in text.utf8_chunks() {
            for char in chunk.valid().chars() {
                pieces.push(char, is_json);
                if max_width < pieces.width() {
                    return pieces;
                }
            }
            for byte in chunk.invalid() {
                pieces.push_excerpt(Excerpt::new(&[*byte], 1));
            }
        }
        pieces
    }

    /// Returns as much of the beginning as fits.
    pub(crate) fn first(self, max_width: usize, has_more: bool) -> String {
        let is_cut = has_more || max_width < self.width();
        let Self { mut text, ends } = self;
        if is_cut {
            // One column is reserved for the ellipsis.
            let shown = ends.partition_point(|(_, width)| *width < max_width);
            let last = shown.checked_sub(1).and_then(|index| ends.get(index));
            text.truncate(last.map_or(0, |(end, _)| *end));
            text.push('…');
        }
        text
    }

    /// Returns as much of the end as fits.
    pub(crate) fn last(self, max_width: usize, has_more: bool) -> String {
        let is_cut = has_more || max_width < self.width();
        if !is_cut {
            return self.text;
        }
        // Shows the end of the text, so the ellipsis takes a column at its start.
        let over = (self.width() + 1).saturating_sub(max_width);
        let left_out = self.ends.partition_point(|(_, width)| *width < over);
        let last = self.ends.get(left_out).filter(|_| over > 0);
        let start = last.map_or(0, |(end, _)| *end);
        format!("…{}", self.text.get(start..).unwrap_or_default())
    }

    fn width(&self) -> usize {
        self.ends.last().map_or(0, |(_, width)| *width)
    }

    fn push(&mut self, char: char, is_json: bool) {
        // Fast path: printable ASCII has width 1 and needs no escape.
        if matches!(char, ' '..='~') && (char != '\\' || is_json) {
            self.text.push(char);
            self.ends.push((self.text.len(), self.width() + 1));
            return;
        }
        let mut buffer = [0; 4];
        let char: &str = char.encode_utf8(&mut buffer);
        self.push_excerpt(if is_json {
            Excerpt::of_json(char, char.len())
        } else {
            Excerpt::new(char.as_bytes(), char.len())
        });
    }

    fn push_excerpt(&mut self, excerpt: Excerpt<'_>) {
        let start = self.text.len();
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{excerpt}");
        let width = self.text.get(start..).unwrap_or_default().width();
        self.ends.push((self.text.len(), self.width() + width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_not_obeyed() {
        assert_eq!(harmless("cannot read é:\n  no"), "cannot read é:\n  no");
        let message = "\u{1b}]0;x\u{7}\r\u{9b}\u{202e}\ta";
        assert_eq!(harmless(message), "\\u{1b}]0;x\\u{7}\\u{d}\\u{9b}\\u{202e} a");
    }

    #[test]
    fn shows_as_much_as_fits() {
        let pieces = || Pieces::new("ab\u{1b}日c".as_bytes(), false);
        assert_eq!(pieces().first(11, false), "ab\\u{1b}日c");
        assert_eq!(pieces().first(11, true), "ab\\u{1b}日…");
        assert_eq!(pieces().first(10, false), "ab\\u{1b}…");
        assert_eq!(pieces().first(8, false), "ab…");
        assert_eq!(pieces().first(1, false), "…");
        assert_eq!(pieces().last(11, false), "ab\\u{1b}日c");
        assert_eq!(pieces().last(10, false), "…\\u{1b}日c");
        assert_eq!(pieces().last(9, false), "…日c");
        assert_eq!(pieces().last(99, true), "…ab\\u{1b}日c");
        assert_eq!(Pieces::new(b"", false).last(3, true), "…");
        assert!(Pieces::up_to(3, &b"x".repeat(100), false).text.len() == 4);
    }
}
