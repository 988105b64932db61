//! Variation selectors: each selects a form of the character before it, or selects nothing and
//! carries bits.
//!
//! Most selectors are optional, so their presence is a bit unless the text uses them consistently.
//! A selector weighs little if the same character, or in some cases its whole [`Group`], has had
//! one everywhere since the last time. It weighs more after a place without one.
//!
//! Invariant: the text is read once, and only if it has selectors.

use super::capacity::{BIT, CHANGE, ODD, SLIGHT, STRANGE, Weight};
use crate::scan::block::for_each_from;
use crate::scan::unicode::{
    has_styles, has_variant, is_emoji_by_default, is_ideograph, is_pictograph,
};

/// The selections that a text has made so far.
#[derive(Debug)]
pub(super) struct Choices<'a> {
    text: &'a str,
    /// Characters that had a selector, each with its last one, sorted.
    seen: Vec<(char, Last)>,
    /// One bit for each value of the last six bits of a character in `seen`.
    filter: u64,
    groups: [Option<Last>; 5],
    /// Position up to which the text was searched for characters without a selector.
    read: usize,
}

/// Limit on remembered characters. The others count as new at each occurrence.
const MAX_SEEN: usize = 1024;

/// The last selector that is registered for any ideograph.
const LAST_REGISTERED: char = '\u{e011f}';

/// The last selector of a character, or of a group.
#[derive(Clone, Copy, Debug)]
struct Last {
    selector: char,
    /// Set if the character has occurred without a selector since.
    is_missed: bool,
}

/// Characters whose selectors do not change how they look.
#[derive(Clone, Copy, Debug)]
enum Group {
    /// Digits and signs outside of keycaps.
    Digit,
    /// Old emoji, after which Apple's keyboards insert a selector.
    Old,
    /// Newer emoji with a selector in the standard.
    New,
    /// Emoji without one.
    Other,
    /// Digits and signs of keycaps.
    Keycap,
}

/// Weights of a selector after some character.
#[derive(Clone, Copy, Debug)]
struct Choice {
    /// For the first occurrence.
    new: Weight,
    /// For a character that always has the same selector.
    same: Weight,
    /// For a character that was without it since the last time.
    mixed: Weight,
    /// Same as `mixed`, where another character of the group was without it.
    group: Weight,
}

/// Returns true if the selector cannot select anything that exists.
pub(super) fn selects_nothing(base: Option<char>, selector: char) -> bool {
    let Some(base) = base else { return !is_style(selector) };
    match selector {
        _ if is_style(selector) => false,
        '\u{fe00}'..='\u{fe0f}' => !has_variant(base, selector),
        // The supplementary selectors are defined for ideographs only.
        _ => !is_ideograph(base) || selector > LAST_REGISTERED,
    }
}

/// Returns true if the selector chooses between a text style and an emoji style.
pub(super) fn is_style(selector: char) -> bool {
    matches!(selector, '\u{fe0e}' | '\u{fe0f}')
}

impl<'a> Choices<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, seen: Vec::new(), filter: 0, groups: [None; 5], read: 0 }
    }

    /// Weighs the selector at `at`, which follows `base` and is followed by `after`.
    pub(super) fn weigh(
        &mut self,
        at: usize,
        (base, selector): (Option<char>, char),
        after: Option<char>,
    ) -> Weight {
        let Some(base) = base else { return ODD };
        self.read_to(at.saturating_sub(base.len_utf8()));
        self.read = at + selector.len_utf8();
        let group = group(base, after);
        let last = Last { selector, is_missed: false };
        let is_changed = |old: Last| old.is_missed || old.selector != selector;
        if matches!(group, Some(Group::Keycap)) {
            let is_mixed = self.replace(group, last).is_some_and(is_changed);
            return if is_mixed { ODD } else { 0 };
        }
        let choice = choice(base, selector);
        let of_base = match self.seen.binary_search_by_key(&base, |it| it.0) {
            Ok(index) => {
                let old = self.seen.get_mut(index).map(|it| std::mem::replace(&mut it.1, last));
                let is_mixed = old.is_some_and(is_changed);
                if is_mixed { choice.mixed.max(choice.new) } else { choice.same }
            }
            Err(index) => {
                if self.seen.len() < MAX_SEEN {
                    self.seen.insert(index, (base, last));
                    self.filter |= bit(base);
                }
                choice.new
            }
        };
        let is_mixed = self.replace(group, last).is_some_and(is_changed);
        if is_mixed { of_base.max(choice.group) } else { of_base }
    }

    /// Replaces the last selector of a group, and returns the one before.
    fn replace(&mut self, group: Option<Group>, last: Last) -> Option<Last> {
        self.groups.get_mut(group? as usize)?.replace(last)
    }

    /// Reads the text up to `end`, and remembers which characters are without a selector.
    fn read_to(&mut self, end: usize) {
        let text = self.text.get(self.read..end).unwrap_or_default();
        if self.minds_letters() {
            for (at, _) in text.char_indices() {
                self.read_char(text, at);
            }
        } else {
            // Most texts with emoji are letters in between.
            for_each_from(LEAD, text.as_bytes(), |at| self.read_char(text, at));
        }
    }

    /// Reads the character at `at`, which is without a selector.
    fn read_char(&mut self, text: &str, at: usize) {
        let mut chars = text.get(at..).unwrap_or_default().chars();
        let Some(char) = chars.next() else { return };
        if char == KEYCAP && text.get(..at).is_some_and(|it| it.ends_with(is_key)) {
            self.miss_in(Group::Keycap);
        }
        // The next character matters for a key alone.
        let next = if is_key(char) { chars.next() } else { None };
        self.miss(char, next);
    }

    /// Returns true if a character before [`LEAST`] had a selector outside of a keycap.
    fn minds_letters(&self) -> bool {
        let has_digit = self.groups.get(Group::Digit as usize).is_some_and(Option::is_some);
        has_digit || self.seen.first().is_some_and(|(it, _)| *it < LEAST)
    }

    /// Remembers that a character is without a selector. `next` is the character after it.
    fn miss(&mut self, char: char, next: Option<char>) {
        if is_key(char) && next == Some(KEYCAP) {
            return;
        }
        if self.filter & bit(char) != 0
            && let Ok(index) = self.seen.binary_search_by_key(&char, |it| it.0)
            && let Some((_, last)) = self.seen.get_mut(index)
        {
            last.is_missed = true;
        }
        if let Some(group) = group(char, next) {
            self.miss_in(group);
        }
    }

    fn miss_in(&mut self, group: Group) {
        if let Some(Some(last)) = self.groups.get_mut(group as usize) {
            last.is_missed = true;
        }
    }
}

/// The sign that makes a key of the digit before it.
const KEYCAP: char = '\u{20e3}';
/// The first character that is an emoji without a selector, or one before it.
const LEAST: char = '\u{2000}';
/// The first byte of [`LEAST`] and of all later characters.
const LEAD: u8 = 0xe2;

fn bit(char: char) -> u64 {
    1 << (u32::from(char) & 63)
}

/// Returns true if the character is part of a keycap emoji.
fn is_key(char: char) -> bool {
    matches!(char, '0'..='9' | '#' | '*')
}

/// Returns the group of a character that looks the same with the usual selector.
fn group(char: char, after: Option<char>) -> Option<Group> {
    match char {
        _ if is_key(char) && after == Some(KEYCAP) => Some(Group::Keycap),
        _ if is_key(char) => Some(Group::Digit),
        '\0'..LEAST | '\u{2c00}'..'\u{1f000}' => None,
        _ if !is_emoji_by_default(char) => None,
        _ if !has_styles(char) => Some(Group::Other),
        _ if char < '\u{10000}' => Some(Group::Old),
        _ => Some(Group::New),
    }
}

fn choice(base: char, selector: char) -> Choice {
    let of = |new, same, mixed, group| Choice { new, same, mixed, group };
    let is_emoji_style = selector == '\u{fe0f}';
    match selector {
        _ if is_style(selector) => match base {
            _ if is_key(base) => of(BIT, SLIGHT, CHANGE, CHANGE),
            // The other style looks different.
            _ if has_styles(base) && is_emoji_by_default(base) != is_emoji_style => {
                of(0, 0, ODD, 0)
            }
            // Texts of several people mix these.
            _ if has_styles(base) && base < '\u{10000}' => of(0, 0, CHANGE, BIT),
            _ if has_styles(base) => of(0, 0, CHANGE, ODD),
            // Keyboards append one to emoji that have no other style.
            _ if is_pictograph(base) || base == KEYCAP => of(SLIGHT, 0, CHANGE, ODD),
            // A leftover of a removed emoji.
            _ if base.is_whitespace() || base.is_ascii_punctuation() => of(ODD, ODD, ODD, 0),
            _ if base.is_alphanumeric() => of(STRANGE, SLIGHT, STRANGE, 0),
            _ => of(BIT, 0, CHANGE, 0),
        },
        '\u{fe00}'..='\u{fe0f}' if is_ideograph(base) => of(BIT, 0, 3 * BIT, 0),
        '\u{fe00}'..='\u{fe0f}' => of(0, 0, ODD, 0),
        // People use only the first few variants of an ideograph.
        '\u{e0100}'..='\u{e0103}' => of(BIT, 0, 3 * BIT, 0),
        '\u{e0104}'..='\u{e010f}' => of(ODD, 0, 3 * BIT, 0),
        _ => of(STRANGE, 0, STRANGE, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_skipped_character_is_an_emoji_by_default() {
        for char in ('\0'..LEAST).chain('\u{2c00}'..'\u{1f000}') {
            assert!(!is_emoji_by_default(char), "U+{:04X}", u32::from(char));
        }
    }
}
