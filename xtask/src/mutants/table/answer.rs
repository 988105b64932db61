//! Mutants of the defenses against "Answers that no client can use".

use crate::mutants::{Attack, Mutant, edit};

const DOUBT: &str = "crates/hardline-guard/src/guard/doubt.rs";
const HEAD: &str = "crates/hardline-guard/src/join/head.rs";
const PROBABLE: &str = "crates/hardline-guard/src/frame/probable.rs";
const SESSION_ANSWER: &str = "crates/hardline-guard/src/session/answer.rs";
const SESSION_DOUBT: &str = "crates/hardline-guard/src/session/doubt.rs";
const UNFINISHED: &str = "crates/hardline-proxy/src/relay/unfinished.rs";

/// The attack, and the defenses against it.
pub(super) const ATTACK: Attack = Attack {
    title: "Answers that no client can use",
    mutants: &[
        Mutant {
            name: "damaged-answer",
            defense: "a broken answer fails the pending request that it names",
            edits: &[edit(DOUBT, "self.session.doubt(id, doubt, now);", "let _ = (id, doubt);")],
            classes: &["two-ids", "repr"],
        },
        Mutant {
            name: "second-id",
            defense: "every id of a broken answer counts",
            edits: &[edit(PROBABLE, "if ids.len() == MAX_IDS {", "if !ids.is_empty() {")],
            classes: &["two-ids"],
        },
        Mutant {
            name: "python-notation",
            defense: "an id in Python's notation counts, or else the broken line fails all requests in the end",
            edits: &[
                edit(PROBABLE, "(true, true) => true,", "(true, true) => !has(b\"'jsonrpc'\"),"),
                edit(
                    DOUBT,
                    "may_answer && (pending.is_empty() || has_more)",
                    "may_answer && has_more",
                ),
            ],
            classes: &["repr"],
        },
        Mutant {
            name: "prefix",
            defense: "an answer behind padding is delivered, or its request fails",
            edits: &[
                edit(
                    DOUBT,
                    "cut_prefix(text).filter(|_| noise >= Action::Sanitize)",
                    "cut_prefix(text).filter(|_| noise > Action::Close)",
                ),
                edit(DOUBT, "self.session.doubt(id, doubt, now);", "let _ = (id, doubt);"),
            ],
            classes: &["prefix"],
        },
        Mutant {
            name: "unfinished-line",
            defense: "a line without its newline ends after a while",
            edits: &[edit(
                UNFINISHED,
                "const MAX_QUIET: Duration = Duration::from_secs(20);",
                "const MAX_QUIET: Duration = Duration::from_secs(3600);",
            )],
            classes: &["no-newline"],
        },
        Mutant {
            name: "unassignable-answer",
            defense: "an answer that cannot be assigned fails all requests in the end",
            edits: &[edit(
                SESSION_DOUBT,
                "self.client.expire_all(deadline, |it| it.kind != RequestKind::Subscription);",
                "let _ = (deadline, RequestKind::Subscription);",
            )],
            classes: &["no-id"],
        },
        Mutant {
            name: "id-type",
            defense: "an answer whose id has another type fails its request",
            edits: &[edit(
                SESSION_ANSWER,
                "self.doubt_in(request, &meant, Doubt::Mistyped, now);",
                "let _ = (&meant, Doubt::Mistyped);",
            )],
            classes: &["id-type"],
        },
        Mutant {
            name: "pretty-printed",
            defense: "a line of opening brackets begins a hold",
            edits: &[edit(
                HEAD,
                "if is_bare(start) {\n            return Some(Self",
                "if is_bare(start) {\n            return None;\n            #[expect(unreachable_code)]\n            return Some(Self",
            )],
            classes: &["pretty"],
        },
    ],
};
