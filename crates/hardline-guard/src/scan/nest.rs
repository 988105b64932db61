//! The open brackets while JSON is read.

/// The kinds of the open brackets, one bit each.
#[derive(Debug, Default)]
pub(super) struct Nest {
    bits: Vec<u64>,
    depth: usize,
    /// Set if the last event was an opening.
    has_opened: bool,
}

impl Nest {
    pub(super) fn clear(&mut self) {
        self.bits.clear();
        self.depth = 0;
        self.has_opened = false;
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn push(&mut self, is_object: bool) {
        let bit = self.depth % 64;
        // A new word for every 64 levels.
        if bit == 0 {
            self.bits.push(0);
        }
        if let Some(word) = self.bits.last_mut() {
            *word = *word & !(1 << bit) | u64::from(is_object) << bit;
        }
        self.depth += 1;
        self.has_opened = true;
    }

    /// Removes the innermost bracket. Returns true if it was an object's.
    pub(super) fn pop(&mut self) -> bool {
        let is_object = self.innermost().unwrap_or_default();
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(64) {
            self.bits.pop();
        }
        is_object
    }

    pub(super) fn innermost(&self) -> Option<bool> {
        let bit = self.depth.checked_sub(1)? % 64;
        self.bits.last().map(|it| it >> bit & 1 == 1)
    }

    pub(super) fn outermost(&self) -> Option<bool> {
        self.bits.first().map(|it| it & 1 == 1)
    }

    pub(super) fn take_opened(&mut self) -> bool {
        std::mem::take(&mut self.has_opened)
    }
}
