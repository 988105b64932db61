//! Mutants of the defenses against "Requests without a negotiated capability".

use crate::mutants::{Attack, Mutant, edit};

const CHECK: &str = "crates/hardline-guard/src/session/check.rs";
const EMBEDDED: &str = "crates/hardline-guard/src/session/embedded.rs";
const PART: &str = "crates/hardline-guard/src/session/part.rs";
const SESSION_ANSWER: &str = "crates/hardline-guard/src/session/answer.rs";

/// The attack, and the defenses against it.
pub(super) const ATTACK: Attack = Attack {
    title: "Requests without a negotiated capability",
    mutants: &[
        Mutant {
            name: "sampling-tools",
            defense: "tools in sampling need a capability",
            edits: &[edit(
                PART,
                "parts.has_tools && !client.has(\"sampling.tools\")",
                "parts.has_tools && !client.has(\"sampling\")",
            )],
            classes: &["capability"],
        },
        Mutant {
            name: "sampling-context",
            defense: "context in sampling needs a capability",
            edits: &[edit(
                PART,
                "value.as_str().is_none_or(|it| !is_alike(&it, \"none\"))",
                "value.as_str().is_some_and(|it| is_alike(&it, \"x\"))",
            )],
            classes: &["capability"],
        },
        Mutant {
            name: "task",
            defense: "requests as tasks need a capability",
            edits: &[edit(PART, "\"task\" => parts.is_task = true,", "\"task\" => {}")],
            classes: &["capability"],
        },
        Mutant {
            name: "elicitation-url",
            defense: "web pages in elicitation need a capability",
            edits: &[edit(
                PART,
                "if !client.has(\"elicitation.url\") {",
                "if !client.has(\"elicitation\") {",
            )],
            classes: &["capability"],
        },
        Mutant {
            name: "elicitation-address",
            defense: "elicitation opens web pages alone",
            edits: &[edit(
                PART,
                "(!is_web).then_some(",
                "(!is_web && self.urls.is_empty()).then_some(",
            )],
            classes: &["capability"],
        },
        Mutant {
            name: "page-in-error",
            defense: "web pages that an error asks for need a capability",
            edits: &[edit(
                SESSION_ANSWER,
                "let reason = objection_to_error(error, client)?;",
                "let reason = objection_to_error(error, client).filter(|_| false)?;",
            )],
            classes: &["capability"],
        },
        Mutant {
            name: "request-as-notification",
            defense: "a request method without an id is dropped",
            edits: &[edit(
                CHECK,
                "let lacks_id = is_server && !is_request && method.kind == MethodKind::Request;",
                "let lacks_id = is_server && method.kind == MethodKind::Request && false;",
            )],
            classes: &["capability"],
        },
        Mutant {
            name: "undeclared-method",
            defense: "a request needs its capability",
            edits: &[edit(
                CHECK,
                "let is_blocked = is_request && direction == Direction::ServerToClient;",
                "let is_blocked = false;",
            )],
            classes: &["capability"],
        },
        Mutant {
            name: "request-in-result",
            defense: "requests inside a result are checked",
            edits: &[edit(
                EMBEDDED,
                "const KEY: &str = \"inputRequests\";",
                "const KEY: &str = \"nothing\";",
            )],
            classes: &["capability"],
        },
    ],
};
