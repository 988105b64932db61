//! How the tools are called that the checks need.

use serde_json::{Value, json};

/// The tools of one family of servers, each with its arguments.
#[derive(Debug)]
pub(crate) struct Tools {
    /// Which argument `echo` returns, and what it puts before it.
    pub(crate) echo: (&'static str, &'static str),
    /// Reports three steps.
    pub(crate) progress: (&'static str, Value),
    /// Takes a minute.
    pub(crate) sleep: (&'static str, Value),
    /// Asks the user.
    pub(crate) ask: &'static str,
    /// What its answer says then.
    pub(crate) asked: &'static str,
    pub(crate) prompt: (&'static str, Value),
    /// What the prompt says.
    pub(crate) prompted: &'static str,
}

/// Those of a server that lists these tools.
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
