//! Characters that people do not see and models read.
//!
//! An invisible character is a hit unless the writing around it needs it. Runs of them are judged
//! as one, by what stands before and after. A single one that no script needs is let pass (people
//! paste them all the time), but many of them close together carry a message and are hits again.

use std::ops::Range;

use super::list::List;
use super::script::{has_variant, is_mongolian, is_pictographic, is_right_to_left, needs_joiners};
use crate::rule::Rule;

/// The kinds of invisible characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Tag,
    /// Embeddings, isolates and their ends.
    Bidi,
    /// What turns the order of letters round; no text needs it.
    Override,
    /// Marks of direction, joiners and the zero-width space: part of writing in many scripts.
    Writing,
    Selector,
    SoftHyphen,
    /// Other characters of which a single one is pasted without intent.
    Loose,
    /// Needs a neighbor of its own block, which the range gives.
    Within(char, char),
    Mongolian,
    Never,
}

/// Whether the character leaves no trace on a page.
pub(crate) fn is_invisible(char: char) -> bool {
    kind(char).is_some()
}

fn kind(char: char) -> Option<Kind> {
    Some(match char {
        '\0'..='\u{ac}' => return None,
        '\u{ad}' => Kind::SoftHyphen,
        '\u{34f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' => Kind::Loose,
        '\u{61c}' | '\u{200b}'..='\u{200f}' => Kind::Writing,
        '\u{115f}' => Kind::Within('\u{1160}', '\u{11ff}'),
        '\u{1160}' => Kind::Within('\u{1100}', '\u{11ff}'),
        '\u{17b4}' | '\u{17b5}' => Kind::Within('\u{1780}', '\u{17ff}'),
        '\u{180b}'..='\u{180f}' => Kind::Mongolian,
        '\u{202a}'..='\u{202c}' | '\u{2066}'..='\u{2069}' => Kind::Bidi,
        '\u{202d}' | '\u{202e}' => Kind::Override,
        '\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{ffa0}' => Kind::Never,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Kind::Selector,
        '\u{fff0}'..='\u{fffb}' => Kind::Never,
        '\u{13430}'..='\u{1343f}' => Kind::Within('\u{13000}', '\u{13455}'),
        '\u{1bca0}'..='\u{1bca3}' => Kind::Within('\u{1bc00}', '\u{1bc9f}'),
        '\u{1d173}'..='\u{1d17a}' => Kind::Within('\u{1d100}', '\u{1d1ff}'),
        '\u{e0000}'..='\u{e0fff}' => Kind::Tag,
        _ => return None,
    })
}

/// How many single ones close together are a message.
const MIN_SPREAD: usize = 8;
/// How many of those are another character than the rest: it takes two to write something down.
const MIN_MIXED: usize = 3;
/// The most characters between two of those.
const MAX_GAP: usize = 16;
/// The most between two where all of them are of one kind.
const MAX_TIGHT_GAP: usize = 2;

/// The look for invisible characters in one text.
#[derive(Debug)]
pub(super) struct Hidden<'a> {
    text: &'a str,
    done: usize,
    /// Single ones close together so far.
    spread: Vec<Range<usize>>,
    /// How many of them are very close to the one before.
    tight: usize,
    /// How many of them are another character than the first.
    others: usize,
    /// Whether the text has letters written from right to left; unknown before it is asked.
    has_right_to_left: Option<bool>,
    /// The end of the line that was last asked about, and whether its controls are in balance.
    balance: (usize, bool),
}

impl<'a> Hidden<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            done: 0,
            spread: Vec::new(),
            tight: 0,
            others: 0,
            has_right_to_left: None,
            balance: (0, false),
        }
    }

    /// Everything before this place has been judged.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Judges the run of invisible characters at `start`, if there is one.
    pub(super) fn take(&mut self, start: usize, list: &mut List) {
        let rest = self.text.get(start..).unwrap_or_default();
        let visible = rest.find(|it| kind(it).is_none()).unwrap_or(rest.len());
        let (run, after) = rest.split_at_checked(visible).unwrap_or((rest, ""));
        if run.is_empty() {
            return;
        }
        let range = start..start + run.len();
        self.done = range.end;
        let before = self.text.get(..start).and_then(|it| it.chars().next_back());
        match self.judge(run, start, before, after.chars().next()) {
            Verdict::Fine => {}
            Verdict::Loose => self.add_loose(range, list),
            Verdict::Hidden(detail) => list.add_characters(Rule::ContentHidden, range, detail),
        }
    }

    pub(super) fn finish(mut self, list: &mut List) {
        self.end_spread(list);
    }

    fn judge(
        &mut self,
        run: &str,
        at: usize,
        before: Option<char>,
        after: Option<char>,
    ) -> Verdict {
        let (mut has_tags, mut has_overrides, mut has_bidi, mut has_never) = Default::default();
        // No more than two selectors and two others are fine in any way.
        let mut few = ['\0'; 5];
        let mut count = 0;
        for char in run.chars() {
            match kind(char) {
                Some(Kind::Tag) => has_tags = true,
                Some(Kind::Override) => has_overrides = true,
                Some(Kind::Bidi) => has_bidi = true,
                other => {
                    has_never |= other == Some(Kind::Never);
                    if let Some(to) = few.get_mut(count) {
                        *to = char;
                        count += 1;
                    }
                }
            }
        }
        if has_tags {
            let is_flag = before == Some('\u{1f3f4}') && is_subdivision(run);
            return if is_flag { Verdict::Fine } else { Verdict::Hidden("tag characters") };
        }
        if has_overrides || has_bidi && !self.is_in_balance(at) {
            return Verdict::Hidden("controls that turn the order of the text");
        }
        if has_never {
            return Verdict::Hidden("an invisible character");
        }
        let mut rest = few.get(..count).unwrap_or_default();
        // A base takes one selector; the second of a pair is a slip of many keyboards.
        if let (Some(base), [first, ..]) = (before, rest)
            && kind(*first) == Some(Kind::Selector)
            && has_variant(base, *first)
        {
            let count = if rest.starts_with(&['\u{fe0f}', '\u{fe0f}']) { 2 } else { 1 };
            rest = rest.get(count..).unwrap_or_default();
        }
        if rest.iter().any(|it| kind(*it) == Some(Kind::Selector)) {
            return Verdict::Hidden("variation selectors that select nothing");
        }
        judge_rest(rest, at, before, after, run.len() > 3 * rest.len())
    }

    /// Whether the text is written from right to left in places, and the line at `at` closes what
    /// it opens.
    fn is_in_balance(&mut self, at: usize) -> bool {
        let text = self.text;
        let has = || text.chars().any(is_right_to_left);
        if !*self.has_right_to_left.get_or_insert_with(has) {
            return false;
        }
        let (end, is_in_balance) = self.balance;
        if at < end {
            return is_in_balance;
        }
        let start = text.get(end..at).and_then(|it| it.rfind('\n')).map_or(end, |it| end + it);
        let length = text.get(at..).and_then(|it| it.find('\n')).unwrap_or(text.len() - at);
        self.balance = (at + length, is_balanced(text.get(start..at + length).unwrap_or_default()));
        self.balance.1
    }

    fn add_loose(&mut self, range: Range<usize>, list: &mut List) {
        let char = |it: &Range<usize>| self.text.get(it.clone()).and_then(|it| it.chars().next());
        let gap = self.spread.last().map(|last| {
            let between = self.text.get(last.end..range.start).unwrap_or_default();
            let is_other = self.spread.first().and_then(char) != char(&range);
            (between.chars().take(MAX_GAP + 1).count(), is_other)
        });
        let is_soft = char(&range) == Some('\u{ad}');
        match gap {
            Some((gap, is_other)) if gap <= MAX_GAP => {
                // Syllables have two letters at least.
                if is_soft && gap > 1 {
                    return;
                }
                self.tight += usize::from(gap <= MAX_TIGHT_GAP);
                self.others += usize::from(is_other);
            }
            _ => self.end_spread(list),
        }
        self.spread.push(range);
    }

    fn end_spread(&mut self, list: &mut List) {
        let is_mixed = self.others.min(self.spread.len() - self.others) >= MIN_MIXED;
        let is_message =
            is_mixed && self.spread.len() >= MIN_SPREAD || self.tight + 1 >= MIN_SPREAD;
        if is_message {
            let detail = "zero-width characters spread over a text";
            let found = self.spread.drain(..);
            found.for_each(|it| list.add_characters(Rule::ContentHidden, it, detail));
        }
        self.spread.clear();
        self.tight = 0;
        self.others = 0;
    }
}

enum Verdict {
    Fine,
    /// One that nothing needs; fine unless there are many.
    Loose,
    Hidden(&'static str),
}

/// Judges what is left of a run when bidirectional controls and a good selector are taken off.
fn judge_rest(
    rest: &[char],
    at: usize,
    before: Option<char>,
    after: Option<char>,
    is_after_selector: bool,
) -> Verdict {
    const IN_A_ROW: Verdict = Verdict::Hidden("zero-width characters in a row");
    let is_near = |test: fn(char) -> bool| before.is_some_and(test) || after.is_some_and(test);
    let is_needed = is_near(needs_joiners) || is_near(is_right_to_left);
    match *rest {
        [] => Verdict::Fine,
        [one] => match kind(one) {
            Some(Kind::Writing) if is_needed => Verdict::Fine,
            Some(Kind::Writing) => {
                let joins = one == '\u{200d}'
                    && (is_after_selector || before.is_some_and(is_pictographic))
                    && after.is_some_and(is_pictographic);
                if joins { Verdict::Fine } else { Verdict::Loose }
            }
            Some(Kind::Loose) if one == '\u{feff}' && (at == 0 || before == Some('\n')) => {
                Verdict::Fine
            }
            Some(Kind::Loose | Kind::SoftHyphen) => Verdict::Loose,
            Some(Kind::Mongolian) if is_near(is_mongolian) => Verdict::Fine,
            Some(Kind::Within(first, last)) => {
                let is_within = |it: char| (first..=last).contains(&it);
                let is_fine = before.is_some_and(is_within) || after.is_some_and(is_within);
                if is_fine { Verdict::Fine } else { Verdict::Hidden("an invisible character") }
            }
            _ => Verdict::Hidden("an invisible character"),
        },
        // The two fillers of an old Hangul syllable that has only its end.
        ['\u{115f}', '\u{1160}']
            if after.is_some_and(|it| matches!(it, '\u{11a8}'..='\u{11ff}')) =>
        {
            Verdict::Fine
        }
        [one, other] => {
            let are_writing = [one, other].iter().all(|it| kind(*it) == Some(Kind::Writing));
            if are_writing && is_needed { Verdict::Fine } else { IN_A_ROW }
        }
        _ => IN_A_ROW,
    }
}

/// Whether the tags are those of a flag, such as Scotland's: a region, and the end.
fn is_subdivision(run: &str) -> bool {
    let tags: Vec<char> = run.chars().collect();
    let Some(('\u{e007f}', region)) = tags.split_last() else { return false };
    let is_tag = |it: &char| matches!(it, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}');
    (3..=6).contains(&region.len()) && region.iter().all(is_tag)
}

/// Whether embeddings and isolates are closed in the line that opens them, each by its own end.
fn is_balanced(line: &str) -> bool {
    // A bit for each that is open, as deep as the bidirectional algorithm goes.
    let (mut isolates, mut depth) = (0_u128, 0_u32);
    for char in line.chars() {
        match char {
            '\u{202a}' | '\u{202b}' | '\u{2066}'..='\u{2068}' => {
                if depth >= 125 {
                    return false;
                }
                isolates = isolates << 1 | u128::from(char >= '\u{2066}');
                depth += 1;
            }
            '\u{202c}' | '\u{2069}' => {
                if depth == 0 || isolates & 1 != u128::from(char == '\u{2069}') {
                    return false;
                }
                isolates >>= 1;
                depth -= 1;
            }
            '\u{202d}' | '\u{202e}' => return false,
            _ => {}
        }
    }
    depth == 0
}
