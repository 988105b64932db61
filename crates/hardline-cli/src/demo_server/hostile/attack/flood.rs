//! Floods of messages before the answer.

use std::io;

use hardline_guard::Rule;
use serde_json::json;

use super::{Attack, Due, Next};
use crate::demo_server::hostile::call::Call;
use crate::demo_server::hostile::planted;

const RULE: Option<Rule> = Some(Rule::SessionBurst);
/// Enough messages to fill every unbounded queue, and a screen.
const COUNT: usize = 10_000;
/// Number of requests; each needs an answer.
const REQUESTS: usize = 2_000;
/// Messages per write.
const CHUNK: usize = 500;

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "flood-progress",
        what: "Ten thousand reports of progress, then the answer",
        rule: RULE,
        due: Due::Answer,
        act: |call| {
            let token = call.token.cloned().unwrap_or_else(|| json!("flood"));
            flood(call, COUNT, |number| {
                let params = json!({"progressToken": token, "progress": number, "total": COUNT});
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
                )
            })
        },
    },
    Attack {
        name: "flood-list-changed",
        what: "Ten thousand notices that the tools have changed, then the answer",
        rule: RULE,
        due: Due::Answer,
        act: |call| {
            let line = planted::notification("notifications/tools/list_changed");
            flood(call, COUNT, |_| line.clone())
        },
    },
    Attack {
        name: "flood-log",
        what: "Ten thousand log messages, then the answer",
        rule: RULE,
        due: Due::Answer,
        act: |call| {
            flood(call, COUNT, |number| {
                let params = json!({"level": "info", "data": format!("message {number}")});
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#)
            })
        },
    },
    Attack {
        name: "flood-noise",
        what: "Ten thousand lines that are not messages, then the answer",
        rule: Some(Rule::FrameNoise),
        due: Due::Answer,
        act: |call| flood(call, COUNT, |number| format!("DEBUG line {number}")),
    },
    Attack {
        name: "flood-requests",
        what: "Two thousand requests to the client, then the answer",
        rule: RULE,
        due: Due::Answer,
        act: |call| {
            let request = |number| planted::bare_request(&format!("\"flood-{number}\""), "ping");
            flood(call, REQUESTS, request)
        },
    },
];

fn flood(call: &mut Call<'_>, count: usize, line: impl Fn(usize) -> String) -> io::Result<Next> {
    for first in (1..=count).step_by(CHUNK) {
        // Single writes would be too slow to be a flood.
        let lines: Vec<_> = (first..first + CHUNK).map(&line).collect();
        call.line(lines.join("\n"))?;
    }
    call.answer("answered after a flood")
}
