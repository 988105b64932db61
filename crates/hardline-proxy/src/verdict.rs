//! The verdict on a line, for reports and records.

/// Decision about one line, as the observer sees it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a contract: queries compare with these four")]
pub enum Verdict {
    /// Forwarded unchanged.
    Passed,
    /// Forwarded after it was sanitized.
    Sanitized,
    /// Not forwarded.
    Blocked,
    /// Not forwarded; Hardline answered its sender.
    Answered,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 4] = [Self::Passed, Self::Sanitized, Self::Blocked, Self::Answered];

    /// Returns the name in the audit database and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Sanitized => "sanitized",
            Self::Blocked => "blocked",
            Self::Answered => "answered",
        }
    }
}
