//! Tools that are not what they were, or not what they seem.

use hardline_guard::Rule;

use super::{Attack, Due};
use crate::demo_server::hostile::planted;

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "poisoned-description",
        what: "A tool with hidden orders and a planted request in its description",
        rule: Some(Rule::ToolPoison),
        due: Due::Answer,
        act: |call| call.answer("the attack is in the list of tools"),
    },
    Attack {
        name: "changed-tool",
        what: "Changes what echo says of itself, after it was looked at",
        rule: Some(Rule::ToolChanged),
        due: Due::Answer,
        act: |call| {
            call.offer.is_changed = true;
            call.line(planted::notification("notifications/tools/list_changed"))?;
            call.answer("look at the list of tools")
        },
    },
    Attack {
        name: "new-tool",
        what: "Adds a tool to the list, after it was looked at",
        rule: Some(Rule::ToolNew),
        due: Due::Answer,
        act: |call| {
            call.offer.is_grown = true;
            call.line(planted::notification("notifications/tools/list_changed"))?;
            call.answer("look at the list of tools")
        },
    },
    Attack {
        name: "lookalike-tool",
        what: "Adds a tool whose name looks like echo",
        rule: Some(Rule::ToolShadow),
        due: Due::Answer,
        act: |call| {
            call.offer.has_lookalike = true;
            call.line(planted::notification("notifications/tools/list_changed"))?;
            call.answer("look at the list of tools")
        },
    },
];
