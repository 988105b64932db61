//! Controls of direction: needed by text that is written from right to left, and able to make any other text
//! read differently from what it is.
//!
//! A line is judged as a whole. Its controls pass if the line, or the text around it, is written from right to
//! left, and if what they turn round is that writing: a span from right to left without a letter of that
//! direction shows words and signs in another order than a program reads them. Overrides turn letters round,
//! which no writing needs. What a line leaves open ends with it, by the bidirectional algorithm.
//!
//! Invariant: each line is looked at once, and so is the text, so that the cost is linear.

use crate::scan::unicode::is_right_to_left;

/// Effect of a line's controls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Controls {
    /// The writing needs them.
    Needed,
    /// None: the line is written from left to right, and they say so.
    Useless,
    /// They show it in another order than it has.
    Turning,
}

/// The lines of a text, as far as they were asked about: in order.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    /// True if much of the text is written from right to left; computed when first needed.
    is_right_to_left: Option<bool>,
    end: usize,
    has_right_to_left: bool,
    /// Effect of the line's controls; computed when first needed.
    controls: Option<Controls>,
    start: usize,
}

/// A text is written from right to left if so many of its letters are, and one in so many.
const MIN_LETTERS: usize = 64;
const SHARE: usize = 16;

/// Characters behind a mark that are searched for numbers.
const MAX_NUMBERS: usize = 64;

/// Embeddings and isolates that may be open at once, as deep as the bidirectional algorithm goes.
const MAX_DEPTH: usize = 125;

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            is_right_to_left: None,
            end: 0,
            has_right_to_left: false,
            controls: None,
            start: 0,
        }
    }

    /// Returns whether the line at `at`, or much of the text, is written from right to left.
    pub(super) fn is_right_to_left(&mut self, at: usize) -> bool {
        self.go_to(at);
        self.has_right_to_left || self.is_text_right_to_left()
    }

    /// Returns what the controls in the line at `at` do.
    pub(super) fn controls(&mut self, at: usize) -> Controls {
        self.go_to(at);
        if let Some(controls) = self.controls {
            return controls;
        }
        let line = self.text.get(self.start..self.end).unwrap_or_default();
        let is_text = self.is_text_right_to_left();
        let controls = if self.has_right_to_left || is_text {
            if Judge::new(is_text).are_needed(line) { Controls::Needed } else { Controls::Turning }
        } else if line.contains(is_turning) {
            Controls::Turning
        } else if are_inserted(line) {
            Controls::Needed
        } else {
            Controls::Useless
        };
        self.controls = Some(controls);
        controls
    }

    fn is_text_right_to_left(&mut self) -> bool {
        let text = self.text;
        *self.is_right_to_left.get_or_insert_with(|| has_share(text))
    }

    fn go_to(&mut self, at: usize) {
        if at < self.end {
            return;
        }
        let before = self.text.get(self.end..at).unwrap_or_default();
        self.start = before.rfind('\n').map_or(self.end, |it| self.end + it + 1);
        let rest = self.text.get(at..).unwrap_or_default();
        self.end = rest.find('\n').map_or(self.text.len(), |it| at + it + 1);
        let line = self.text.get(self.start..self.end).unwrap_or_default();
        self.has_right_to_left = line.chars().any(is_right_to_left);
        self.controls = None;
    }
}

/// Returns whether a share of the letters is written from right to left.
fn has_share(text: &str) -> bool {
    let (mut all, mut right_to_left) = (0, 0);
    for char in text.chars().filter(|it| it.is_alphabetic()) {
        all += 1;
        right_to_left += usize::from(is_right_to_left(char));
    }
    right_to_left >= MIN_LETTERS && right_to_left * SHARE >= all
}

/// Text between a control and its end.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    control: char,
    has_right_to_left: bool,
    /// True if its first letter is written from right to left.
    starts_right_to_left: bool,
    /// True if it has letters or digits.
    has_words: bool,
    /// True if it has signs, which programs read.
    has_signs: bool,
    /// Spans from left to right in it, since its last letter from right to left.
    turned: usize,
}

/// The controls of a line that is written from right to left, at least in part.
struct Judge {
    open: Vec<Span>,
    /// True if the whole text is.
    is_text_right_to_left: bool,
}

impl Judge {
    fn new(is_text_right_to_left: bool) -> Self {
        Self { open: Vec::new(), is_text_right_to_left }
    }

    fn are_needed(mut self, line: &str) -> bool {
        for char in line.chars() {
            let is_fine = match char {
                '\u{202a}'..='\u{202b}' | '\u{202d}'..='\u{202e}' | '\u{2066}'..='\u{2068}' => {
                    self.open.push(Span { control: char, ..Span::default() });
                    self.open.len() <= MAX_DEPTH
                }
                '\u{202c}' => match self.open.last() {
                    Some(span) if !is_isolate(span.control) => self.close(true),
                    _ => true,
                },
                '\u{2069}' => self.close_isolate(),
                _ => {
                    self.look_at(char);
                    true
                }
            };
            if !is_fine {
                return false;
            }
        }
        while !self.open.is_empty() {
            if !self.close(false) {
                return false;
            }
        }
        true
    }

    fn look_at(&mut self, char: char) {
        let Some(span) = self.open.last_mut() else { return };
        if is_right_to_left(char) {
            span.starts_right_to_left |= !span.has_words && span.turned == 0;
            span.has_right_to_left = true;
            span.turned = 0;
        } else if char.is_alphanumeric() {
            span.has_words = true;
        } else {
            span.has_signs |= char.is_ascii_punctuation();
        }
    }

    /// Closes the isolate that is open, with what is open inside it.
    fn close_isolate(&mut self) -> bool {
        let Some(at) = self.open.iter().rposition(|it| is_isolate(it.control)) else { return true };
        while self.open.len() > at + 1 {
            if !self.close(false) {
                return false;
            }
        }
        self.close(true)
    }

    /// Closes the innermost span, and says whether it is fine.
    fn close(&mut self, is_closed: bool) -> bool {
        let Some(span) = self.open.pop() else { return true };
        if let Some(outer) = self.open.last_mut() {
            outer.has_right_to_left |= span.has_right_to_left;
            outer.has_words |= span.has_words;
            let is_turned = matches!(span.control, '\u{202a}' | '\u{2066}' | '\u{2068}');
            outer.turned = if span.has_right_to_left {
                0
            } else {
                outer.turned + usize::from(is_turned && span.has_words)
            };
        }
        let is_swapped = span.turned > 1 && !self.is_text_right_to_left;
        match span.control {
            '\u{202d}' | '\u{202e}' => !span.has_words && !span.has_right_to_left,
            '\u{202b}' => (span.has_right_to_left || self.is_text_right_to_left) && !is_swapped,
            // The first letter says which way it goes.
            '\u{2068}' => !(span.starts_right_to_left && is_swapped),
            '\u{2067}' => {
                let is_one_word = is_closed && !span.has_signs && span.turned == 0;
                (span.has_right_to_left || is_one_word) && !is_swapped
            }
            _ => true,
        }
    }
}

/// Returns whether numbers that follow a mark of right-to-left direction are shown in another order: two of them,
/// with signs or spaces between them and no letter before them.
pub(super) fn turns_numbers(rest: &str) -> bool {
    let (mut numbers, mut is_inside) = (0, false);
    for char in rest.chars().take(MAX_NUMBERS) {
        let is_separator = matches!(char, '.' | ',' | ':' | '/' | '+' | '-' | '\u{a0}');
        if char.is_numeric() {
            numbers += usize::from(!is_inside);
            is_inside = true;
        } else if char.is_alphabetic() || matches!(char, '\n' | '\u{200e}') {
            break;
        } else {
            is_inside &= is_separator;
        }
    }
    numbers > 1
}

/// Returns whether the control shows what follows from right to left, or letters in another order.
fn is_turning(control: char) -> bool {
    matches!(control, '\u{202b}' | '\u{202d}' | '\u{202e}' | '\u{2067}')
}

/// Returns whether programs put the controls of a line there, all of which is written from left to right:
/// Windows before a path that is copied, others around what they insert into a sentence.
fn are_inserted(line: &str) -> bool {
    let is_path = |rest: &str| {
        let mut bytes = rest.bytes();
        bytes.next().is_some_and(|it| it.is_ascii_alphabetic())
            && (bytes.next(), bytes.next()) == (Some(b':'), Some(b'\\'))
    };
    let mut is_open = false;
    for (at, char) in line.char_indices() {
        let is_fine = match char {
            '\u{202a}' => line.get(at + char.len_utf8()..).is_some_and(is_path),
            '\u{2068}' => !std::mem::replace(&mut is_open, true),
            '\u{2069}' => std::mem::take(&mut is_open),
            '\u{202c}' | '\u{2066}' => false,
            _ => true,
        };
        if !is_fine {
            return false;
        }
    }
    !is_open
}

fn is_isolate(control: char) -> bool {
    matches!(control, '\u{2066}'..='\u{2068}')
}
