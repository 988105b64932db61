//! Invisible characters next to signs: breaks in long names and addresses, marks around numbers,
//! operators in formulas, marks and spans in writing from right to left.
//!
//! Some programs insert one after every punctuation mark, or in every place of a kind; that carries
//! no information. Where some of these places have one and others have none, they carry bits.
//!
//! Invariant: the text is read once, and only if it has such characters.

use std::ops::Range;

use super::capacity::{BIT, ODD, SLIGHT, Weight};
use super::kind::{Kind, kind};
use crate::scan::unicode::is_right_to_left;

/// The places of one text next to signs.
#[derive(Debug)]
pub(super) struct Signs<'a> {
    text: &'a str,
    /// Position up to which the text was searched for places without a character.
    read: usize,
    /// Kinds of places that had a character, sorted.
    seen: Vec<(Place, Habit)>,
    /// Signs that were found without a character after them, one bit for each.
    missed_after: u128,
    /// Signs that were found without a character before them.
    missed_before: u128,
}

/// Weight where the text has the same character in all such places.
const USUAL: Weight = SLIGHT / 2;

/// Weight where some of these places have none, or another character.
const MIXED: Weight = ODD + BIT / 2;

/// Weight of the first one in a kind of place, where the sign was without one.
const FIRST: Weight = 2 * SLIGHT;

/// Class of letters that are written from right to left.
const RIGHT_TO_LEFT: char = 'א';

/// Limit on remembered kinds of places. The others count as new at each occurrence.
const MAX_SEEN: usize = 512;

/// A kind of place. Letters and digits are reduced to one each.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Place {
    /// The last character before the place that is no blank.
    before: char,
    after: char,
    /// True if blanks are between `before` and the place.
    is_spaced: bool,
}

/// The last character in one kind of place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Habit {
    char: char,
    /// Number of places without one since then.
    missed: u32,
    /// Number of places without one before it.
    missed_before: u32,
}

/// Position of the sign of a place, as seen from the invisible character.
#[derive(Clone, Copy, Debug)]
enum Sign {
    Before(char),
    After(char),
}

impl<'a> Signs<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, read: 0, seen: Vec::new(), missed_after: 0, missed_before: 0 }
    }

    /// Weighs the run of invisible characters at `range`, which begins with `char`.
    pub(super) fn weigh(&mut self, range: Range<usize>, char: char) -> Weight {
        let before = self.read_to(range.start);
        self.read = range.end;
        let after = self.text.get(range.end..).and_then(|it| it.chars().next());
        let place = before.followed_by(after.unwrap_or('\n'));
        let is_missed_sign = match place.sign() {
            Some(Sign::Before(sign)) => Some(take_bit(&mut self.missed_after, sign)),
            Some(Sign::After(sign)) => Some(take_bit(&mut self.missed_before, sign)),
            None => None,
        };
        let new = |missed_before| Habit { char, missed: 0, missed_before };
        let habit = match self.seen.binary_search_by_key(&place, |it| it.0) {
            Ok(index) => self.seen.get_mut(index).map(|(_, it)| {
                let new = new(it.missed);
                std::mem::replace(it, new)
            }),
            Err(index) => {
                if self.seen.len() < MAX_SEEN {
                    self.seen.insert(index, (place, new(0)));
                }
                None
            }
        };
        let is_direction = matches!(kind(char), Some(Kind::Direction | Kind::Bidi));
        match (habit, is_missed_sign) {
            (Some(last), _) if last.missed == 0 && last.char != char => MIXED,
            (Some(Habit { missed: 0, .. }), _) | (None, None) | (_, Some(false)) => USUAL,
            (None, Some(true)) => FIRST,
            // In data, each value may have one, and no key.
            (Some(last), _)
                if is_direction && last.missed == last.missed_before && last.char == char =>
            {
                BIT
            }
            // Programs break some long names between words, and leave others whole.
            (Some(_), None) => BIT + BIT / 2,
            (Some(_), _) => MIXED,
        }
    }

    /// Records the places up to `end` that have no invisible character. Returns what stands before
    /// `end`.
    fn read_to(&mut self, end: usize) -> Before {
        let mut before = Before::default();
        for char in self.text.get(self.read..end).unwrap_or_default().chars() {
            let is_invisible = kind(char).is_some();
            let is_inside_blanks = before.is_spaced && is_blank(char);
            if !(before.is_open || is_invisible || is_inside_blanks) {
                self.miss(before.followed_by(char));
            }
            before.read(char, is_invisible);
        }
        before
    }

    /// Records a place without an invisible character.
    fn miss(&mut self, place: Place) {
        match place.sign() {
            Some(Sign::Before(sign)) => self.missed_after |= bit(sign),
            Some(Sign::After(sign)) => self.missed_before |= bit(sign),
            None => {}
        }
        if !self.seen.is_empty()
            && let Ok(index) = self.seen.binary_search_by_key(&place, |it| it.0)
            && let Some(it) = self.seen.get_mut(index)
        {
            it.1.missed = it.1.missed.saturating_add(1);
        }
    }
}

/// The text before a place.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// The last character that is no blank, reduced.
    last: char,
    is_spaced: bool,
    /// True if an invisible character was the last one, so that the next place is not without one.
    is_open: bool,
}

impl Default for Before {
    fn default() -> Self {
        Self { last: '\n', is_spaced: false, is_open: true }
    }
}

impl Before {
    fn read(&mut self, char: char, is_invisible: bool) {
        if is_invisible {
            self.is_open = true;
        } else if is_blank(char) {
            self.is_spaced = true;
        } else {
            *self = Self { last: class(char), is_spaced: false, is_open: false };
        }
    }

    fn followed_by(self, after: char) -> Place {
        Place { before: self.last, after: class(after), is_spaced: self.is_spaced }
    }
}

impl Place {
    /// Returns the sign of the place, if it has one. A row of one sign is a kind of its own.
    fn sign(self) -> Option<Sign> {
        let is_sign = |class: char| !matches!(class, 'a' | 'A' | '0' | RIGHT_TO_LEFT);
        match (self.before, self.after) {
            _ if self.is_spaced || self.before == self.after => None,
            (before, _) if is_sign(before) => Some(Sign::Before(before)),
            (_, after) if is_sign(after) => Some(Sign::After(after)),
            _ => None,
        }
    }
}

/// Returns the character that stands for all characters of its kind.
fn class(char: char) -> char {
    match char {
        _ if is_right_to_left(char) && char.is_alphabetic() => RIGHT_TO_LEFT,
        _ if char.is_uppercase() => 'A',
        _ if char.is_alphabetic() => 'a',
        _ if char.is_numeric() => '0',
        _ => char,
    }
}

fn is_blank(char: char) -> bool {
    char != '\n' && char.is_whitespace()
}

/// Returns the bit of a sign. All signs beyond ASCII share one.
fn bit(sign: char) -> u128 {
    1 << u32::from(sign).min(127)
}

fn take_bit(bits: &mut u128, sign: char) -> bool {
    let is_set = *bits & bit(sign) != 0;
    *bits &= !bit(sign);
    is_set
}
