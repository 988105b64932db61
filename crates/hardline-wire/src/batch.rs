//! Batches: splits an array of messages into its elements, each to be checked on its own.
//!
//! A lexer splits the array. It follows strings and nesting and checks nothing else, so that one
//! broken element does not affect the others. If the split itself is in doubt (the array does not
//! end, or something follows it), there is no batch, and the line is broken as a whole. The caller
//! must check whether the negotiated version has batches.

use crate::json::{next_special, skip_whitespace};

/// An array of elements, none of them checked.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    line: &'a [u8],
    /// Offset of the first element or whitespace, after the bracket.
    start: usize,
    len: usize,
}

impl<'a> Batch<'a> {
    /// Splits `line`, whose first character is a bracket.
    ///
    /// Returns `None` if it does not end with the matching bracket.
    pub(crate) fn cut(line: &'a [u8]) -> Option<Self> {
        let start = skip_whitespace(line, 0) + 1;
        let mut cut = Cut { line, pos: start, ended: false };
        let mut len = 0;
        let mut last = None;
        while let Some(element) = cut.next_element() {
            last = Some(element?);
            len += 1;
        }
        // A second value after the array would be lost.
        let trailing = skip_whitespace(line, cut.pos);
        if !cut.ended || trailing < line.len() {
            return None;
        }
        // An empty array splits into one element without text.
        let is_empty = len == 1 && last.is_some_and(|element| element.text.is_empty());
        Some(Self { line, start, len: if is_empty { 0 } else { len } })
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the elements in order.
    pub fn elements(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        // Splits again: a list of the elements would take more memory than the batch itself.
        let mut cut = Cut { line: self.line, pos: self.start, ended: false };
        std::iter::from_fn(move || cut.next_element().flatten()).take(self.len)
    }
}

/// One element of a batch, not checked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Element<'a> {
    /// Offset of the element, in bytes from the start of the line.
    pub offset: usize,
    /// Text of the element without the whitespace around it; empty if there is nothing between two
    /// commas.
    pub text: &'a [u8],
}

impl<'a> Element<'a> {
    /// Creates an element from a text that was stored apart from its line.
    pub fn of_text(text: &'a [u8]) -> Self {
        Self { offset: 0, text }
    }
}

/// The lexer.
#[derive(Debug)]
struct Cut<'a> {
    line: &'a [u8],
    pos: usize,
    /// True if the end of the array was reached.
    ended: bool,
}

impl<'a> Cut<'a> {
    /// Splits off one element: `None` after the last, `Some(None)` if the line ends before the
    /// array.
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
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    pos += 1;
                }
                Some(b',' | b']') if depth == 0 => break,
                // Brackets of the wrong kind stay in the element: its own check will refuse it.
                Some(_) => pos += 1,
                None => return Some(None),
            }
        }
        self.ended = self.line.get(pos) == Some(&b']');
        self.pos = pos + 1;
        let mut text = self.line.get(start..pos).unwrap_or_default();
        // Blanks before the comma do not belong to the element.
        while let [rest @ .., b' ' | b'\t' | b'\n' | b'\r'] = text {
            text = rest;
        }
        Some(Some(Element { offset: start, text }))
    }
}

/// Returns the position after a string's closing quote. Invalid content is skipped too.
fn skip_string(line: &[u8], mut pos: usize) -> Option<usize> {
    loop {
        pos = next_special(line, pos);
        match line.get(pos)? {
            b'"' => return Some(pos + 1),
            // The byte after a backslash never ends the string.
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
