//! Mutants of the defenses against "Line ends that only some readers see".

use crate::mutants::{Attack, Mutant, edit};

const SINGLE_LINE: &str = "crates/hardline-wire/src/single_line.rs";

/// The attack, and the defenses against it.
pub(super) const ATTACK: Attack = Attack {
    title: "Line ends that only some readers see",
    mutants: &[
        Mutant {
            name: "carriage-return",
            defense: "control characters between tokens become spaces",
            edits: &[edit(
                SINGLE_LINE,
                "filter(|byte| **byte < b' ')",
                "filter(|byte| **byte == b'\\n')",
            )],
            classes: &["line-end", "client-line"],
        },
        Mutant {
            name: "next-line",
            defense: "U+0085 becomes an escape",
            edits: &[edit(SINGLE_LINE, "=> (2, b\"\\\\u0085\"),", "=> return None,")],
            classes: &["line-end", "client-line"],
        },
        Mutant {
            name: "line-separator",
            defense: "U+2028 becomes an escape",
            edits: &[edit(SINGLE_LINE, "=> (3, b\"\\\\u2028\"),", "=> return None,")],
            classes: &["line-end", "client-line"],
        },
        Mutant {
            name: "paragraph-separator",
            defense: "U+2029 becomes an escape",
            edits: &[edit(SINGLE_LINE, "=> (3, b\"\\\\u2029\"),", "=> return None,")],
            classes: &["line-end", "client-line"],
        },
    ],
};
