//! Capacity for hidden text: the bits that invisible characters without a use can carry.
//!
//! A stray invisible character is no message, and people paste them all the time. What makes a message
//! is their amount, so each one is weighed in sixteenths of a bit: one that has a use where it stands
//! weighs little or nothing, one without a use two bits, and another one than the one before more, since
//! a choice is what carries bits. Every visible character takes a sixteenth of a bit off again. Where the
//! level reaches the limit, all that is weighed in it is a hit: fourteen bits, so that less than two bytes
//! of hidden text pass; and three bits in a text of a few characters, such as a name. The texts of one message
//! are added up ([`Together`]), so that spreading it over many of them brings no more than four bytes.
//!
//! Invariant: the cost is linear in the text. What lies between two carriers is looked at once.

use std::ops::Range;

use super::kind::kind;
use crate::rule::Rule;
use crate::scan::list::List;

/// Sixteenths of a bit.
pub(super) type Weight = u32;

/// One bit.
pub(super) const BIT: Weight = 16;
/// The weight of a character that has a use where it stands, though it changes nothing.
pub(super) const SLIGHT: Weight = 4;
/// The weight of one without a use.
pub(super) const ODD: Weight = 2 * BIT;
/// The weight of one that is in no text by accident.
pub(super) const STRANGE: Weight = 4 * BIT;

/// The level at which a text hides a message.
const LIMIT: Weight = 14 * BIT;
/// The same in a short text: two characters without a use.
const SHORT_LIMIT: Weight = ODD + ODD / 2;
/// Fewer visible characters than this are a short text.
pub(super) const SHORT: usize = 16;

/// Measures what the invisible characters of a text could carry.
#[derive(Debug)]
pub(super) struct Capacity<'a> {
    text: &'a str,
    limit: Weight,
    level: Weight,
    /// The characters that the level comes from.
    carriers: Vec<Range<usize>>,
    /// True once the level has reached the limit, until it falls to zero.
    is_message: bool,
    last: Option<char>,
    /// Number of times that the last one stood right behind itself.
    repeated: u32,
    /// True while all carriers of the text are one character.
    is_uniform: bool,
    /// The end of the last carrier.
    end: usize,
}

/// Remaining level of a text that hides no message on its own.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Residue {
    /// Its level, in sixteenths of a bit.
    pub(crate) level: Weight,
    /// The character that it comes from, if it is a single one.
    pub(crate) char: Option<char>,
}

/// Sums what the texts of one message could hide together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Together {
    level: Weight,
    char: Option<char>,
}

impl Together {
    /// Adds what is left of a text of so many bytes. Says whether they hide a message: then the text is a part
    /// of it.
    pub(crate) fn add(&mut self, residue: Residue, bytes: usize) -> bool {
        let visible = u32::try_from(bytes / 2).unwrap_or(u32::MAX);
        self.level = self.level.saturating_sub(visible);
        if residue.level > 0 {
            // One and the same stray in many texts, such as cells of a table, is no choice.
            let is_same = residue.char.is_some() && residue.char == self.char;
            self.level += if is_same { residue.level / 8 } else { residue.level };
            self.char = residue.char;
        }
        self.level >= 2 * LIMIT
    }
}

impl<'a> Capacity<'a> {
    /// Measures `text`; without `limit`, by its length.
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
            is_uniform: true,
            end: 0,
        }
    }

    /// Adds a character that people type or paste: another one than the last weighs more.
    pub(super) fn add(&mut self, char: char, range: Range<usize>, weight: Weight, list: &mut List) {
        let weight = match self.last {
            _ if weight == 0 => 0,
            Some(last) if last == char && self.is_adjacent(&range) => {
                // The length of a row says little.
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

    /// Adds a character whose weight does not depend on the last one, unless they are a list.
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
        // Characters in their order, as programs list them.
        let is_listed = self.is_adjacent(&range) && self.last.is_some_and(|last| last < char);
        let weight = if is_listed { weight.min(SLIGHT) } else { weight };
        self.drain(range.start, list);
        if self.last != Some(char) {
            self.is_uniform &= self.last.is_none();
            self.repeated = 0;
        }
        self.last = Some(char);
        self.end = range.end;
        // A level far over the limit would not fall again.
        self.level = (self.level + weight).min(2 * LIMIT);
        self.is_message |= self.level >= self.limit;
        match self.carriers.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.carriers.push(range),
        }
    }

    /// Returns whether the last carrier is the same character.
    pub(super) fn is_last(&self, char: char) -> bool {
        self.last == Some(char)
    }

    /// Returns whether the last carrier stands right before.
    fn is_adjacent(&self, range: &Range<usize>) -> bool {
        self.last.is_some() && self.end == range.start
    }

    /// Takes off what the visible characters up to `start` weigh.
    fn drain(&mut self, start: usize, list: &mut List) {
        let between = self.text.get(self.end..start).unwrap_or_default();
        let mut was_space = false;
        for char in between.chars() {
            if self.level == 0 {
                break;
            }
            // Empty lines show nothing either, nor do those full of blanks.
            let is_space = char.is_whitespace() || kind(char).is_some();
            self.level -= u32::from(!(is_space && was_space));
            was_space = is_space;
        }
        if self.level == 0 {
            self.report(list);
        }
    }

    /// Lists what carries a message, and begins anew.
    fn report(&mut self, list: &mut List) {
        if std::mem::take(&mut self.is_message) {
            let detail = "zero-width characters spread over a text";
            let found = self.carriers.drain(..);
            found.for_each(|it| list.add_characters(Rule::ContentHidden, it, detail));
        }
        self.carriers.clear();
    }

    /// Ends the text. Returns what is left of one that hides no message.
    pub(super) fn finish(mut self, list: &mut List) -> Residue {
        let is_message = self.is_message;
        self.drain(self.text.len(), list);
        self.report(list);
        let level = if is_message { 0 } else { self.level };
        Residue { level, char: self.last.filter(|_| self.is_uniform) }
    }
}
