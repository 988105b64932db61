//! Finds characters that people do not see but models read.
//!
//! People do not see what a font does not draw. Invisible characters are judged by their use in
//! context, from Unicode data, in four ways:
//! - Some occur in no text by accident, and one of them is a hit: tag characters outside of the
//!   three flags that have them, selectors of variants that do not exist, controls that change the
//!   order of letters.
//! - Some have a use next to the characters around them, and pass: joiners in emoji and in the
//!   scripts that need them, word breaks in Khmer, directions in Hebrew.
//! - Some are optional, and pass where the text uses them consistently: selectors after emoji.
//! - The rest pass while they are few. [`capacity`] measures how much they could carry.
//!
//! A run of invisible characters is judged as one, by the text before and after it.

mod bidi;
mod capacity;
mod consistency;
mod double;
mod kind;
mod private;
mod row;
mod selector;
mod sign;
mod span;
#[cfg(test)]
mod tests;
mod weigh;

use std::ops::Range;

use super::list::List;
use super::unicode::is_mark;
use crate::rule::Rule;
use bidi::{Controls, Lines};
use capacity::{BIT, Capacity, ODD, SHORT, SLIGHT, STRANGE, Weight};
use consistency::Consistency;
use double::Double;
use kind::{Kind, has_no_width, is_private, kind};
use selector::{Choices, selects_nothing};
use sign::Signs;
use span::{Spans, is_end};
use weigh::{Around, Use};

pub(crate) use capacity::{Residue, Together};
pub(crate) use double::is_doubled;
pub(crate) use kind::is_invisible;
pub(crate) use row::is_long;

/// Limit on consecutive invisible characters; no writing has more.
const MAX_RUN: usize = 32;

/// Minimum length of a run of one useless character that cannot be a typo.
const MIN_ROW: usize = 3;

/// Looks like a space, but is a cell of Braille.
const EMPTY_BRAILLE: char = '\u{2800}';

/// Limit on the empty cells between it and the next other character.
const MAX_CELLS: usize = 64;

/// Limit on the visible characters of a text in which a character that no text needs is a hit by
/// itself.
const MIN_VISIBLE: usize = 64;

/// The search for invisible characters in one text.
#[derive(Debug)]
pub(super) struct Hidden<'a> {
    text: &'a str,
    done: usize,
    lines: Lines<'a>,
    capacity: Capacity<'a>,
    choices: Choices<'a>,
    spans: Spans,
    viramas: Consistency<'a>,
    fillers: Consistency<'a>,
    signs: Signs<'a>,
    /// Number of visible characters, up to [`MIN_VISIBLE`].
    visible: usize,
    /// The last unusual space.
    space: Option<char>,
}

impl<'a> Hidden<'a> {
    /// Starts the search in `text`. If `is_part`, the text is one of several that hide a message
    /// together: then every character with a weight is a hit.
    pub(super) fn new(text: &'a str, is_part: bool) -> Self {
        let visible = count_visible(text);
        Self {
            text,
            done: 0,
            lines: Lines::new(text),
            capacity: Capacity::new(text, is_part.then_some(1), visible < SHORT),
            choices: Choices::new(text),
            spans: Spans::default(),
            viramas: Consistency::of_viramas(text),
            fillers: Consistency::of_fillers(text),
            signs: Signs::new(text),
            visible,
            space: None,
        }
    }

    /// Returns the position up to which everything has been judged.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Judges the character at `start`, if it is invisible, and the run that it begins.
    pub(super) fn take(&mut self, start: usize, list: &mut List) {
        let rest = self.text.get(start..).unwrap_or_default();
        let mut chars = rest.chars();
        let Some(first) = chars.next() else { return };
        match kind(first) {
            Some(kind) if has_no_width(kind) => {
                // A run ends with the first character that takes room.
                let behind = chars.as_str();
                let takes_room = |it| !kind::kind(it).is_some_and(has_no_width);
                let length = behind.find(takes_room).unwrap_or(behind.len());
                self.done = start + first.len_utf8() + length;
                let is_single = length == 0;
                if !(is_single && self.take_single(first, kind, start, list)) {
                    self.take_run(start..self.done, list);
                }
            }
            Some(kind) => {
                self.done = start + first.len_utf8();
                self.take_blank(first, kind, start..self.done, list);
            }
            None if is_private(first) => {
                let (range, is_text) = private::judge(self.text, start);
                self.done = range.end;
                if is_text {
                    let detail = "text in private-use characters";
                    list.add_characters(Rule::ContentHidden, range, detail);
                }
            }
            None if first == '\u{a0}' => {
                let (end, carriers) = row::judge(self.text, start);
                self.done = end;
                for (place, char) in carriers {
                    self.capacity.add_plainly(char, place, BIT, list);
                }
            }
            None if is_mark(first) => self.take_marks(start, list),
            None => self.done = start + first.len_utf8(),
        }
    }

    /// Ends the search. Returns the remaining capacity of a text that hides nothing on its own.
    pub(super) fn finish(self, list: &mut List) -> Residue {
        self.capacity.finish(list)
    }

    /// Weighs a blank character, or one that shows nothing at all.
    fn take_blank(&mut self, char: char, kind: Kind, range: Range<usize>, list: &mut List) {
        match kind {
            Kind::Void => self.capacity.add(char, range, ODD, list),
            // A change between separators carries a bit, a repetition less.
            Kind::Separator => {
                let weight = if self.capacity.is_last(char) { BIT / 2 } else { BIT };
                self.capacity.add_plainly(char, range, weight, list);
            }
            _ if char == EMPTY_BRAILLE && !self.is_drawing(&range) => {
                self.capacity.add(char, range, ODD, list);
            }
            _ => self.take_space(char, range, list),
        }
    }

    /// Weighs the marks of a letter that are there twice.
    fn take_marks(&mut self, start: usize, list: &mut List) {
        let (end, doubles) = double::find(self.text, start);
        self.done = end;
        for Double { char, place, is_row } in doubles {
            if is_row {
                list.add_characters(Rule::ContentHidden, place, "the same mark in a row");
            } else {
                self.capacity.add(char, place, STRANGE, list);
            }
        }
    }

    /// Returns true if the cell of Braille without dots is next to others, or away from words.
    fn is_drawing(&self, range: &Range<usize>) -> bool {
        let is_other = |it: &char| !matches!(*it, EMPTY_BRAILLE | ' ');
        let before = self.text.get(..range.start).unwrap_or_default().chars().rev();
        let after = self.text.get(range.end..).unwrap_or_default().chars();
        let sides = [before.take(MAX_CELLS).find(is_other), after.take(MAX_CELLS).find(is_other)];
        let is_cell = |it: &char| matches!(*it, '\u{2801}'..='\u{28ff}');
        sides.iter().flatten().any(is_cell)
            || !sides.into_iter().flatten().any(char::is_alphanumeric)
    }

    /// Weighs a space: one kind of space is typography, a choice between several is not.
    fn take_space(&mut self, char: char, range: Range<usize>, list: &mut List) {
        // Numbers, times and quotations use these.
        let is_narrow = |it| matches!(it, '\u{2009}' | '\u{200a}' | '\u{202f}');
        let weight = match self.space.replace(char) {
            None => 0,
            Some(last) if last == char => 0,
            Some(last) if is_narrow(last) && is_narrow(char) => SLIGHT,
            Some(_) => BIT,
        };
        self.capacity.add_plainly(char, range, weight, list);
    }

    /// Weighs a run of one character, if its use is plain to see. Most runs are a selector after an
    /// emoji, or a character that its script needs.
    fn take_single(&mut self, char: char, kind: Kind, start: usize, list: &mut List) -> bool {
        let before = self.text.get(..start).unwrap_or_default();
        let rest = self.text.get(self.done..).unwrap_or_default();
        match kind {
            Kind::Selector => {
                let (base, after) = (before.chars().next_back(), rest.chars().next());
                if selects_nothing(base, char) {
                    return false;
                }
                let weight = self.choices.weigh(start, (base, char), after);
                self.capacity.add_plainly(char, start..self.done, weight, list);
                true
            }
            Kind::Break | Kind::Joiner => {
                Around::new(before, rest).weigh(char, None) == Use::Weighs(0)
            }
            _ => false,
        }
    }

    fn take_run(&mut self, range: Range<usize>, list: &mut List) {
        let before = self.text.get(..range.start).unwrap_or_default();
        let rest = self.text.get(range.end..).unwrap_or_default();
        let mut run = self.text.get(range.clone()).unwrap_or_default();
        let mut around = Around::new(before, rest);
        // Tags are legitimate after a black flag only.
        if around.before == Some('\u{1f3f4}') {
            run = without_flag(run);
        }
        around.is_single = run.chars().nth(1).is_none();
        if run.contains(is_direction) {
            around.is_right_to_left = self.lines.find_right_to_left(range.start);
            around.starts_right_to_left = self.lines.starts_right_to_left();
        }
        // Of several marks, the last one counts.
        let is_turning = run.ends_with(['\u{61c}', '\u{200f}'])
            && !around.is_right_to_left
            && !around.is_inside_date()
            && bidi::turns_numbers(rest);
        let turning = is_turning.then_some("a mark that turns the order of numbers");
        if let Some(detail) = self.fault(run, &around, range.start).or(turning) {
            return list.add_characters(Rule::ContentHidden, range, detail);
        }
        self.weigh_run(run, range.end - run.len(), &around, list);
    }

    /// Weighs the characters of the run at `at`.
    fn weigh_run(&mut self, run: &str, mut at: usize, around: &Around<'_>, list: &mut List) {
        let (mut previous, end) = (None, at + run.len());
        for char in run.chars() {
            let place = at..at + char.len_utf8();
            at = place.end;
            match kind(char) {
                Some(Kind::Bidi) => {
                    let weight = self.weigh_control(char, place.start..end, previous);
                    self.capacity.add_plainly(char, place, weight, list);
                }
                Some(Kind::Selector) => {
                    let weight = match previous {
                        None => {
                            let pair = (around.before, char);
                            self.choices.weigh(place.start, pair, around.after)
                        }
                        // Many keyboards insert the same selector twice.
                        Some(previous) if previous == char => SLIGHT,
                        Some(_) => ODD,
                    };
                    self.capacity.add_plainly(char, place, weight, list);
                }
                _ => match around.weigh(char, previous) {
                    Use::Weighs(weight) => self.capacity.add(char, place, weight, list),
                    Use::Silent => {
                        let weight = self.viramas.weigh(place.start);
                        self.capacity.add(char, place, weight, list);
                    }
                    Use::Filler => {
                        let least = if previous.is_some() { SLIGHT } else { 0 };
                        let weight = self.fillers.weigh(place.start).max(least);
                        self.capacity.add(char, place, weight, list);
                    }
                    // The first of a row decides; the others have no effect.
                    Use::AtSign(least) => {
                        let is_first = previous.is_none();
                        let run = place.start..end;
                        let weight = if is_first { self.signs.weigh(run, char) } else { SLIGHT };
                        self.capacity.add_plainly(char, place, weight.max(least), list);
                    }
                    Use::Never => self.capacity.add(char, place, STRANGE, list),
                },
            }
            previous = Some(char);
        }
    }

    /// Weighs a directional control; `run` is the rest of its run.
    fn weigh_control(&mut self, char: char, run: Range<usize>, previous: Option<char>) -> Weight {
        if self.lines.controls(run.start) == Controls::Useless {
            return STRANGE;
        }
        let is_both = self.lines.find_right_to_left(run.start);
        let weight = self.spans.weigh(self.text, run.start, self.lines.start(), is_both);
        match previous {
            _ if !is_both || is_end(char) => weight,
            // Writing from right to left uses them in many places, but not differently in each.
            None => weight.max(self.signs.weigh(run, char)),
            Some(_) => weight.max(ODD),
        }
    }

    /// Returns a description of the fault of a run, if one of its characters is enough for a hit.
    fn fault(&mut self, run: &str, around: &Around<'_>, at: usize) -> Option<&'static str> {
        const IN_A_ROW: &str = "zero-width characters in a row";
        let (mut previous, mut row) = (None, 0);
        for (index, char) in run.chars().enumerate() {
            row = if previous == Some(char) { row + 1 } else { 1 };
            // Editing leaves joiners at the ends of lines, and next to letters that need them.
            let is_left = kind(char) == Some(Kind::Joiner)
                && (around.after == Some('\n') || around.is_near_script());
            let is_row = row == MIN_ROW && !is_left;
            let is_useless = || is_direction(char) || around.weigh(char, None) == Use::Weighs(ODD);
            if index == MAX_RUN || is_row && is_useless() {
                return Some(IN_A_ROW);
            }
            match kind(char) {
                Some(Kind::Tag) => return Some("tag characters"),
                Some(Kind::Bidi) if self.lines.controls(at) == Controls::Turning => {
                    return Some("controls that turn the order of the text");
                }
                Some(Kind::Selector) => {
                    // A selector after another one has no base character.
                    let base = if previous.is_none() { around.before } else { None };
                    if selects_nothing(base, char) {
                        return Some("variation selectors that select nothing");
                    }
                }
                _ if self.visible < MIN_VISIBLE && around.weigh(char, previous) == Use::Never => {
                    return Some("an invisible character");
                }
                _ => {}
            }
            previous = Some(char);
        }
        None
    }
}

/// Returns the number of visible characters, up to [`MIN_VISIBLE`].
fn count_visible(text: &str) -> usize {
    let start = text.as_bytes().get(..2 * MIN_VISIBLE).unwrap_or_default();
    // Most texts have enough ASCII.
    if start.iter().filter(|it| it.is_ascii_graphic()).count() >= MIN_VISIBLE {
        return MIN_VISIBLE;
    }
    let is_visible = |it: &char| !it.is_whitespace() && kind(*it).is_none();
    text.chars().filter(is_visible).take(MIN_VISIBLE).count()
}

/// Returns the run without the tags of a flag that exists: England's, Scotland's or Wales'.
fn without_flag(run: &str) -> &str {
    for region in [b"gbeng\x7f", b"gbsct\x7f", b"gbwls\x7f"] {
        let tags = region.iter().map(|it| 0xe0000 + u32::from(*it));
        if run.chars().take(region.len()).map(u32::from).eq(tags) {
            return run.get(4 * region.len()..).unwrap_or_default();
        }
    }
    run
}

fn is_direction(char: char) -> bool {
    kind(char) == Some(Kind::Direction)
}
