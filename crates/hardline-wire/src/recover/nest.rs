//! The brackets that are open, to any depth in constant memory.

/// A kind of bracket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bracket {
    Object,
    Array,
}

/// Levels whose kind is known. Deeper ones are only counted.
const KNOWN: usize = 1024;
const WORDS: usize = KNOWN / 64;

/// The open brackets.
#[derive(Debug, Default)]
pub(super) struct Nest {
    depth: usize,
    /// One bit a level, set for an array.
    arrays: [u64; WORDS],
}

impl Nest {
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn outermost(&self) -> Bracket {
        self.kind(0)
    }

    pub(super) fn open(&mut self, bracket: Bracket) {
        let (word, bit) = place(self.depth);
        if let Some(word) = self.arrays.get_mut(word) {
            match bracket {
                Bracket::Array => *word |= bit,
                Bracket::Object => *word &= !bit,
            }
        }
        self.depth += 1;
    }

    /// Closes the innermost level, if it is of this kind, or is deeper than kinds are known. A brace
    /// also closes the arrays left open inside the object.
    ///
    /// Returns whether it closed anything.
    pub(super) fn close(&mut self, bracket: Bracket) -> bool {
        if KNOWN < self.depth {
            self.depth -= 1;
            return true;
        }
        match bracket {
            Bracket::Array => {
                let matches = 0 < self.depth && self.kind(self.depth - 1) == Bracket::Array;
                self.depth -= usize::from(matches);
                matches
            }
            Bracket::Object => match self.innermost_object() {
                Some(level) => {
                    self.depth = level;
                    true
                }
                None => false,
            },
        }
    }

    fn kind(&self, level: usize) -> Bracket {
        let (word, bit) = place(level);
        match self.arrays.get(word) {
            Some(word) if word & bit != 0 => Bracket::Array,
            _ => Bracket::Object,
        }
    }

    /// The level of the innermost object: a word at a time, so that it takes a few steps at most.
    fn innermost_object(&self) -> Option<usize> {
        let mut end = self.depth;
        while 0 < end {
            let first = (end - 1) / 64 * 64;
            let used = u64::MAX >> (64 - (end - first));
            let objects = !self.arrays.get(first / 64).copied().unwrap_or(u64::MAX) & used;
            if objects != 0 {
                return Some(first + objects.ilog2() as usize);
            }
            end = first;
        }
        None
    }
}

fn place(level: usize) -> (usize, u64) {
    (level / 64, 1 << (level % 64))
}
