//! Undoes edits: a client that sends an edited text back sends the server its original characters.
//!
//! A file that a client reads through the guard may arrive edited, with `<U+200B>` for an invisible
//! character. If the client writes the file back, or asks to change a part of it, the server must
//! receive its own characters again. Otherwise the file would change, or the part would not be
//! found. So the guard remembers each edit with the text around it, and undoes it where the client
//! sends the same text. A mark that the server wrote itself is remembered in the same way, and
//! stays.
//!
//! A text that comes back whole is found by its hash. Any other mark is compared with the known
//! ones, and matched with the one that has the most characters around it in common, both sides
//! together. There must be [`CLEAR`] of them, or the client's whole text if that is shorter. If an
//! edit and a mark of the server's own have equally many, nothing is undone. A mark that is undone
//! in one argument of a call is undone in the others as well, because the new text of an edit has
//! other surroundings.
//!
//! Invariants:
//! - The guard only ever puts back the character that a mark names, where the server's own
//!   character was edited into that mark in this session, or where its client moves it. The guard
//!   only ever removes its own words.
//! - Memory is bounded by [`MAX_EDITS`], [`MAX_BYTES`], [`whole::MAX_TEXTS`] and [`MAX_AGE`]; the
//!   oldest entries go first.
//! - The cost is linear in the text.

mod align;
mod alike;
mod context;
#[cfg(test)]
mod tests;
mod token;
mod whole;

use std::ops::Range;
use std::time::Duration;

use align::align;
use alike::Alike;
use context::{CLEAR, Contexts};
use token::{Sheet, Spot};
use whole::Wholes;

pub(crate) use token::{may_be_escaped, may_be_written, may_have};

/// Limit on remembered edits, and separately on remembered marks that the server wrote itself. It
/// also applies to a single message, so that no message costs more than that.
pub(crate) const MAX_EDITS: usize = 8192;
/// Limit on the memory for the edits, and separately for the server's own marks, in bytes.
pub(crate) const MAX_BYTES: usize = 4 << 20;
/// Time after which an edit is forgotten, unless the client was sent it again.
pub(crate) const MAX_AGE: Duration = Duration::from_secs(4 * 60 * 60);
/// Limit on texts of one call that are too short for a match by their surroundings, and are
/// searched for.
const MAX_SHORT: usize = 32;

/// The edits of a session.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    wholes: Wholes,
    edits: Contexts,
    /// Marks that the server wrote itself.
    literals: Contexts,
}

/// A change that undoes an edit: the range of a token, and the character to put back, if any.
pub(crate) type Put = (Range<usize>, Option<char>);

/// Origin of a token of the client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Source {
    /// An edit of the guard.
    Edit,
    /// The server sent the token like this.
    Server,
    /// Unknown.
    Unknown,
}

impl Undo {
    /// Returns true if there is nothing to undo.
    pub(crate) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Remembers a text of the server, edited or not, if it has tokens. Stores the surroundings of
    /// at most `most` of them.
    pub(crate) fn remember(
        &mut self,
        original: &str,
        edited: &str,
        now: Duration,
        most: &mut usize,
    ) {
        if !may_have(edited) {
            return;
        }
        let Some(parts) = align(original, edited) else { return };
        let sheet = Sheet::new(edited);
        let mut parts = parts.into_iter().peekable();
        let mut edits = Vec::new();
        for (token, spot) in sheet.tokens.iter().zip(sheet.spots()) {
            while parts.next_if(|it| it.edited.end <= token.range.start).is_some() {}
            // A token that no edit made was written by the server.
            let is_edit = parts.peek().is_some_and(|it| it.edited == token.range);
            edits.push(is_edit);
            if *most > 0 {
                *most -= 1;
                let contexts = if is_edit { &mut self.edits } else { &mut self.literals };
                contexts.keep(spot, now);
            }
        }
        self.wholes.keep(&sheet.text, edits, now);
        self.edits.forget(now);
        self.literals.forget(now);
    }

    /// Returns the changes that undo the edits in each argument of one call, in order.
    pub(crate) fn undo(&self, texts: &[String]) -> Vec<Vec<Put>> {
        let mut short = MAX_SHORT;
        let sheets: Vec<_> = texts.iter().map(|it| Sheet::new(it)).collect();
        let mut sources: Vec<_> = sheets.iter().map(|it| self.sources(it, &mut short)).collect();
        // A mark that the server itself writes could be meant literally in any argument.
        let alike = Alike::new(&sheets, &sources);
        alike.spread(&sheets, &mut sources, |written| !self.literals.has(written));
        let undone = sheets.into_iter().zip(sources).map(|(sheet, sources)| {
            let tokens = sheet.tokens.into_iter().zip(sources);
            let edits = tokens.filter(|(_, source)| *source == Source::Edit);
            edits.map(|(token, _)| (token.range, token.char)).collect()
        });
        undone.collect()
    }

    /// Finds the source of each token of a text.
    fn sources(&self, sheet: &Sheet<'_>, short: &mut usize) -> Vec<Source> {
        if self.is_empty() || sheet.tokens.is_empty() {
            return vec![Source::Unknown; sheet.tokens.len()];
        }
        // The hash of a whole text is exact, so it comes before any comparison.
        if let Some(edits) = self.wholes.find(&sheet.text, sheet.tokens.len()) {
            let source = |is_edit: &bool| if *is_edit { Source::Edit } else { Source::Server };
            return edits.iter().map(source).collect();
        }
        sheet.spots().map(|spot| self.source(spot, short)).collect()
    }

    /// Finds the source of a token by the text around it.
    fn source(&self, spot: Spot<'_>, short: &mut usize) -> Source {
        let server = self.literals.likeness(spot, usize::MAX);
        // An edit must match better than the server's own marks; a tie undoes nothing.
        let edit = self.edits.likeness(spot, server + 1);
        if edit > server {
            return Source::Edit;
        }
        if server > 0 {
            return Source::Server;
        }
        let around = spot.within(CLEAR + 1);
        let count = around.left.chars().count() + around.right.chars().count();
        // The guard's words without a message after them may be anything.
        let is_short = count <= CLEAR && (count > 0 || spot.written.starts_with('<'));
        if !is_short || *short == 0 {
            return Source::Unknown;
        }
        *short -= 1;
        match (self.edits.has_part(spot), self.literals.has_part(spot)) {
            (true, false) => Source::Edit,
            (_, true) => Source::Server,
            (false, false) => Source::Unknown,
        }
    }
}
