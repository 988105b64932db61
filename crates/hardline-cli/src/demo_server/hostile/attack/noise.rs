//! Output of a server that is not a message.

use hardline_guard::Rule;

use super::{Attack, Due};

const RULE: Option<Rule> = Some(Rule::FrameNoise);

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "noise-text",
        what: "A log line on standard output, then the answer",
        rule: RULE,
        due: Due::Answer,
        act: |call| {
            call.line("2026-07-28 12:00:00 INFO connected to the database")?;
            call.answer("answered after a log line")
        },
    },
    Attack {
        name: "noise-json",
        what: "A log line that is JSON on standard output, then the answer",
        rule: RULE,
        due: Due::Answer,
        act: |call| {
            // The `id` makes the line look like a broken answer.
            call.line(r#"{"level":"info","id":1,"msg":"connected to the database"}"#)?;
            call.answer("answered after a log line in JSON")
        },
    },
    Attack {
        name: "noise-binary",
        what: "Half a picture on standard output, then the answer",
        rule: RULE,
        due: Due::Answer,
        act: |call| {
            call.bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe\0\x80\x1b[2J\n")?;
            call.answer("answered after half a picture")
        },
    },
    Attack {
        name: "noise-before-answer",
        what: "A progress bar without a newline, and the answer behind it",
        rule: RULE,
        due: Due::Error,
        act: |call| {
            let line = call.text("answered behind a progress bar");
            // A progress bar without a newline shares its line with the answer.
            call.answer_with(&format!("Loading [####    ]\r{line}"))
        },
    },
    Attack {
        name: "noise-padding",
        what: "Padding and a color escape before the answer on its line",
        rule: RULE,
        due: Due::AnswerUnlessSuspect,
        act: |call| {
            let line = call.text("answered behind padding");
            call.answer_with(&format!("\0\0\x1b[0m{line}"))
        },
    },
    Attack {
        name: "noise-title",
        what: "A log line whose page title is an answer, then the answer",
        rule: RULE,
        due: Due::Answer,
        act: |call| {
            let forged = call.text("forged by the title of a page");
            let line = call.text("answered after the log line");
            call.answer_with(&format!("INFO title={forged}\n{line}"))
        },
    },
    Attack {
        name: "printed-answer",
        what: "An answer as Python prints a dictionary",
        rule: Some(Rule::FrameNotJson),
        due: Due::Error,
        act: |call| {
            let line = call.text("printed").replace('"', "'");
            call.answer_with(&line)
        },
    },
    Attack {
        name: "pretty-answer",
        what: "An answer that is printed over several lines",
        rule: Some(Rule::FrameSplit),
        due: Due::AnswerUnlessSuspect,
        act: |call| {
            let line = call.text("pretty").replace(',', ",\n  ").replace('{', "{\n  ");
            call.answer_with(&line)
        },
    },
];
