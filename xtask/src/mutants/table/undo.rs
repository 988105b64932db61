//! Mutants of the defenses against "Edits that end up in files".

use crate::mutants::{Attack, Mutant, edit};

const CONTENT: &str = "crates/hardline-guard/src/guard/content.rs";
const UNDO: &str = "crates/hardline-guard/src/undo/mod.rs";

/// The attack, and the defenses against it.
pub(super) const ATTACK: Attack = Attack {
    title: "Edits that end up in files",
    mutants: &[
        Mutant {
            name: "no-undo",
            defense: "edits are undone in a client's call",
            edits: &[edit(
                CONTENT,
                ".map_or(ContentVerdict::Unchanged, ContentVerdict::Edited)",
                ".map_or(ContentVerdict::Unchanged, |_| ContentVerdict::Unchanged)",
            )],
            classes: &["round-trip"],
        },
        Mutant {
            name: "undo-whole-texts-only",
            defense: "edits are undone in parts of a text",
            edits: &[edit(
                UNDO,
                "sheet.spots().map(|spot| self.source(spot, short)).collect()",
                "sheet.spots().map(|spot| self.source(spot, short)).map(|_| Source::Unknown).collect()",
            )],
            classes: &["round-trip"],
        },
        Mutant {
            name: "undo-own-marks",
            defense: "marks that the server wrote itself stay",
            edits: &[edit(
                UNDO,
                "let is_edit = parts.peek().is_some_and(|it| it.edited == token.range);",
                "let is_edit = true;",
            )],
            classes: &["round-trip"],
        },
    ],
};
