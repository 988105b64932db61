//! Finds marks that were undone in one argument of a call and are meant in another.
//!
//! The new text of an edit has other surroundings than the text that was read. Its marks count as
//! those of the old text beside it if it has no more of them, or if the character before or after
//! one is the same.

use super::Source;
use super::token::{Sheet, Spot, first, last};

/// Limit on the kinds of marks of one call that are searched in its other arguments.
const MAX_KINDS: usize = 16;
/// Limit on the neighbors of a kind that are compared.
const MAX_NEIGHBORS: usize = 64;

/// The marks that were undone in the arguments of a call.
#[derive(Debug, Default)]
pub(super) struct Alike {
    kinds: Vec<Kind>,
}

#[derive(Debug)]
struct Kind {
    written: String,
    /// The arguments that contain it, and the number of occurrences.
    counts: Vec<(usize, usize)>,
    /// The argument, and the characters before and after the mark.
    neighbors: Vec<(usize, String, String)>,
}

impl Alike {
    pub(super) fn new(sheets: &[Sheet<'_>], sources: &[Vec<Source>]) -> Self {
        let mut alike = Self::default();
        for (argument, (sheet, sources)) in sheets.iter().zip(sources).enumerate() {
            for ((spot, token), source) in sheet.spots().zip(&sheet.tokens).zip(sources) {
                // Words carry no character, so there is nothing to move.
                if *source == Source::Edit && token.char.is_some() {
                    alike.add(argument, spot);
                }
            }
        }
        alike
    }

    fn add(&mut self, argument: usize, spot: Spot<'_>) {
        let kind = match self.kinds.iter().position(|it| it.written == spot.written) {
            Some(at) => self.kinds.get_mut(at),
            None if self.kinds.len() < MAX_KINDS => {
                let written = spot.written.to_owned();
                self.kinds.push(Kind { written, counts: Vec::new(), neighbors: Vec::new() });
                self.kinds.last_mut()
            }
            None => None,
        };
        let Some(kind) = kind else { return };
        match kind.counts.last_mut() {
            Some((last, count)) if *last == argument => *count += 1,
            _ => kind.counts.push((argument, 1)),
        }
        if kind.neighbors.len() < MAX_NEIGHBORS {
            let (left, right) = (last(spot.left, 1).to_owned(), first(spot.right, 1).to_owned());
            kind.neighbors.push((argument, left, right));
        }
    }

    /// Turns marks of unknown source into edits if the same marks were undone in another argument,
    /// and `may_be` allows it.
    pub(super) fn spread(
        &self,
        sheets: &[Sheet<'_>],
        sources: &mut [Vec<Source>],
        may_be: impl Fn(&str) -> bool,
    ) {
        for kind in self.kinds.iter().filter(|it| may_be(&it.written)) {
            for (argument, (sheet, sources)) in sheets.iter().zip(&mut *sources).enumerate() {
                let is_it = |spot: Spot<'_>, source| {
                    source == Source::Unknown && spot.written == kind.written
                };
                let tokens = sheet.spots().zip(sources.iter());
                let unknown = tokens.filter(|(spot, source)| is_it(*spot, **source)).count();
                let others = kind.counts.iter().filter(|(it, _)| *it != argument);
                // Arguments repeat parts of one text, so they are not added up.
                let most = others.map(|(_, count)| *count).max().unwrap_or(0);
                if unknown == 0 || most == 0 {
                    continue;
                }
                for (spot, source) in sheet.spots().zip(sources.iter_mut()) {
                    // No more marks than the old text had can be known to come from it.
                    if is_it(spot, *source) && (unknown <= most || kind.is_next_to(argument, spot))
                    {
                        *source = Source::Edit;
                    }
                }
            }
        }
    }
}

impl Kind {
    /// Returns true if a mark in another argument has the same neighbor.
    fn is_next_to(&self, argument: usize, spot: Spot<'_>) -> bool {
        let (before, after) = (last(spot.left, 1), first(spot.right, 1));
        self.neighbors.iter().any(|(other, left, right)| {
            let is_same = |one: &str, other: &str| !one.is_empty() && one == other;
            *other != argument && (is_same(before, left) || is_same(after, right))
        })
    }
}
