//! The five protocol versions, and their differences on the wire.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A version of the Model Context Protocol. Older versions compare as less.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the name of a variant is its documentation")]
pub enum Version {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// Returns the version as written on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns true if several messages may share a line or a body, as an array.
    pub const fn has_batches(self) -> bool {
        // Introduced in this version and removed in the next one.
        matches!(self, Self::V2025_03_26)
    }

    /// Returns true if a session opens with `initialize`. Otherwise each request states its
    /// version.
    pub const fn has_handshake(self) -> bool {
        !matches!(self, Self::V2026_07_28)
    }

    /// Returns true if an error for a message without a readable id omits the member `id` instead
    /// of writing null.
    pub fn omits_unknown_ids(self) -> bool {
        Self::V2025_11_25 <= self
    }

    /// Returns true if HTTP requests repeat parts of their body in headers.
    pub fn has_mirrored_headers(self) -> bool {
        Self::V2026_07_28 <= self
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        Self::ALL.into_iter().find(|version| version.as_str() == text).ok_or(UnknownVersion)
    }
}

/// Error for an unknown version. Its text comes from the peer, so it is not repeated.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("unknown protocol version")]
#[non_exhaustive]
pub struct UnknownVersion;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes() {
        for version in Version::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        for text in ["", "2025-11-26", "2025-11-25 ", "DRAFT-2026-v1"] {
            assert_eq!(text.parse::<Version>(), Err(UnknownVersion));
        }
    }

    #[test]
    fn orders_versions_by_age() {
        assert!(Version::ALL.is_sorted());
        let batches: Vec<_> = Version::ALL.into_iter().filter(|it| it.has_batches()).collect();
        assert_eq!(batches, [Version::V2025_03_26]);
    }
}
