//! Weighs directional controls that no line needs, though they turn nothing around.
//!
//! Programs isolate what they insert into a sentence, in every language, so a line may have a few
//! spans without an effect. Around each second word they carry bits.

use super::capacity::{BIT, ODD, SLIGHT, Weight};
use super::kind::kind;
use crate::scan::unicode::{is_mark, is_right_to_left};

/// The spans of one line up to some position.
#[derive(Debug, Default)]
pub(super) struct Spans {
    /// Start of the line.
    line: usize,
    /// Number of spans without an effect.
    idle: usize,
    embeddings: usize,
    isolates: usize,
    /// True if the last line with spans did not close all of them.
    was_open: Option<bool>,
}

/// Number of spans in a line that programs insert around names and words.
const USUAL: usize = 2;

/// The same for numbers.
const USUAL_NUMBERS: usize = 4;

/// Limit on the characters of a span that are read.
const MAX_READ: usize = 64;

/// Limit on blanks and invisible characters between a control and the next letter.
const MAX_GAP: usize = 8;

/// The text between a control and the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Content {
    /// True if its letters are written from right to left; nothing if it has none.
    direction: Option<bool>,
    /// Set if letters of both directions, digits or signs make the control visible.
    is_mixed: bool,
    has_digits: bool,
    /// True if it is no name, as far as its first letter tells.
    is_lowercase: bool,
    /// The control after it.
    next: Option<char>,
    /// Number of bytes.
    length: usize,
}

impl Spans {
    /// Weighs the control at `at` of the line that starts at `line`.
    pub(super) fn weigh(&mut self, text: &str, at: usize, line: usize, is_both: bool) -> Weight {
        let change = if self.line == line { 0 } else { self.start_line(line) };
        let Some(rest) = text.get(at..) else { return ODD };
        let Some(control) = rest.chars().next() else { return ODD };
        change
            + match control {
                '\u{202c}' => close(&mut self.embeddings),
                '\u{2069}' => close(&mut self.isolates),
                _ => {
                    let count = if control < '\u{2060}' {
                        &mut self.embeddings
                    } else {
                        &mut self.isolates
                    };
                    *count += 1;
                    let before = text.get(line..at).unwrap_or_default();
                    let inside = rest.get(control.len_utf8()..).unwrap_or_default();
                    self.weigh_start(control, before, inside, is_both)
                }
            }
    }

    /// Starts a line. Returns the weight of the choice to close the spans of the last one or not.
    fn start_line(&mut self, line: usize) -> Weight {
        let is_open = self.embeddings + self.isolates > 0;
        let is_changed = self.was_open.is_some_and(|it| it != is_open);
        *self = Self { line, was_open: Some(is_open), ..Self::default() };
        if is_changed { BIT + BIT / 2 } else { 0 }
    }

    fn weigh_start(&mut self, control: char, before: &str, inside: &str, is_both: bool) -> Weight {
        let content = Content::of(inside);
        let is_empty = content.direction.is_none() && !content.is_mixed;
        if is_empty {
            // A span may start with a span of another kind.
            let is_other = content.next.is_some_and(|it| it != control && !is_end(it));
            return if is_other { SLIGHT } else { ODD };
        }
        let after = inside.get(content.length..).unwrap_or_default();
        if is_both && !content.is_idle(before, after) {
            return SLIGHT;
        }
        self.idle += 1;
        match () {
            () if content.has_digits && self.idle <= USUAL_NUMBERS => SLIGHT,
            () if self.idle > USUAL => ODD,
            () if content.is_lowercase => BIT - SLIGHT,
            () => SLIGHT,
        }
    }
}

/// Weighs the end of a span. Without a start, it ends nothing.
fn close(open: &mut usize) -> Weight {
    if *open == 0 {
        return ODD;
    }
    *open -= 1;
    SLIGHT
}

impl Content {
    fn of(inside: &str) -> Self {
        let mut content = Self::default();
        for (at, char) in inside.char_indices().take(MAX_READ) {
            content.length = at;
            match char {
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    content.next = Some(char);
                    return content;
                }
                '\n' => return content,
                _ if char.is_alphabetic() => {
                    let is_right = is_right_to_left(char);
                    let first = *content.direction.get_or_insert_with(|| {
                        content.is_lowercase = is_right || char.is_lowercase();
                        is_right
                    });
                    content.is_mixed |= first != is_right;
                }
                _ if char.is_whitespace() || is_mark(char) || kind(char).is_some() => {}
                _ => {
                    content.has_digits |= char.is_numeric();
                    content.is_mixed = true;
                }
            }
        }
        content
    }

    /// Returns true if the letters before, inside and after the span have one direction, so that it
    /// changes nothing.
    fn is_idle(&self, before: &str, after: &str) -> bool {
        let is_blank = |it: char| it.is_whitespace() || is_mark(it) || kind(it).is_some();
        let is_seen = |it: &char| *it == '\n' || !is_blank(*it);
        let before = before.chars().rev().take(MAX_GAP).find(is_seen);
        let after = after.chars().take(MAX_GAP).find(is_seen);
        let is_same = |it: Option<char>| {
            it.filter(|it| it.is_alphabetic()).map(is_right_to_left) == self.direction
        };
        !self.is_mixed && is_same(before) && is_same(after)
    }
}

/// Returns true if the control ends a span.
pub(super) fn is_end(control: char) -> bool {
    matches!(control, '\u{202c}' | '\u{2069}')
}
