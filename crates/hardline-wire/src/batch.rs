//! Batches: cutting an array of messages into its elements, each to be judged on its own.
//!
//! The array is cut by a lexer that follows strings and nesting and checks nothing else, so that
//! one broken element spoils none of the others. Only where the cut itself is in doubt (the array
//! does not end, or something follows it) is there no batch, and the line is broken as a whole.
//! Whether the negotiated version has batches is left to the caller.

use crate::json::{Scan, skip_whitespace};

/// An array of one element or more, none of them checked.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    line: &'a [u8],
    /// Where its first element may start, after the bracket.
    start: usize,
    len: usize,
}

impl<'a> Batch<'a> {
    /// Cuts `line`, whose first character is a bracket.
    ///
    /// Returns `None` if it does not end with the matching one.
    pub(crate) fn cut(line: &'a [u8]) -> Option<Self> {
        let start = skip_whitespace(line, 0) + 1;
        let mut cut = Cut { line, pos: start, ended: false };
        let mut len = 0;
        let mut last = None;
        while let Some(element) = cut.next_element() {
            last = Some(element?);
            len += 1;
        }
        let trailing = skip_whitespace(line, cut.pos);
        if !cut.ended || trailing < line.len() {
            return None;
        }
        let is_empty = len == 1 && last.is_some_and(|element| element.text.is_empty());
        Some(Self { line, start, len: if is_empty { 0 } else { len } })
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements in their order.
    pub fn elements(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        let mut cut = Cut { line: self.line, pos: self.start, ended: false };
        std::iter::from_fn(move || cut.next_element().flatten()).take(self.len)
    }
}

/// One element of a batch, not checked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Element<'a> {
    /// Where it starts, in bytes from the start of the line.
    pub offset: usize,
    /// Its text without the whitespace around it; empty if there is nothing between two commas.
    pub text: &'a [u8],
}

impl<'a> Element<'a> {
    /// An element that was kept apart from its line.
    pub fn of_text(text: &'a [u8]) -> Self {
        Self { offset: 0, text }
    }
}

/// The lexer.
#[derive(Debug)]
struct Cut<'a> {
    line: &'a [u8],
    pos: usize,
    /// Whether the array's end was reached.
    ended: bool,
}

impl<'a> Cut<'a> {
    /// Cuts off one element: `None` after the last, `Some(None)` if the line ends before the array.
    #[expect(clippy::option_option, reason = "an iterator that may fail once")]
    fn next_element(&mut self) -> Option<Option<Element<'a>>> {
        if self.ended {
            return None;
        }
        let start = skip_whitespace(self.line, self.pos);
        let mut depth = 0_usize;
        let mut pos = start;
        loop {
            match self.line.get(pos) {
                Some(b'"') => match skip_string(self.line, pos + 1) {
                    Some(end) => pos = end,
                    None => return Some(None),
                },
                Some(b'{' | b'[') => {
                    depth += 1;
                    pos += 1;
                }
                Some(b'}' | b']') if 0 < depth => {
                    depth -= 1;
                    pos += 1;
                }
                Some(b',' | b']') if depth == 0 => break,
                Some(_) => pos += 1,
                None => return Some(None),
            }
        }
        self.ended = self.line.get(pos) == Some(&b']');
        self.pos = pos + 1;
        let mut text = self.line.get(start..pos).unwrap_or_default();
        while let [rest @ .., b' ' | b'\t' | b'\n' | b'\r'] = text {
            text = rest;
        }
        Some(Some(Element { offset: start, text }))
    }
}

/// Returns the position after a string's closing quote, whatever is inside.
fn skip_string(line: &[u8], mut pos: usize) -> Option<usize> {
    loop {
        pos = Scan::unknown().next_special(line, pos);
        match line.get(pos)? {
            b'"' => return Some(pos + 1),
            b'\\' => pos += 2,
            _ => pos += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&[&str]>) {
        let batch = Batch::cut(line.as_bytes());
        assert_eq!(batch.map(|it| it.len()), expected.map(<[_]>::len), "{line}");
        let Some(batch) = batch else { return };
        let elements: Vec<_> = batch.elements().collect();
        let texts: Vec<_> =
            elements.iter().map(|element| str::from_utf8(element.text).unwrap()).collect();
        assert_eq!(Some(&*texts), expected, "{line}");
        for element in elements {
            assert!(line.as_bytes()[element.offset..].starts_with(element.text));
        }
    }

    #[test]
    fn cuts_at_the_commas_of_the_array_alone() {
        check("[1]", Some(&["1"]));
        check(
            " [ {\"a\":[1,2]} ,\t[3,{}], \"a,]\\\"\" ] ",
            Some(&["{\"a\":[1,2]}", "[3,{}]", "\"a,]\\\"\""]),
        );
    }

    #[test]
    fn hands_on_broken_elements() {
        check(
            "[nope, {\"a\":\u{1}}, {\"b\" \"c\"}, \"\\x\"]",
            Some(&["nope", "{\"a\":\u{1}}", "{\"b\" \"c\"}", "\"\\x\""]),
        );
        check("[{}}, 1\u{c}]", Some(&["{}}", "1\u{c}"]));
        check("[\"a\u{1},]b\",2]", Some(&["\"a\u{1},]b\"", "2"]));
        check("[1,,2,]", Some(&["1", "", "2", ""]));
        check("[,]", Some(&["", ""]));
    }

    #[test]
    fn knows_an_empty_array() {
        check("[]", Some(&[]));
        check("[ \t]", Some(&[]));
    }

    #[test]
    fn refuses_an_array_whose_end_is_in_doubt() {
        for line in
            ["[", "[1", "[1,", "[{]", "[[1]", "[\"a]", "[\"a\\\"]", "[1] x", "[1]]", "[1][2]"]
        {
            check(line, None);
        }
    }
}
