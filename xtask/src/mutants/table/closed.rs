//! Mutants of the defenses against "Content that closes its own answer".

use crate::mutants::{Attack, Mutant, edit};

const BATCH: &str = "crates/hardline-guard/src/guard/batch.rs";
const INSPECT: &str = "crates/hardline-guard/src/guard/inspect.rs";
const UNASKED: &str = "crates/hardline-guard/src/guard/unasked.rs";
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
            defense: "the tail of the answer is recognized",
            edits: &[edit(
                HOLDBACK,
                "is_recent && (is_rest(text, limits) || is_closing(text, least) || is_likely())",
                "is_recent && is_rest(text, limits) && is_closing(text, least) && is_likely() && false",
            )],
            classes: &["closed-answer"],
        },
        Mutant {
            name: "rest-in-pieces",
            defense: "an unfinished line that may be the tail keeps messages waiting",
            edits: &[edit(
                HOLDBACK,
                "self.is_mid_rest = self.is_holding() && may_become_rest(unfinished);",
                "self.is_mid_rest = self.is_holding() && may_become_rest(unfinished) && false;",
            )],
            classes: &["closed-answer"],
        },
        Mutant {
            name: "line-follows",
            defense: "a line that ends with a bracket drops the requests that wait",
            edits: &[
                edit(UNASKED, "if text.is_some_and(ends_closed) {", "if text.is_none() {"),
                edit(
                    INSPECT,
                    "if has_joined && !has_delivered && line.whole().is_some_and(ends_closed) {",
                    "if has_joined && !has_delivered && line.whole().is_none() {",
                ),
            ],
            classes: &["completed-answer"],
        },
        Mutant {
            name: "message-follows",
            defense: "under `strict`, another message drops the requests that wait",
            edits: &[edit(
                UNASKED,
                "if is_alike || self.blocks_planted() {",
                "if is_alike && !self.blocks_planted() {",
            )],
            classes: &["completed-answer"],
        },
        Mutant {
            name: "no-cap",
            defense: "messages wait for ten quiet times at most",
            edits: &[edit(
                HOLDBACK,
                "(self.heard + quiet).min(since + quiet * MAX_QUIETS)",
                "(self.heard + quiet).max(since)",
            )],
            classes: &["honest"],
        },
        Mutant {
            name: "mixed-batch",
            defense: "a batch with answers delivers no request",
            edits: &[edit(
                BATCH,
                "has_answers && has_requests",
                "has_answers && has_requests && false",
            )],
            classes: &["closed-batch"],
        },
    ],
};
