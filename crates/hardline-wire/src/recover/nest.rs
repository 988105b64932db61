//! The open brackets, to any depth in constant memory.

/// A kind of bracket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bracket {
    Object,
    Array,
}

/// Effect of a closing bracket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Closed {
    /// It closed a bracket of its own kind.
    Match,
    /// It closed more than one bracket, or one of the other kind.
    Mismatch,
    /// It closed nothing.
    Nothing,
}

/// Number of levels whose kind is stored. Deeper levels are only counted.
const KNOWN: usize = 1024;
const WORDS: usize = KNOWN / 64;

/// The open brackets.
#[derive(Debug, Default)]
pub(super) struct Nest {
    /// Number of levels whose kind is stored.
    depth: usize,
    /// One bit per level, set for an array.
    arrays: [u64; WORDS],
    deeper_objects: usize,
    deeper_arrays: usize,
}

impl Nest {
    pub(super) fn depth(&self) -> usize {
        self.depth + self.deeper_objects + self.deeper_arrays
    }

    pub(super) fn outermost(&self) -> Bracket {
        self.kind(0)
    }

    pub(super) fn open(&mut self, bracket: Bracket) {
        let (word, bit) = place(self.depth);
        match (self.arrays.get_mut(word), bracket) {
            (Some(word), Bracket::Array) => *word |= bit,
            // The bit may be left over from an array at this level.
            (Some(word), Bracket::Object) => *word &= !bit,
            (None, bracket) => {
                *self.deeper(bracket) += 1;
                return;
            }
        }
        self.depth += 1;
    }

    /// Closes the innermost level if it is of this kind. A brace also closes the arrays left open
    /// inside the object. Where levels are only counted, a bracket closes one of its own kind if
    /// any is open, otherwise one of the other kind.
    pub(super) fn close(&mut self, bracket: Bracket) -> Closed {
        if self.deeper_objects + self.deeper_arrays > 0 {
            return self.close_deeper(bracket);
        }
        let Some(innermost) = self.depth.checked_sub(1) else { return Closed::Nothing };
        let closed = match (bracket, self.kind(innermost)) {
            // A `]` never closes an object: it is more likely a stray character.
            (Bracket::Array, Bracket::Object) => return Closed::Nothing,
            // A `}` also closes the arrays inside of its object, whose ends are missing.
            (Bracket::Object, Bracket::Array) => self.innermost_object(),
            _ => Some(innermost),
        };
        match closed {
            Some(level) => self.depth = level,
            None => return Closed::Nothing,
        }
        if self.depth == innermost { Closed::Match } else { Closed::Mismatch }
    }

    fn close_deeper(&mut self, bracket: Bracket) -> Closed {
        let other = match bracket {
            Bracket::Object => Bracket::Array,
            Bracket::Array => Bracket::Object,
        };
        // Beyond the known levels, only the numbers of open brackets count.
        let (kind, closed) = match *self.deeper(bracket) {
            0 => (other, Closed::Mismatch),
            _ => (bracket, Closed::Match),
        };
        *self.deeper(kind) -= 1;
        closed
    }

    fn deeper(&mut self, bracket: Bracket) -> &mut usize {
        match bracket {
            Bracket::Object => &mut self.deeper_objects,
            Bracket::Array => &mut self.deeper_arrays,
        }
    }

    fn kind(&self, level: usize) -> Bracket {
        let (word, bit) = place(level);
        match self.arrays.get(word) {
            Some(word) if word & bit != 0 => Bracket::Array,
            _ => Bracket::Object,
        }
    }

    /// Returns the level of the innermost object. Reads a word at a time, so it takes a few steps
    /// at most.
    fn innermost_object(&self) -> Option<usize> {
        let mut end = self.depth;
        while end > 0 {
            let first = (end - 1) / 64 * 64;
            // Bits above the depth are left over from closed levels.
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
