//! Names and arguments of the tools that the checks use.

use serde_json::{Value, json};

/// The tools of one family of servers, each with its arguments.
#[derive(Debug)]
pub(crate) struct Tools {
    /// Argument that `echo` returns, and the prefix that it adds.
    pub(crate) echo: (&'static str, &'static str),
    /// Reports three steps.
    pub(crate) progress: (&'static str, Value),
    /// Sleeps for a minute.
    pub(crate) sleep: (&'static str, Value),
    /// Asks the user.
    pub(crate) ask: &'static str,
    /// Text in the answer of `ask`.
    pub(crate) asked: &'static str,
    pub(crate) prompt: (&'static str, Value),
    /// Text in the prompt.
    pub(crate) prompted: &'static str,
}

/// Returns the tools of a server, recognized by its tool list.
pub(crate) fn of(listed: &[String]) -> Tools {
    const LONG: &str = "trigger-long-running-operation";
    if listed.iter().any(|name| name == LONG) {
        return Tools {
            echo: ("message", "Echo: "),
            progress: (LONG, json!({ "duration": 0.3, "steps": 3 })),
            sleep: (LONG, json!({ "duration": 60, "steps": 1 })),
            ask: "trigger-elicitation-request",
            asked: "Ada",
            prompt: ("args-prompt", json!({ "city": "Ada" })),
            prompted: "Ada",
        };
    }
    Tools {
        echo: ("text", ""),
        progress: ("progress", json!({ "steps": 3 })),
        sleep: ("sleep", json!({ "ms": 60_000 })),
        ask: "ask",
        asked: "Hello, Ada!",
        prompt: ("greet", json!({ "name": "Ada" })),
        prompted: "Ada",
    }
}
