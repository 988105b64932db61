//! Measures the capacity for hidden text: the bits that invisible characters without a use can
//! carry.
//!
//! A stray invisible character is no message, and people paste them all the time. The amount makes
//! a message, so each character is weighed in sixteenths of a bit. One that has a use in its place
//! weighs little or nothing, one without a use two bits. One that differs from the previous one
//! weighs more, because a choice carries bits. Every visible character takes a sixteenth of a bit
//! off again. Where the level reaches the limit, all characters that contributed to it are a hit.
//! The limit is fourteen bits, so less than two bytes of hidden text pass; in a text of a few
//! characters, such as a name, it is three bits. The texts of one message are added up
//! ([`Together`]), so spreading hidden text over many of them gains no more than four bytes.
//!
//! Invariant: the cost is linear in the text. The text between two carriers is read once.

use std::ops::Range;

use super::kind::{Kind, kind};
use crate::rule::Rule;
use crate::scan::list::List;

/// Sixteenths of a bit.
pub(super) type Weight = u32;

/// One bit.
pub(super) const BIT: Weight = 16;
/// Weight of a character that has a use in its place, though it changes nothing.
pub(super) const SLIGHT: Weight = 4;
/// Weight of a character without a use.
pub(super) const ODD: Weight = 2 * BIT;
/// Weight of a character that occurs in no text by accident.
pub(super) const STRANGE: Weight = 4 * BIT;

/// Weight of an optional character without an effect, after a place without one. Characters in
/// consecutive places weigh nothing. Of random bits, one in four is such a change.
pub(super) const CHANGE: Weight = 4 * BIT;

/// Level at which a text hides a message.
const LIMIT: Weight = 14 * BIT;
/// The same in a short text: two characters without a use exceed it.
const SHORT_LIMIT: Weight = ODD + ODD / 2;
/// Number of visible characters below which a text is short.
pub(super) const SHORT: usize = 16;

/// Measures how much the invisible characters of a text could carry.
#[derive(Debug)]
pub(super) struct Capacity<'a> {
    text: &'a str,
    limit: Weight,
    level: Weight,
    /// The characters that contribute to the level.
    carriers: Vec<Range<usize>>,
    /// Set once the level has reached the limit, until it falls to zero.
    is_message: bool,
    last: Option<char>,
    /// Number of times that the last carrier followed itself directly.
    repeated: u32,
    /// Number of adjacent carriers up to the last one.
    row: u32,
    /// Set while all carriers of the text are the same character.
    is_uniform: bool,
    /// End of the last carrier.
    end: usize,
}

/// Remaining level of a text that hides no message on its own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Residue {
    /// The level, in sixteenths of a bit.
    pub(crate) level: Weight,
    /// The character that it comes from, if it is a single one.
    pub(crate) char: Option<char>,
}

/// Sums up the levels of the texts of one message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Together {
    level: Weight,
    char: Option<char>,
    /// Number of texts since the last one with a residue.
    gap: u32,
    /// The same before that one.
    last_gap: Option<u32>,
}

impl Together {
    /// Adds the residue of a text of this many bytes. Returns true if the texts hide a message
    /// together; then this text is a part of it.
    pub(crate) fn add(&mut self, residue: Residue, bytes: usize) -> bool {
        // About two bytes per visible character, over all scripts.
        let visible = u32::try_from(bytes / 2).unwrap_or(u32::MAX);
        self.level = self.level.saturating_sub(visible);
        if residue.level > 0 {
            // The same stray character in every text, or in every cell of a column, is no choice. In
            // some of many short texts, those with it and those without say a bit each.
            let is_regular = self.last_gap.is_none_or(|gap| gap == self.gap);
            let is_same = residue.char.is_some() && residue.char == self.char;
            self.level += match (is_same, is_regular) {
                (true, true) => residue.level / 8,
                (true, false) => residue.level.max(ODD),
                (false, _) => residue.level,
            };
            self.char = residue.char;
            self.last_gap = Some(std::mem::take(&mut self.gap));
        } else {
            self.gap = self.gap.saturating_add(1);
        }
        self.level >= 2 * LIMIT
    }
}

impl<'a> Capacity<'a> {
    /// Creates the measurement of `text`. Without `limit`, the limit depends on the length.
    pub(super) fn new(text: &'a str, limit: Option<Weight>, is_short: bool) -> Self {
        let usual = if is_short { SHORT_LIMIT } else { LIMIT };
        Self {
            text,
            limit: limit.unwrap_or(usual),
            level: 0,
            carriers: Vec::new(),
            is_message: false,
            last: None,
            repeated: 0,
            row: 0,
            is_uniform: true,
            end: 0,
        }
    }

    /// Adds a character that people type or paste. One that differs from the last weighs more.
    pub(super) fn add(&mut self, char: char, range: Range<usize>, weight: Weight, list: &mut List) {
        let weight = match self.last {
            _ if weight == 0 => 0,
            Some(last) if last == char && self.is_adjacent(&range) => {
                // The length of a row carries few bits.
                self.repeated += 1;
                if self.repeated > 1 { 2 } else { weight.div_ceil(2) }
            }
            None => weight,
            Some(last) if last == char && weight <= SLIGHT => SLIGHT / 2,
            Some(last) if last == char || weight < SLIGHT => weight,
            Some(_) => weight + weight.max(3 * SLIGHT),
        };
        self.add_plainly(char, range, weight, list);
    }

    /// Adds a character whose weight does not depend on the last one, unless the two are part of a
    /// list.
    pub(super) fn add_plainly(
        &mut self,
        char: char,
        range: Range<usize>,
        weight: Weight,
        list: &mut List,
    ) {
        if weight == 0 {
            return;
        }
        let is_adjacent = self.is_adjacent(&range);
        // Up to three adjacent characters in ascending order, or more without a gap between their
        // codes, are a list, as programs print it. A directional control and its end are not, nor are
        // two directional marks alone.
        let is_list = self.last.is_some_and(|last| match self.row {
            1 | 2 if kind(char) == Some(Kind::Direction) => false,
            1 | 2 => last < char,
            _ => u32::from(last) + 1 == u32::from(char),
        });
        let is_listed = is_adjacent && is_list && kind(char) != Some(Kind::Bidi);
        self.row = if is_adjacent { self.row + 1 } else { 1 };
        let weight = if is_listed { weight.min(SLIGHT) } else { weight };
        self.drain(range.start, list);
        if self.last != Some(char) {
            self.is_uniform &= self.last.is_none();
            self.repeated = 0;
        }
        self.last = Some(char);
        self.end = range.end;
        // A level far over the limit would take too long to fall again.
        self.level = (self.level + weight).min(2 * LIMIT);
        self.is_message |= self.level >= self.limit;
        match self.carriers.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.carriers.push(range),
        }
    }

    /// Returns true if the last carrier is the same character.
    pub(super) fn is_last(&self, char: char) -> bool {
        self.last == Some(char)
    }

    /// Returns true if the last carrier ends where this one starts.
    fn is_adjacent(&self, range: &Range<usize>) -> bool {
        self.last.is_some() && self.end == range.start
    }

    /// Lowers the level by the visible characters up to `start`.
    fn drain(&mut self, start: usize, list: &mut List) {
        let between = self.text.get(self.end..start).unwrap_or_default();
        let mut was_space = false;
        for char in between.chars() {
            if self.level == 0 {
                break;
            }
            // Empty lines and sequences of blanks show nothing either, so they count once.
            let is_space = char.is_whitespace() || kind(char).is_some();
            self.level -= u32::from(!(is_space && was_space));
            was_space = is_space;
        }
        if self.level == 0 {
            self.report(list);
        }
    }

    /// Lists the carriers of a message, and starts over.
    fn report(&mut self, list: &mut List) {
        if std::mem::take(&mut self.is_message) {
            let detail = "zero-width characters spread over a text";
            let found = self.carriers.drain(..);
            found.for_each(|it| list.add_characters(Rule::ContentHidden, it, detail));
        }
        self.carriers.clear();
    }

    /// Ends the text. Returns the remaining level, if it hides no message.
    pub(super) fn finish(mut self, list: &mut List) -> Residue {
        let is_message = self.is_message;
        self.drain(self.text.len(), list);
        self.report(list);
        let level = if is_message { 0 } else { self.level };
        Residue { level, char: self.last.filter(|_| self.is_uniform) }
    }
}
