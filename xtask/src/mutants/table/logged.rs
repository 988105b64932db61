//! Mutants of the defenses against "Documents in log lines".

use crate::mutants::{Attack, Mutant, edit};

const PREFIX: &str = "crates/hardline-guard/src/frame/prefix.rs";

/// The attack, and the defenses against it.
pub(super) const ATTACK: Attack = Attack {
    title: "Documents in log lines",
    mutants: &[Mutant {
        name: "log-line",
        defense: "an answer after other text on its line is not delivered",
        edits: &[edit(PREFIX, "is_padding: is_padding(prefix),", "is_padding: true,")],
        classes: &["logged"],
    }],
};
