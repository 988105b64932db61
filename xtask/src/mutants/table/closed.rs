//! Mutants of the defenses against "Content that closes its own answer".

use crate::mutants::{Attack, Mutant, edit};

const HOLDBACK: &str = "crates/hardline-guard/src/guard/holdback.rs";

/// The attack, and the defenses against it.
pub(super) const ATTACK: Attack = Attack {
    title: "Content that closes its own answer",
    mutants: &[
        Mutant {
            name: "no-hold-back",
            defense: "a message right after another one waits",
            edits: &[edit(
                HOLDBACK,
                "!self.quiet.is_zero() && (is_after_message || !self.held.is_empty())",
                "!self.quiet.is_zero() && is_after_message && false",
            )],
            classes: &["closed-answer"],
        },
        Mutant {
            name: "rest-unseen",
            defense: "the rest of the answer is recognized",
            edits: &[edit(
                HOLDBACK,
                "is_recent && (is_rest(text, limits) || is_closing(text, least) || is_likely())",
                "is_recent && is_rest(text, limits) && is_closing(text, least) && is_likely() && false",
            )],
            classes: &["closed-answer"],
        },
        Mutant {
            name: "rest-in-pieces",
            defense: "an unfinished line that may be the rest keeps messages waiting",
            edits: &[edit(
                HOLDBACK,
                "self.is_mid_rest = self.is_holding() && may_become_rest(unfinished);",
                "self.is_mid_rest = self.is_holding() && may_become_rest(unfinished) && false;",
            )],
            classes: &["closed-answer"],
        },
    ],
};
