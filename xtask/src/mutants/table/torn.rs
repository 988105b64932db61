//! Mutants of the defenses against "Raw newlines that split an answer".

use crate::mutants::{Attack, Mutant, edit};

const CONCLUDE: &str = "crates/hardline-guard/src/join/conclude.rs";
const HEAD: &str = "crates/hardline-guard/src/join/head.rs";
const REFUSE: &str = "crates/hardline-guard/src/frame/refuse.rs";
const SUSPICION: &str = "crates/hardline-guard/src/join/suspicion.rs";

/// The attack, and the defenses against it.
pub(super) const ATTACK: Attack = Attack {
    title: "Raw newlines that split an answer",
    mutants: &[
        Mutant {
            name: "bracket-head",
            defense: "a head may end outside of a string",
            edits: &[edit(
                HEAD,
                "ends_in_string(text) || brackets(text, false).is_none_or(|depth| depth > 0)",
                "ends_in_string(text)",
            )],
            classes: &["torn"],
        },
        Mutant {
            name: "broken-line",
            defense: "a broken line makes the server suspect",
            edits: &[edit(
                REFUSE,
                "// Content may also have ended a message without an id, or with two kinds in it.\n            _ => true,",
                "_ => false,",
            )],
            classes: &["torn"],
        },
        Mutant {
            name: "no-hold",
            defense: "lines after a head are held",
            edits: &[edit(
                HEAD,
                "if !matches!(start.first()?, b'{' | b'[') {",
                "if start.len() < usize::MAX {",
            )],
            classes: &["torn"],
        },
        Mutant {
            name: "pause-after-head",
            defense: "suspicion after a hold that ran out",
            edits: &[edit(
                CONCLUDE,
                "self.suspicion = Some(Suspicion::after_hold(now, hold.after_head()));",
                "let _ = Suspicion::after_hold(now, hold.after_head());",
            )],
            classes: &["torn"],
        },
        Mutant {
            name: "short-suspicion",
            defense: "suspicion lasts 30 seconds",
            edits: &[edit(SUSPICION, "Duration::from_secs(30)", "Duration::from_millis(1)")],
            classes: &["torn"],
        },
        Mutant {
            name: "any-line-completes",
            defense: "only the tail of the torn message ends suspicion",
            edits: &[edit(SUSPICION, "lexer.is_complete()", "true")],
            classes: &["torn"],
        },
    ],
};
