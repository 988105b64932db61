//! Mutants of the defenses against "Hidden text".

use crate::mutants::{Attack, Mutant, edit};

const CAPACITY: &str = "crates/hardline-guard/src/scan/hidden/capacity.rs";
const CONTENT: &str = "crates/hardline-guard/src/guard/content.rs";
const HIDDEN: &str = "crates/hardline-guard/src/scan/hidden/mod.rs";
const READER: &str = "crates/hardline-guard/src/content/reader.rs";
const SELECTOR: &str = "crates/hardline-guard/src/scan/hidden/selector.rs";

/// The attack, and the defenses against it.
pub(super) const ATTACK: Attack = Attack {
    title: "Hidden text",
    mutants: &[
        Mutant {
            name: "flag-tags",
            defense: "tag characters pass in three flags alone",
            edits: &[edit(
                HIDDEN,
                "run = without_flag(run);",
                "run = run.trim_start_matches(|it| kind(it) == Some(Kind::Tag));",
            )],
            classes: &["hidden"],
        },
        Mutant {
            name: "ideograph-selectors",
            defense: "variation selectors after ideographs are limited and weighed",
            edits: &[
                edit(
                    SELECTOR,
                    "_ => !is_ideograph(base) || selector > LAST_REGISTERED,",
                    "_ => !is_ideograph(base) || selector < LAST_REGISTERED && false,",
                ),
                edit(SELECTOR, "_ => of(STRANGE, 0, STRANGE, 0),", "_ => of(0, 0, 0, 0),"),
            ],
            classes: &["hidden"],
        },
        Mutant {
            name: "zero-width-weight",
            defense: "zero-width characters are weighed, and rows of them are limited",
            edits: &[
                edit(
                    CAPACITY,
                    "const LIMIT: Weight = 14 * BIT;",
                    "const LIMIT: Weight = Weight::MAX / 2;",
                ),
                edit(
                    CAPACITY,
                    "const SHORT_LIMIT: Weight = ODD + ODD / 2;",
                    "const SHORT_LIMIT: Weight = Weight::MAX;",
                ),
                edit(HIDDEN, "const MAX_RUN: usize = 32;", "const MAX_RUN: usize = usize::MAX;"),
                edit(HIDDEN, "const MIN_ROW: usize = 3;", "const MIN_ROW: usize = usize::MAX;"),
            ],
            classes: &["hidden"],
        },
        Mutant {
            name: "spread-text",
            defense: "the texts of one message are added up",
            edits: &[edit(CAPACITY, "self.level >= 2 * LIMIT", "self.level >= 2 * LIMIT && false")],
            classes: &["hidden"],
        },
        Mutant {
            name: "schema-description",
            defense: "descriptions inside schemas are made harmless",
            edits: &[edit(READER, "_ => return of_member(path),", "_ => return Reader::Machine,")],
            classes: &["hidden"],
        },
        Mutant {
            name: "structured-content",
            defense: "structured content is made harmless",
            edits: &[edit(
                READER,
                "\"structuredContent\" => return inside(Reader::Person),",
                "\"structuredContent\" => return inside(Reader::Machine),",
            )],
            classes: &["hidden"],
        },
        Mutant {
            name: "compared-text",
            defense: "hidden text in names and keys blocks the message",
            edits: &[edit(
                CONTENT,
                "if is_message || is_seen { Action::Block }",
                "if is_message || is_seen && false { Action::Block }",
            )],
            classes: &["hidden"],
        },
    ],
};
