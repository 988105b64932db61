//! Directional controls: right-to-left text needs them, and they can make any other text look
//! different from what it is.
//!
//! A line is judged as a whole. Its controls pass if the line, or the text around it, is written
//! from right to left, and if the text that they turn around is such writing. A right-to-left span
//! without a letter of that direction shows words and signs in another order than programs read
//! them. Overrides turn letters around, which no writing needs. By the bidirectional algorithm,
//! spans that are open at the end of a line end there.
//!
//! Invariant: each line is read once, and so is the text, so the cost is linear.

use crate::scan::unicode::is_right_to_left;

/// Effect of the controls of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Controls {
    /// The writing needs them.
    Needed,
    /// No effect: the line is written from left to right, and they say so.
    Useless,
    /// They show the line in another order than programs read it.
    Turning,
}

/// The lines of a text, which must be requested in order.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    /// True if much of the text is written from right to left; computed when first needed.
    is_right_to_left: Option<bool>,
    end: usize,
    has_right_to_left: bool,
    /// True if the first letter of the line is written from right to left.
    starts_right_to_left: bool,
    /// Effect of the controls of the line; computed when first needed.
    controls: Option<Controls>,
    start: usize,
}

/// A text is written from right to left if at least `MIN_LETTERS` of its letters are, and one in
/// `SHARE`.
const MIN_LETTERS: usize = 64;
const SHARE: usize = 16;

/// Limit on the characters after a mark that are searched for numbers.
const MAX_NUMBERS: usize = 64;

/// Limit on open embeddings and isolates: the limit of the bidirectional algorithm.
const MAX_DEPTH: usize = 125;

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            is_right_to_left: None,
            end: 0,
            has_right_to_left: false,
            starts_right_to_left: false,
            controls: None,
            start: 0,
        }
    }

    /// Returns true if the line at `at`, or much of the text, is written from right to left.
    pub(super) fn find_right_to_left(&mut self, at: usize) -> bool {
        self.go_to(at);
        self.has_right_to_left || self.measure_text()
    }

    /// Returns the effect of the controls in the line at `at`.
    pub(super) fn controls(&mut self, at: usize) -> Controls {
        self.go_to(at);
        if let Some(controls) = self.controls {
            return controls;
        }
        let line = self.text.get(self.start..self.end).unwrap_or_default();
        let is_text = self.measure_text();
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

    /// Returns true if the first letter of the line that was requested last is written from right
    /// to left.
    pub(super) fn starts_right_to_left(&self) -> bool {
        self.starts_right_to_left
    }

    /// Returns the start of the line that was requested last.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Returns true if much of the text is written from right to left. Counts it once.
    fn measure_text(&mut self) -> bool {
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
        self.starts_right_to_left = self.has_right_to_left
            && line.chars().find(|it| it.is_alphabetic()).is_some_and(is_right_to_left);
        self.controls = None;
    }
}

/// Returns true if a sufficient share of the letters is written from right to left.
fn has_share(text: &str) -> bool {
    // A text has no more letters than bytes, so with this many the rest need not be counted.
    let enough = MIN_LETTERS.max(text.len().div_ceil(SHARE));
    let (mut all, mut right_to_left) = (0, 0);
    for char in text.chars().filter(|it| it.is_alphabetic()) {
        all += 1;
        right_to_left += usize::from(is_right_to_left(char));
        if right_to_left >= enough {
            return true;
        }
    }
    right_to_left >= MIN_LETTERS && right_to_left * SHARE >= all
}

/// The text between a control and its end.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    control: char,
    has_right_to_left: bool,
    /// True if its first letter is written from right to left.
    starts_right_to_left: bool,
    /// True if it has letters or digits.
    has_words: bool,
    /// True if it has punctuation, which programs interpret.
    has_signs: bool,
    /// Number of left-to-right spans in it since its last right-to-left letter.
    turned: usize,
}

/// Judges the controls of a line that is written from right to left, at least in part.
struct Judge {
    open: Vec<Span>,
    /// True if the whole text is written from right to left.
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
                    // Deeper spans have no effect by the algorithm, so no writing has them.
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
        // The end of the line closes all open spans.
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

    /// Closes the innermost open isolate, with all spans inside of it.
    fn close_isolate(&mut self) -> bool {
        let Some(at) = self.open.iter().rposition(|it| is_isolate(it.control)) else { return true };
        while self.open.len() > at + 1 {
            if !self.close(false) {
                return false;
            }
        }
        self.close(true)
    }

    /// Closes the innermost span. Returns true if it is harmless.
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
        // Two left-to-right spans in a right-to-left one appear in swapped order.
        let is_swapped = span.turned > 1 && !self.is_text_right_to_left;
        match span.control {
            // An override is harmless only if it contains no letters or digits.
            '\u{202d}' | '\u{202e}' => !span.has_words && !span.has_right_to_left,
            '\u{202b}' => (span.has_right_to_left || self.is_text_right_to_left) && !is_swapped,
            // The first letter decides the direction.
            '\u{2068}' => !(span.starts_right_to_left && is_swapped),
            '\u{2067}' => {
                let is_one_word = is_closed && !span.has_signs && span.turned == 0;
                (span.has_right_to_left || is_one_word) && !is_swapped
            }
            _ => true,
        }
    }
}

/// Returns true if numbers after a right-to-left mark appear in another order: two of them, with
/// signs or spaces between them and no letter before them.
pub(super) fn turns_numbers(rest: &str) -> bool {
    let (mut numbers, mut is_inside) = (0, false);
    for char in rest.chars().take(MAX_NUMBERS) {
        // These do not end a number: `1,5` and `10:30` are one each.
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

/// Returns true if the control shows the following text from right to left, or letters in another
/// order.
fn is_turning(control: char) -> bool {
    matches!(control, '\u{202b}' | '\u{202d}' | '\u{202e}' | '\u{2067}')
}

/// Returns true if programs inserted the controls of a left-to-right line: Windows before a copied
/// path, others around text that they insert into a sentence.
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
