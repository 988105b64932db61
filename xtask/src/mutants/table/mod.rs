//! The table of mutants, one file per attack, in the order of docs/threats.md.
//!
//! Where two defenses cover each other, a row takes both back. A text that is no longer found in its file
//! fails a test, so a change of a defense comes with a change of its row.

mod answer;
mod capability;
mod closed;
mod hidden;
mod line_end;
mod logged;
mod torn;
mod undo;

use super::Attack;

/// All attacks that the simulation plays.
pub(super) const ATTACKS: &[Attack] = &[
    torn::ATTACK,
    closed::ATTACK,
    logged::ATTACK,
    line_end::ATTACK,
    answer::ATTACK,
    hidden::ATTACK,
    undo::ATTACK,
    capability::ATTACK,
];
