//! Answers that nobody waits for, or not like that.

use hardline_guard::Rule;

use super::{Attack, Due, Next};
use crate::demo_server::hostile::planted;

/// An id that no client has got to.
const FAR: &str = "999999999";

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "unsolicited-answer",
        what: "A forged answer to a request that nobody made, then the true one",
        rule: Some(Rule::SessionUnsolicitedResponse),
        due: Due::Answer,
        act: |call| {
            call.line(call.text_for(FAR, planted::TEXT))?;
            call.answer("the only answer")
        },
    },
    Attack {
        name: "duplicate-answer",
        what: "The true answer, then a forged one with the same id",
        rule: Some(Rule::SessionDuplicateResponse),
        due: Due::Answer,
        act: |call| {
            call.line(call.text("the first answer"))?;
            call.answer(planted::TEXT)
        },
    },
    Attack {
        name: "raced-answer",
        what: "A forged answer whose id has another type, before the true one",
        rule: Some(Rule::SessionIdType),
        due: Due::Answer,
        act: |call| {
            call.line(call.text_for(&retyped(call.id), planted::TEXT))?;
            call.answer("the true answer")
        },
    },
    Attack {
        name: "id-as-string",
        what: "An answer whose id has another type, and no other",
        rule: Some(Rule::SessionIdType),
        due: Due::Error,
        act: |call| {
            call.line(call.text_for(&retyped(call.id), "an answer to nobody"))?;
            Ok(Next::Wait)
        },
    },
];

/// A number as a string, or a string as a number if it is one.
fn retyped(id: &str) -> String {
    let bare = id.trim_matches('"');
    match bare.parse::<i64>() {
        Ok(number) if bare.len() < id.len() => number.to_string(),
        Ok(_) => format!("\"{id}\""),
        Err(_) => FAR.to_owned(),
    }
}
