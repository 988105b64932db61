//! Protocol versions, and their differences on the wire.
//!
//! Every difference is a comparison with the version that introduced or removed it, never a list of
//! versions: a version that is added here behaves like the one before it until a comparison says
//! otherwise.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Declares the versions, oldest first. A new version is one row at the end.
macro_rules! versions {
    ($($name:ident = $text:literal,)*) => {
        /// A version of the Model Context Protocol. Older versions compare as less.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the name of a variant is its documentation")]
        pub enum Version {
            $($name,)*
            /// A version that does not exist: the tests show that it behaves like the latest.
            #[cfg(test)]
            Later,
        }

        impl Version {
            /// All versions, oldest first.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$name,)*];

            /// Returns the version as written on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    #[cfg(test)]
                    Self::Later => "2999-12-31",
                }
            }
        }
    };
}

versions! {
    V2024_11_05 = "2024-11-05",
    V2025_03_26 = "2025-03-26",
    V2025_06_18 = "2025-06-18",
    V2025_11_25 = "2025-11-25",
    V2026_07_28 = "2026-07-28",
}

impl Version {
    /// The latest version.
    pub const LATEST: Self = {
        let [.., latest] = Self::ALL;
        latest
    };

    /// The latest version that opens a session with `initialize`.
    pub const LATEST_WITH_HANDSHAKE: Self = Self::V2025_11_25;

    /// The first version without a handshake. All servers without one are expected to know it.
    pub const FIRST_WITHOUT_HANDSHAKE: Self = Self::V2026_07_28;

    /// Returns true if several messages may share a line or a body, as an array.
    pub fn has_batches(self) -> bool {
        // Introduced in one version and removed in the next.
        (Self::V2025_03_26..Self::V2025_06_18).contains(&self)
    }

    /// Returns true if a session opens with `initialize`. Otherwise each request states its
    /// version.
    pub fn has_handshake(self) -> bool {
        self <= Self::LATEST_WITH_HANDSHAKE
    }

    /// Returns true if HTTP requests after the opening one state the version in a header.
    pub fn has_version_header(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Returns true if an error for a message without a readable id omits the member `id` instead
    /// of writing null.
    pub fn omits_unknown_ids(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Returns true if HTTP requests repeat parts of their body in headers.
    pub fn has_mirrored_headers(self) -> bool {
        self >= Self::V2026_07_28
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
        assert_eq!(Version::ALL.last(), Some(&Version::LATEST));
        let with = |has: fn(Version) -> bool| -> Vec<_> {
            Version::ALL.into_iter().filter(|it| has(*it)).collect()
        };
        assert_eq!(with(Version::has_batches), [Version::V2025_03_26]);
        assert_eq!(with(Version::has_handshake).last(), Some(&Version::LATEST_WITH_HANDSHAKE));
        assert_eq!(with(Version::has_handshake), Version::ALL[..4]);
        assert_eq!(with(Version::has_version_header), Version::ALL[2..]);
        assert_eq!(with(Version::omits_unknown_ids), Version::ALL[3..]);
        assert_eq!(with(Version::has_mirrored_headers), Version::ALL[4..]);
    }

    #[test]
    fn a_later_version_behaves_like_the_latest() {
        assert!(Version::LATEST < Version::Later);
        let differences = [
            Version::has_batches,
            Version::has_handshake,
            Version::has_version_header,
            Version::omits_unknown_ids,
            Version::has_mirrored_headers,
        ];
        for has in differences {
            assert_eq!(has(Version::Later), has(Version::LATEST));
        }
        for method in crate::method::all() {
            let is_in = |version| method.is_in(version);
            assert_eq!(is_in(Version::Later), is_in(Version::LATEST), "{}", method.name);
        }
    }
}
