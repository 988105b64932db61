//! Undoing edits: what a client sends back of an edited text reaches the server as the server wrote it.
//!
//! A file that is read through the guard may come out edited, with `<U+200B>` for a character that people
//! do not see. If the client writes it back, or asks for a change of a part of it, the server must get its own
//! characters again, or the file would change and the part would not be found. So each edit is remembered with
//! what stood around it, and undone where the client sends the same.
//!
//! Nothing else is undone. An edit is found again by eight characters on one side of it, or four on both; a text
//! that is shorter must be part of what was sent, as a whole. Where the same surroundings stood for different
//! things, such as a mark that the server wrote itself, nothing is undone. A mark that was undone in one
//! argument of a call is undone in the others as well, since the new text of an edit has other surroundings.
//! So all that reaches a server is what it sent in this session, where it sent it, or where its client moves it.
//!
//! Invariants:
//! - What is remembered is bounded: [`MAX_EDITS`], [`MAX_BYTES`] and [`MAX_AGE`]; the oldest go first.
//! - The cost is linear in the text, but for short texts, of which no more than [`MAX_SHORT`] are searched for
//!   in one message.

mod align;
#[cfg(test)]
mod tests;
mod token;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::Duration;

use memchr::memmem;

use align::align;
use token::{Token, mark, may_have, tokens};

/// Edits that are remembered.
pub(crate) const MAX_EDITS: usize = 8192;
/// Bytes of texts that are remembered with them.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Time after which an edit is forgotten, unless the client was sent it again.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(4 * 60 * 60);
/// Texts of one message that are too short to be found by their surroundings, and are searched for.
const MAX_SHORT: usize = 16;

/// Characters around an edit that are compared: on one side alone, or on each of both sides. A mark is one.
const SIDE: usize = 8;
const HALF: usize = 4;
/// Characters on each side that are compared first.
const WHOLE: usize = 24;

/// The edits of a session.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// The edits, oldest first.
    kept: BTreeMap<u64, Kept>,
    /// The place in `kept` of each edit with all that is compared around it.
    places: HashMap<Key, u64>,
    /// Original text of an edit, by its surroundings.
    originals: HashMap<Key, Slot>,
    /// Number of times that each token stood for itself.
    literals: HashMap<String, usize>,
    next: u64,
    bytes: usize,
}

/// Surroundings of an edit: the sides that count, and their text with the edit between them.
type Key = (Sides, String);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Sides {
    Whole,
    Before,
    After,
    Both,
}

const ALL_SIDES: [Sides; 4] = [Sides::Whole, Sides::Before, Sides::After, Sides::Both];

#[derive(Debug)]
struct Kept {
    /// The edit with what stands around it.
    window: String,
    /// Its offset there.
    at: usize,
    length: usize,
    original: String,
    keys: Vec<Key>,
    since: Duration,
}

/// Original text of all edits with one key; none if they differ.
#[derive(Debug)]
struct Slot {
    original: Option<String>,
    count: usize,
}

/// State while the texts of one call are searched.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// Short texts that may still be searched for.
    short: usize,
    /// Tokens that were undone, and what each stands for.
    undone: Vec<(String, &'a str)>,
}

impl Default for Call<'_> {
    fn default() -> Self {
        Self { short: MAX_SHORT, undone: Vec::new() }
    }
}

impl Undo {
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Remembers how a text of the server was edited.
    pub(crate) fn remember(&mut self, original: &str, edited: &str, now: Duration) {
        let Some(parts) = align(original, edited) else { return };
        let mut parts = parts.into_iter().peekable();
        for token in tokens(edited) {
            while parts.next_if(|it| it.edited.end <= token.range.start).is_some() {}
            // What looks like an edit and is none stands for itself.
            let text = match parts.peek() {
                Some(part) if part.edited == token.range => original.get(part.original.clone()),
                Some(part) if part.edited.start < token.range.end => None,
                _ => edited.get(token.range.clone()),
            };
            if let Some(text) = text {
                self.keep(edited, &token, text, now);
            }
        }
        self.forget(now);
    }

    /// Returns what is to be put back into `text`, in order: where, and what.
    pub(crate) fn undone<'a>(
        &'a self,
        text: &str,
        call: &mut Call<'a>,
    ) -> Vec<(Range<usize>, &'a str)> {
        if self.is_empty() || !may_have(text) {
            return Vec::new();
        }
        let tokens = tokens(text);
        let mut found: Vec<_> = tokens.iter().map(|it| self.find(text, it)).collect();
        let is_short = text.chars().nth(2 * WHOLE).is_none();
        if is_short && found.iter().any(Option::is_none) && call.short > 0 {
            call.short -= 1;
            let whole = self.find_whole(text, &tokens);
            found.iter_mut().zip(whole).for_each(|(it, whole)| *it = it.or(whole));
        }
        let mut edits = Vec::new();
        for (token, original) in tokens.into_iter().zip(found) {
            let Some(written) = text.get(token.range.clone()) else { continue };
            // A token that stands for itself stays.
            if let Some(original) = original.filter(|it| *it != written) {
                call.note(&token, written, original);
                edits.push((token.range, original));
            }
        }
        edits
    }

    /// Returns what else is to be put back into `text`: marks of which others were undone in this call, as in the
    /// new text of an edit whose old text was found. Where a mark may stand for itself, nothing is.
    pub(crate) fn undone_alike<'a>(
        &'a self,
        text: &str,
        call: &Call<'a>,
    ) -> Vec<(Range<usize>, &'a str)> {
        if call.undone.is_empty() || !may_have(text) {
            return Vec::new();
        }
        let alike = tokens(text).into_iter().filter_map(|token| {
            let written = text.get(token.range.clone())?;
            let (_, original) = call.undone.iter().find(|(it, _)| it == written)?;
            let stays = self.find(text, &token) == Some(written);
            (!stays && !self.literals.contains_key(written)).then_some((token.range, *original))
        });
        alike.collect()
    }

    /// Finds what a token stands for, by what is around it.
    fn find(&self, text: &str, token: &Token) -> Option<&str> {
        let slot = |sides| {
            let key = key(text, token, sides)?;
            self.originals.get(&(sides, key))
        };
        if let Some(slot) = slot(Sides::Whole) {
            return slot.original.as_deref();
        }
        // A side that stood for different things says nothing; the others must agree.
        let sides = [Sides::Before, Sides::After, Sides::Both].into_iter();
        let mut found = sides.filter_map(|sides| slot(sides)?.original.as_deref());
        let first = found.next()?;
        found.all(|it| it == first).then_some(first)
    }

    /// Finds a text that is too short for that, as a part of what was sent.
    fn find_whole(&self, text: &str, tokens: &[Token]) -> Vec<Option<&str>> {
        let mut found: Vec<Option<&str>> = vec![None; tokens.len()];
        let mut is_unclear = vec![false; tokens.len()];
        for kept in self.kept.values() {
            for start in memmem::find_iter(kept.window.as_bytes(), text) {
                let is_it =
                    |it: &Token| start + it.range.start == kept.at && it.range.len() == kept.length;
                let Some(index) = tokens.iter().position(is_it) else { continue };
                // Words alone, without what they stand before, may be anything.
                if tokens
                    .get(index)
                    .is_some_and(|it| it.char.is_none() && it.range.len() == text.len())
                {
                    continue;
                }
                let Some(slot) = found.get_mut(index) else { continue };
                if slot.is_some_and(|it| it != kept.original)
                    && let Some(it) = is_unclear.get_mut(index)
                {
                    *it = true;
                }
                *slot = Some(&kept.original);
            }
        }
        let clear = found.into_iter().zip(is_unclear);
        clear.map(|(it, is_unclear)| it.filter(|_| !is_unclear)).collect()
    }

    fn keep(&mut self, edited: &str, token: &Token, original: &str, now: Duration) {
        let keys: Vec<Key> = ALL_SIDES
            .into_iter()
            .filter_map(|sides| Some((sides, key(edited, token, sides)?)))
            .collect();
        let Some(whole) = keys.first().cloned() else { return };
        // The same again is not kept twice.
        if let Some(place) = self.places.get(&whole).copied()
            && self.kept.get(&place).is_some_and(|it| it.original == original)
            && let Some(mut kept) = self.kept.remove(&place)
        {
            kept.since = now;
            self.places.insert(whole, self.next);
            self.kept.insert(self.next, kept);
            self.next += 1;
            return;
        }
        let (start, _) = before(edited, token.range.start, WHOLE);
        let (end, _) = after(edited, token.range.end, WHOLE);
        let kept = Kept {
            window: edited.get(start..end).unwrap_or_default().to_owned(),
            at: token.range.start - start,
            length: token.range.len(),
            original: original.to_owned(),
            keys,
            since: now,
        };
        for key in &kept.keys {
            let new = || Slot { original: Some(original.to_owned()), count: 0 };
            let slot = self.originals.entry(key.clone()).or_insert_with(new);
            slot.original = slot.original.take().filter(|it| it == original);
            slot.count += 1;
        }
        if kept.is_literal() {
            *self.literals.entry(kept.original.clone()).or_default() += 1;
        }
        self.bytes += kept.size();
        self.places.insert(whole, self.next);
        self.kept.insert(self.next, kept);
        self.next += 1;
    }

    /// Forgets what is too old, or too much.
    fn forget(&mut self, now: Duration) {
        while let Some((_, oldest)) = self.kept.first_key_value() {
            let is_old = oldest.since + MAX_AGE < now;
            if !is_old && self.kept.len() <= MAX_EDITS && self.bytes <= MAX_BYTES {
                return;
            }
            let Some((place, kept)) = self.kept.pop_first() else { return };
            self.bytes = self.bytes.saturating_sub(kept.size());
            if kept.is_literal()
                && let Some(count) = self.literals.get_mut(&kept.original)
            {
                *count -= 1;
                if *count == 0 {
                    self.literals.remove(&kept.original);
                }
            }
            for key in &kept.keys {
                if let Some(slot) = self.originals.get_mut(key) {
                    slot.count -= 1;
                    if slot.count == 0 {
                        self.originals.remove(key);
                    }
                }
            }
            if let Some(whole) = kept.keys.first()
                && self.places.get(whole) == Some(&place)
            {
                self.places.remove(whole);
            }
        }
    }
}

impl<'a> Call<'a> {
    /// Takes note of a mark that was undone.
    fn note(&mut self, token: &Token, written: &str, original: &'a str) {
        let is_known = self.undone.iter().any(|(it, _)| it == written);
        if token.char.is_some() && !is_known && self.undone.len() < MAX_SHORT {
            self.undone.push((written.to_owned(), original));
        }
    }
}

impl Kept {
    fn is_literal(&self) -> bool {
        self.window.get(self.at..self.at + self.length) == Some(&*self.original)
    }

    fn size(&self) -> usize {
        let keys: usize = self.keys.iter().map(|(_, it)| it.len()).sum();
        self.window.len() + self.original.len() + 2 * keys
    }
}

/// Returns the surroundings of a token. `None` if there are too few.
fn key(text: &str, token: &Token, sides: Sides) -> Option<String> {
    let (left, right) = match sides {
        Sides::Whole => (WHOLE, WHOLE),
        Sides::Before => (SIDE, 0),
        Sides::After => (0, SIDE),
        Sides::Both => (HALF, HALF),
    };
    let (start, before) = before(text, token.range.start, left);
    let (end, after) = after(text, token.range.end, right);
    let inside = text.get(start..end)?;
    let at = token.range.start - start;
    if sides != Sides::Whole {
        let is_enough = before == left && after == right;
        return is_enough.then(|| format!("{inside}:{at}"));
    }
    // With all of both sides, the ends of a text count as well.
    let edge = |is_edge: bool| if is_edge { "\0" } else { "" };
    Some(format!("{}{inside}{}:{at}", edge(start == 0), edge(end == text.len())))
}

/// Goes back from `at` by `count` characters, or marks. Returns the place, and how many there were.
fn before(text: &str, at: usize, count: usize) -> (usize, usize) {
    let (mut start, mut done) = (at, 0);
    while done < count
        && let Some(char) = text.get(..start).and_then(|it| it.chars().next_back())
    {
        start -= if char == '>' { mark_before(text, start) } else { char.len_utf8() };
        done += 1;
    }
    (start, done)
}

/// Length of the mark that ends at `end`, or of the sign that is there instead.
fn mark_before(text: &str, end: usize) -> usize {
    let is_mark = |length: &usize| {
        let text = end.checked_sub(*length).and_then(|start| text.get(start..end));
        text.and_then(mark).is_some_and(|(_, it)| it == *length)
    };
    (8..=10).find(is_mark).unwrap_or(1)
}

/// Goes on from `at` by `count` characters, or marks. Returns the place, and how many there were.
fn after(text: &str, at: usize, count: usize) -> (usize, usize) {
    let (mut end, mut done) = (at, 0);
    while done < count
        && let Some(rest) = text.get(end..)
        && let Some(char) = rest.chars().next()
    {
        end += mark(rest).map_or(char.len_utf8(), |(_, length)| length);
        done += 1;
    }
    (end, done)
}
