//! Weighs an invisible character by its use in context.

use super::capacity::{BIT, ODD, SLIGHT, STRANGE, Weight};
use super::consistency::{fills_a_syllable, is_silent};
use super::kind::{Kind, kind};
use crate::scan::unicode::{
    has_variant, is_east_asian, is_indic, is_joined, is_mark, is_mongolian, is_pictograph,
    is_right_to_left, is_unspaced, is_virama, joins_before, joins_next,
};

/// The text around a run of invisible characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    /// The text before the run.
    text: &'a str,
    /// The text after the run.
    rest: &'a str,
    pub(super) before: Option<char>,
    pub(super) after: Option<char>,
    /// Set if the line is written from right to left, at least in part. Computed for directional
    /// marks only.
    pub(super) is_right_to_left: bool,
    /// Set if the first letter of the line is written from right to left. Computed likewise.
    pub(super) starts_right_to_left: bool,
    /// Set if the run is a single character.
    pub(super) is_single: bool,
}

/// The weight of a character, or that it belongs in no text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Use {
    Weighs(Weight),
    /// A hit in a text that is not long.
    Never,
    /// A non-joiner that some texts write everywhere; see [`Consistency`](super::consistency::Consistency).
    Silent,
    /// A filler of a Hangul syllable, likewise.
    Filler,
    /// A character in a place that [`Signs`](super::sign::Signs) compares with others of its kind. It
    /// weighs no less than this.
    AtSign(Weight),
}

/// Limit on combining marks that are skipped to find their letter.
const MAX_MARKS: usize = 8;

/// Limit on blanks that are skipped to find the next letter.
const MAX_BLANKS: usize = 8;

/// Names of functions that formulas write before an argument without brackets.
const FUNCTIONS: [&str; 27] = [
    "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
    "log", "ln", "lg", "exp", "lim", "max", "min", "sup", "inf", "det", "dim", "ker", "deg", "arg",
    "gcd",
];

/// Limit on the letters of such a name.
const MAX_NAME: usize = 6;

impl<'a> Around<'a> {
    pub(super) fn new(text: &'a str, rest: &'a str) -> Self {
        let (before, after) = (text.chars().next_back(), rest.chars().next());
        Self {
            text,
            rest,
            before,
            after,
            is_right_to_left: false,
            starts_right_to_left: false,
            is_single: true,
        }
    }

    fn is_near(&self, test: impl Fn(char) -> bool) -> bool {
        self.before.is_some_and(&test) || self.after.is_some_and(&test)
    }

    /// Returns the character before the run, without the marks that combine with it.
    fn base(&self, is_part: fn(char) -> bool) -> Option<char> {
        let before = self.before?;
        if !is_part(before) {
            return Some(before);
        }
        self.text.chars().rev().take(MAX_MARKS).find(|it| !is_part(*it))
    }

    /// Weighs a character of the run; `previous` is the one before it in the run.
    pub(super) fn weigh(&self, char: char, previous: Option<char>) -> Use {
        let Some(kind) = kind(char) else { return Use::Weighs(0) };
        let weight = match kind {
            Kind::Break if self.is_at_sign() => return Use::AtSign(0),
            Kind::Break => self.weigh_break(),
            Kind::Joiner if char == '\u{200c}' && self.is_silent() => return Use::Silent,
            Kind::Joiner => self.weigh_joiner(char),
            Kind::Direction => return self.weigh_direction(char, previous),
            Kind::SoftHyphen => self.weigh_soft_hyphen(),
            Kind::Glue if self.is_at_sign() => return Use::AtSign(0),
            Kind::Glue => self.weigh_glue(char),
            Kind::Operator if self.is_due_operator(char) => return Use::AtSign(0),
            Kind::Operator => self.weigh_operator(char),
            // It keeps two marks apart.
            Kind::GraphemeJoiner if self.is_between_marks() => BIT / 2,
            Kind::GraphemeJoiner => ODD,
            Kind::Mongolian if self.is_near(is_mongolian) => self.weigh_mongolian(char),
            Kind::Filler if fills_a_syllable(char, previous.or(self.before), self.after) => {
                return Use::Filler;
            }
            Kind::Within(first, last) if self.is_near(|it| (first..=last).contains(&it)) => {
                // No Khmer text needs these vowels.
                if matches!(char, '\u{17b4}' | '\u{17b5}') { BIT } else { SLIGHT / 2 }
            }
            Kind::Layout(first, last) if self.is_near(|it| (first..=last).contains(&it)) => 0,
            Kind::Mongolian | Kind::Filler | Kind::Within(..) | Kind::Layout(..) => {
                return Use::Never;
            }
            Kind::Never | Kind::Tag => return Use::Never,
            // `Choices` and `Controls` weigh these, with more context.
            Kind::Selector | Kind::Bidi => STRANGE,
            Kind::Blank | Kind::Separator | Kind::Void => STRANGE,
        };
        // Only the first of a row has its effect, so the others are never free.
        Use::Weighs(if previous.is_some() { weight.max(SLIGHT) } else { weight })
    }

    fn weigh_break(&self) -> Weight {
        let is_edge = |it: Option<char>| it.is_none_or(|it| it.is_whitespace() || it == '|');
        if self.is_near(is_unspaced) {
            0
        } else if self.before.is_some_and(is_hangul) && self.after.is_some_and(is_hangul) {
            // Korean has spaces between words.
            BIT + BIT / 2
        } else if self.is_near(is_east_asian) {
            // Programs break Japanese between phrases of about five characters.
            SLIGHT + SLIGHT / 2
        } else if self.is_single && is_edge(self.before) && is_edge(self.after) {
            // Editors leave one in empty lines and cells.
            if self.phrase().is_some() { BIT } else { BIT / 2 }
        } else if is_edge(self.before) != is_edge(self.after) {
            // Translation software leaves them at the ends of words.
            if self.phrase().is_some() { BIT + BIT / 2 } else { BIT }
        } else if self.is_near(|it| is_right_to_left(it) || is_indic(it)) {
            BIT
        } else {
            ODD
        }
    }

    /// Returns true if a break, or what forbids one, stands at a sign inside a long word.
    fn is_at_sign(&self) -> bool {
        self.may_break() && !self.is_near(|it| is_unspaced(it) || is_east_asian(it))
    }

    /// Returns true if a long word may be broken here: at a sign, a capital, or a number.
    fn may_break(&self) -> bool {
        let (Some(before), Some(after)) = (self.before, self.after) else { return false };
        let is_sign = |it: char| !it.is_alphanumeric() && !it.is_whitespace();
        let is_inside = !before.is_whitespace() && !after.is_whitespace();
        let is_capital = before.is_lowercase() && after.is_uppercase();
        is_inside
            && (is_sign(before)
                || is_sign(after)
                || is_capital
                || before.is_numeric() != after.is_numeric())
    }

    fn is_silent(&self) -> bool {
        self.before.is_some_and(|it| is_silent(it, self.after))
    }

    /// Returns true if the run is next to a letter of a script that has joiners.
    pub(super) fn is_near_script(&self) -> bool {
        self.is_near(has_joiners)
    }

    fn weigh_joiner(&self, char: char) -> Weight {
        let is_joiner = char == '\u{200d}';
        if is_joiner && self.before >= Some('\u{2190}') {
            let is_modifier = |it: char| matches!(it, '\u{1f3fb}'..='\u{1f3ff}');
            if let (Some(before), Some(after)) = (self.base(is_modifier), self.after) {
                if is_joined(before, after) {
                    return 0;
                }
                if is_pictograph(before) && is_pictograph(after) {
                    return BIT;
                }
            }
        }
        let joins_next = self.base(is_mark).is_some_and(joins_next);
        let joins_before = self.after.is_some_and(joins_before);
        // The non-joiner separates letters that would join; the joiner joins a letter at an edge.
        let is_seen =
            if is_joiner { joins_next != joins_before } else { joins_next && joins_before };
        if is_seen || self.is_near(is_virama) {
            return 0;
        }
        // German has no ligature where two words meet.
        let is_ligature = !is_joiner
            && self.before == Some('f')
            && self.after.is_some_and(|it| "bfhijklt".contains(it));
        let is_script = |it: Option<char>| it.is_some_and(has_joiners);
        match (is_script(self.before), is_script(self.after)) {
            // The letters join without a joiner.
            (true, true) if joins_next && joins_before => ODD,
            // Between letters that never join, people type the non-joiner out of habit.
            (true, true) => BIT,
            _ if is_ligature => BIT / 2,
            _ => ODD,
        }
    }

    fn weigh_direction(&self, char: char, previous: Option<char>) -> Use {
        match (self.is_right_to_left, self.is_at_edge()) {
            // One more in the same place has no effect, or that of a mark alone.
            _ if previous.and_then(kind) == Some(Kind::Direction) => Use::AtSign(BIT),
            _ if self.is_inserted_mark(char) => Use::AtSign(0),
            _ if self.is_idle_mark(char) => Use::Weighs(ODD),
            (true, true) => Use::AtSign(0),
            (false, true) => Use::AtSign(BIT),
            (true, false) => Use::Weighs(BIT),
            (false, false) => Use::Weighs(ODD),
        }
    }

    /// Returns true for a mark inside of a date, and for a left-to-right mark next to a sign, in a line
    /// of that direction. Programs insert them around dates and names.
    fn is_inserted_mark(&self, char: char) -> bool {
        let is_in_date = self.is_inside_date() && !self.is_right_to_left;
        is_in_date
            || char == '\u{200e}'
                && !self.is_right_to_left
                && self.is_at_edge()
                && !self.is_idle_mark(char)
    }

    /// Returns true between a number and a slash, where programs write marks into the dates of Arabic.
    pub(super) fn is_inside_date(&self) -> bool {
        let mut rest = self.rest.chars();
        self.before.is_some_and(char::is_numeric)
            && rest.next() == Some('/')
            && rest.next().is_some_and(char::is_numeric)
    }

    /// Returns true if the run is not inside a word.
    fn is_at_edge(&self) -> bool {
        let is_neutral = |it: Option<char>| it.is_none_or(|it| !it.is_alphanumeric());
        is_neutral(self.before) || is_neutral(self.after)
    }

    /// Returns true if a directional mark has no effect on the letters around it.
    fn is_idle_mark(&self, char: char) -> bool {
        // A mark against the letters has an effect if the line goes its way.
        let is_for_right = char != '\u{200e}';
        let is_idle = |letters| letters == is_for_right || letters == self.starts_right_to_left;
        self.phrase().is_some_and(is_idle)
    }

    /// Returns the direction of the letters before and after, if it is the same and only blanks
    /// are between them: true for right to left.
    fn phrase(&self) -> Option<bool> {
        let is_blank = |it: char| it.is_whitespace() || is_mark(it) || kind(it).is_some();
        let is_seen = |it: &char| *it == '\n' || !is_blank(*it);
        let direction = |it: Option<char>| it.filter(|it| it.is_alphabetic()).map(is_right_to_left);
        let before = direction(self.text.chars().rev().take(MAX_BLANKS).find(is_seen));
        let after = direction(self.rest.chars().take(MAX_BLANKS).find(is_seen));
        before.filter(|_| before == after)
    }

    /// A variant that exists looks different, and so does the letter after a vowel separator.
    fn weigh_mongolian(&self, char: char) -> Weight {
        let is_seen = match char {
            '\u{180e}' => true,
            _ => self.before.is_some_and(|base| has_variant(base, char)),
        };
        if is_seen { SLIGHT - 1 } else { SLIGHT }
    }

    fn weigh_soft_hyphen(&self) -> Weight {
        // Syllables have at least two letters.
        let is_letter = |it: char| it.is_alphabetic() || is_mark(it);
        let is_syllable = self.text.chars().rev().take(2).filter(|it| is_letter(*it)).count() == 2;
        match (is_syllable, self.after.is_some_and(is_letter)) {
            (true, true) => 0,
            (false, true) if self.before.is_some_and(is_letter) => ODD,
            _ => BIT,
        }
    }

    fn weigh_glue(&self, char: char) -> Weight {
        match self.before {
            None if char == '\u{feff}' => 0,
            _ if self.is_near(is_east_asian) => BIT,
            _ => ODD,
        }
    }

    /// Weighs an invisible operator that is not next to a bracket or a number.
    fn weigh_operator(&self, char: char) -> Weight {
        let name: usize = self
            .text
            .chars()
            .rev()
            .take_while(|it| it.is_alphabetic())
            .take(MAX_NAME + 1)
            .map(char::len_utf8)
            .sum();
        let name = self.text.get(self.text.len() - name..).unwrap_or_default();
        let next: usize = self
            .rest
            .chars()
            .take_while(|it| it.is_alphabetic())
            .take(MAX_NAME + 1)
            .map(char::len_utf8)
            .sum();
        let next = self.rest.get(..next).unwrap_or_default();
        let is_variable = |name: &str| name.chars().count() == 1;
        match char {
            '\u{2061}' if FUNCTIONS.contains(&name) => SLIGHT / 2,
            // The names of variables are single letters.
            _ if is_variable(name) && (is_variable(next) || FUNCTIONS.contains(&next)) => {
                SLIGHT - 1
            }
            _ => ODD,
        }
    }

    /// Returns true if the context leaves no choice: a function before its argument, a factor before
    /// a variable or a bracket, a fraction after its whole.
    fn is_due_operator(&self, char: char) -> bool {
        let (Some(before), Some(after)) = (self.before, self.after) else { return false };
        match char {
            '\u{2061}' => before.is_alphabetic() && after == '(',
            '\u{2062}' if before.is_numeric() => after.is_alphabetic() || after == '(',
            '\u{2062}' => before == ')' && after.is_alphanumeric() || after == '(',
            _ => before.is_ascii_digit() && after.is_numeric() && !after.is_ascii_digit(),
        }
    }

    /// Returns true if the run keeps two combining marks apart.
    fn is_between_marks(&self) -> bool {
        self.before.is_some_and(is_mark) && self.after.is_some_and(is_mark)
    }
}

/// Returns true for a syllable of Korean.
fn is_hangul(char: char) -> bool {
    matches!(char, '\u{ac00}'..='\u{d7a3}')
}

/// Returns true if the script of the letter has joiners.
fn has_joiners(char: char) -> bool {
    is_indic(char) || is_right_to_left(char) || is_mongolian(char) || is_mark(char)
}
