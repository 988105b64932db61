//! Deviations from strict JSON.

use std::fmt;
use std::ops::BitOr;

/// A set of deviations from strict JSON.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Quirks(u16);

impl Quirks {
    /// No deviation.
    pub const NONE: Self = Self(0);
    /// All deviations.
    pub const ALL: Self = Self(u16::MAX);
    /// Two equal keys in one object.
    pub const DUPLICATE: Self = Self(1);
    /// An envelope key in another letter case.
    pub const FOLDED: Self = Self(1 << 1);
    /// `NaN`, `Infinity` or `-Infinity`.
    pub const NAN: Self = Self(1 << 2);
    /// Half of a surrogate pair.
    pub const SURROGATE: Self = Self(1 << 3);
    /// Invalid UTF-8.
    pub const UTF8: Self = Self(1 << 4);
    /// Text after the value.
    pub const TRAILING: Self = Self(1 << 5);
    /// A byte order mark before the value.
    pub const BOM: Self = Self(1 << 6);
    /// Comments, single quotes, bare keys and words, commas before a closing bracket, raw control
    /// characters in strings, unknown escapes, other white space.
    pub const LOOSE: Self = Self(1 << 7);

    /// Returns true if the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the set contains all of `other`.
    pub fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitOr for Quirks {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Quirks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::DUPLICATE, "duplicate keys"),
            (Self::FOLDED, "envelope keys in another letter case"),
            (Self::NAN, "numbers that are none"),
            (Self::SURROGATE, "half a surrogate pair"),
            (Self::UTF8, "invalid UTF-8"),
            (Self::TRAILING, "trailing data"),
            (Self::BOM, "a byte order mark"),
            (Self::LOOSE, "loose syntax"),
        ];
        let names: Vec<_> =
            names.iter().filter(|(it, _)| self.contains(*it)).map(|(_, name)| *name).collect();
        out.write_str(&names.join(", "))
    }
}
