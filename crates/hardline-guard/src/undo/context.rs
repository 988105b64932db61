//! The known tokens, each with the text around it, and a search for the most similar one.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::token::{Spot, first, last};
use super::{MAX_AGE, MAX_BYTES, MAX_EDITS};

/// Number of characters around a token that are stored, on each side.
const WIDE: usize = 64;
/// Least number of equal characters around a token, both sides together.
pub(super) const CLEAR: usize = 8;
/// Numbers of characters on the left and on the right by which a token is indexed. One of these
/// splits finds every token with nine characters in common, no matter how they are distributed over
/// the two sides.
const SPLITS: [(usize, usize); 5] = [(8, 0), (6, 2), (4, 4), (2, 6), (0, 8)];
/// Limit on the tokens that are compared for each of [`SPLITS`], newest first.
const MAX_CANDIDATES: usize = 16;
/// Approximate memory of a token besides its text, in bytes.
const OVERHEAD: usize = 256;

/// Tokens with the text around them.
///
/// Invariant: at most [`MAX_EDITS`] tokens, with at most [`MAX_BYTES`].
#[derive(Debug, Default)]
pub(super) struct Contexts {
    /// The tokens, oldest first.
    kept: BTreeMap<u64, RememberedToken>,
    /// The number in `kept` of each token, by the hash of its window.
    places: HashMap<u64, u64>,
    /// Hash of some characters around a token, and its number.
    seeds: BTreeSet<(u64, u64)>,
    /// Number of tokens with the same spelling.
    written: HashMap<String, usize>,
    hasher: RandomState,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct RememberedToken {
    /// The token with the text around it.
    window: String,
    /// Start of the token in the window.
    start: usize,
    length: usize,
    /// True if the text begins, or ends, where the window does.
    edges: (bool, bool),
    since: Duration,
}

impl RememberedToken {
    fn spot(&self) -> Spot<'_> {
        Spot::new(&self.window, self.start, self.length).unwrap_or_default()
    }

    fn size(&self) -> usize {
        self.window.len() + OVERHEAD
    }
}

impl Contexts {
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns true if a token with this spelling is known.
    pub(super) fn has(&self, written: &str) -> bool {
        self.written.contains_key(written)
    }

    /// Remembers a token.
    pub(super) fn keep(&mut self, spot: Spot<'_>, now: Duration) {
        let whole = spot;
        let spot = whole.within(WIDE);
        // The edges of the text distinguish a token at its start or end.
        let edges = (spot.left.len() == whole.left.len(), spot.right.len() == whole.right.len());
        let place = self.place(spot, edges);
        // A repeated token is stored once, as the newest.
        if let Some(number) = self.places.get(&place).copied() {
            self.remove(number);
        }
        let window = [spot.left, spot.written, spot.right].concat();
        let (start, length) = (spot.left.len(), spot.written.len());
        let kept = RememberedToken { window, start, length, edges, since: now };
        let number = self.next;
        self.next += 1;
        self.bytes += kept.size();
        for key in self.keys(spot).into_iter().flatten() {
            self.seeds.insert((key, number));
        }
        *self.written.entry(spot.written.to_owned()).or_default() += 1;
        self.places.insert(place, number);
        self.kept.insert(number, kept);
        self.forget(now);
    }

    /// Removes old tokens, and the oldest ones beyond the limits.
    pub(super) fn forget(&mut self, now: Duration) {
        while let Some((number, oldest)) = self.kept.first_key_value() {
            let is_old = oldest.since + MAX_AGE < now;
            if !is_old && self.kept.len() <= MAX_EDITS && self.bytes <= MAX_BYTES {
                return;
            }
            self.remove(*number);
        }
    }

    fn remove(&mut self, number: u64) {
        let Some(kept) = self.kept.remove(&number) else { return };
        let spot = kept.spot();
        self.bytes = self.bytes.saturating_sub(kept.size());
        for key in self.keys(spot).into_iter().flatten() {
            self.seeds.remove(&(key, number));
        }
        if let Some(count) = self.written.get_mut(spot.written) {
            *count -= 1;
            if *count == 0 {
                self.written.remove(spot.written);
            }
        }
        let place = self.place(spot, kept.edges);
        if self.places.get(&place) == Some(&number) {
            self.places.remove(&place);
        }
    }

    fn place(&self, spot: Spot<'_>, edges: (bool, bool)) -> u64 {
        self.hasher.hash_one((spot.left, spot.written, spot.right, edges))
    }

    /// Returns the number of equal characters around a token and the most similar known one, or 0
    /// if it is below [`CLEAR`]. Stops once it reaches `enough`.
    pub(super) fn likeness(&self, spot: Spot<'_>, enough: usize) -> usize {
        if !self.has(spot.written) {
            return 0;
        }
        let (mut best, mut seen) = (0, HashSet::new());
        for key in self.keys(spot).into_iter().flatten() {
            // Newest first: the client most likely edits the text that it read last.
            let alike = self.seeds.range((key, 0)..=(key, u64::MAX)).rev();
            for (_, number) in alike.take(MAX_CANDIDATES) {
                let Some(kept) = self.kept.get(number).filter(|_| seen.insert(*number)) else {
                    continue;
                };
                best = best.max(in_common(spot, kept));
                if best >= enough.max(CLEAR) {
                    return best;
                }
            }
        }
        if best >= CLEAR { best } else { 0 }
    }

    /// Returns true if a whole text, given as one of its tokens, is part of a remembered window.
    pub(super) fn has_part(&self, spot: Spot<'_>) -> bool {
        let is_it = |kept: &RememberedToken| {
            let kept = kept.spot();
            kept.written == spot.written
                && kept.left.ends_with(spot.left)
                && kept.right.starts_with(spot.right)
        };
        self.has(spot.written) && self.kept.values().any(is_it)
    }

    /// Returns the hash for each of [`SPLITS`], where there are enough characters.
    fn keys(&self, spot: Spot<'_>) -> [Option<u64>; SPLITS.len()] {
        SPLITS.map(|(before, after)| {
            let (left, right) = (last(spot.left, before), first(spot.right, after));
            // At the edge of a text, a split may have too few characters.
            let is_whole = |text: &str, count| text.len() >= count && text.chars().count() == count;
            let is_enough = is_whole(left, before) && is_whole(right, after);
            is_enough.then(|| self.hasher.hash_one((left, spot.written, right)))
        })
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> [usize; 5] {
        let Self { kept, places, seeds, written, .. } = self;
        [kept.len(), places.len(), seeds.len() / SPLITS.len(), written.len(), self.bytes]
    }
}

/// Returns the number of equal characters next to two tokens, both sides together. A common start
/// or end of the text counts as one.
fn in_common(one: Spot<'_>, kept: &RememberedToken) -> usize {
    let other = kept.spot();
    if one.written != other.written {
        return 0;
    }
    let same = |(one, other): &(u8, u8)| one == other;
    let left = one.left.bytes().rev().zip(other.left.bytes().rev()).take_while(same).count();
    let right = one.right.bytes().zip(other.right.bytes()).take_while(same).count();
    let start = one.left.ceil_char_boundary(one.left.len() - left);
    let end = one.right.floor_char_boundary(right);
    let count = |text: Option<&str>| text.map_or(0, |it| it.chars().count());
    let is_at_edge = |text: &str, other: &str, same| text.len() == same && other.len() == same;
    let (begins, ends) = kept.edges;
    count(one.left.get(start..))
        + count(one.right.get(..end))
        + usize::from(begins && is_at_edge(one.left, other.left, left))
        + usize::from(ends && is_at_edge(one.right, other.right, right))
}
