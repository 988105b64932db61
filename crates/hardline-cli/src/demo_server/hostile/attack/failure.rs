//! Servers that end or stop responding.

use std::thread;
use std::time::Duration;

use super::{Attack, Due, Next};

/// Lifetime of a server that reads nothing: nothing else would end it.
const DEAF: Duration = Duration::from_secs(600);

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "crash-mid-answer",
        what: "Writes half of the answer, and ends with code 3",
        rule: None,
        due: Due::Error,
        act: |call| {
            let line = call.text("half of an answer");
            call.bytes(line.as_bytes().get(..line.len() / 2).unwrap_or_default())?;
            Ok(Next::End(3))
        },
    },
    Attack {
        name: "exit-pending",
        what: "Ends with code 0 instead of an answer",
        rule: None,
        due: Due::Error,
        act: |_| Ok(Next::End(0)),
    },
    Attack {
        name: "hang",
        what: "Never answers the call; others are answered",
        rule: None,
        due: Due::Nothing,
        act: |_| Ok(Next::Wait),
    },
    Attack {
        name: "stop-reading",
        what: "Stops reading and answering, for ten minutes",
        rule: None,
        due: Due::Nothing,
        act: |_| {
            thread::sleep(DEAF);
            Ok(Next::End(0))
        },
    },
];
