//! Variation selectors: each selects a form of the character before it, or selects nothing and
//! carries bits.

use super::capacity::{BIT, ODD, SLIGHT, STRANGE, Weight};
use crate::scan::unicode::{has_styles, has_variant, is_ideograph, is_pictograph};

/// The selections that a text has made so far.
#[derive(Debug, Default)]
pub(super) struct Choices {
    /// Characters that had a selector, each with its last one.
    seen: Vec<(char, char)>,
    next: usize,
    /// End of the last selector.
    end: usize,
}

/// Limit on remembered selections.
const MAX_SEEN: usize = 64;
/// Number of bytes before a selector that are searched for its character without one.
const NEAR: usize = 128;

/// The last selector that is registered for any ideograph.
const LAST_REGISTERED: char = '\u{e011f}';

/// Weights of a selector after some character.
#[derive(Clone, Copy, Debug)]
struct Choice {
    /// For the first occurrence.
    new: Weight,
    /// For a character that always has the same selector.
    same: Weight,
    /// For a character that has it in some places, and not in others.
    mixed: Weight,
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

impl Choices {
    /// Weighs the selector at `at`, which follows `base` and is followed by `after`.
    pub(super) fn weigh(
        &mut self,
        text: &str,
        at: usize,
        (base, selector): (Option<char>, char),
        after: Option<char>,
    ) -> Weight {
        let start = std::mem::replace(&mut self.end, at + selector.len_utf8());
        let Some(base) = base else { return ODD };
        let choice = choice(base, selector, after);
        let Some((_, last)) = self.seen.iter_mut().find(|(it, _)| *it == base) else {
            self.remember((base, selector));
            return choice.new;
        };
        if std::mem::replace(last, selector) != selector {
            return choice.new.max(choice.mixed);
        }
        let end = at.saturating_sub(base.len_utf8());
        let start = text.ceil_char_boundary(start.max(end.saturating_sub(NEAR)));
        // A character with and without its selector encodes one bit per occurrence.
        let is_mixed = || text.get(start..end).is_some_and(|it| it.contains(base));
        if choice.mixed != choice.same && is_mixed() { choice.mixed } else { choice.same }
    }

    fn remember(&mut self, pair: (char, char)) {
        match self.seen.get_mut(self.next) {
            Some(oldest) => *oldest = pair,
            None => self.seen.push(pair),
        }
        self.next = (self.next + 1) % MAX_SEEN;
    }
}

fn choice(base: char, selector: char, after: Option<char>) -> Choice {
    let of = |new, same, mixed| Choice { new, same, mixed };
    match selector {
        _ if is_style(selector) => match base {
            '0'..='9' | '#' | '*' if after == Some('\u{20e3}') => of(0, 0, 0),
            '0'..='9' | '#' | '*' => of(BIT, SLIGHT, BIT),
            _ if has_styles(base) => of(0, 0, BIT / 2),
            // Keyboards append one to emoji that have no other style.
            _ if is_pictograph(base) || base == '\u{20e3}' => of(SLIGHT, 0, BIT / 2),
            // A leftover of a removed emoji.
            _ if base.is_whitespace() || base.is_ascii_punctuation() => of(ODD, ODD, ODD),
            _ if base.is_alphanumeric() => of(STRANGE, SLIGHT, ODD),
            _ => of(BIT, 0, BIT / 2),
        },
        '\u{fe00}'..='\u{fe0f}' => of(0, 0, BIT),
        // People use only the first few variants of an ideograph.
        '\u{e0100}'..='\u{e0103}' => of(BIT, 0, BIT),
        '\u{e0104}'..='\u{e010f}' => of(ODD, 0, ODD),
        _ => of(STRANGE, 0, STRANGE),
    }
}
