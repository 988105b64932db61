//! Answers without a request, or with the wrong id.

use hardline_guard::Rule;

use super::{Attack, Due, Next};
use crate::demo_server::hostile::planted;

/// Id that no client has reached.
const FAR: &str = "999999999";

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "unsolicited-answer",
        what: "A forged answer to a request that was never made, then the true one",
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
        due: Due::AnswerUnlessSuspect,
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
            call.line(call.text_for(&retyped(call.id), "an answer with another id"))?;
            Ok(Next::Wait)
        },
    },
];

/// Turns a number into a string, or a string with a number into a number.
fn retyped(id: &str) -> String {
    let bare = id.trim_matches('"');
    match bare.parse::<i64>() {
        Ok(number) if bare.len() < id.len() => number.to_string(),
        Ok(_) => format!("\"{id}\""),
        // An id such as "abc" has no numeric form.
        Err(_) => FAR.to_owned(),
    }
}
