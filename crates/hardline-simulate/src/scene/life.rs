//! Servers that run, repeat themselves, reorder answers, die and are restarted.

use crate::script::Script;

/// Proper traffic of both sides.
pub(super) fn honest(script: &mut Script<'_>) {
    let mut open = Vec::new();
    for _ in 0..2 + script.rng.below(6) {
        match script.rng.below(6) {
            0..=2 => open.push(script.ask()),
            // Without a pause that is longer than the relay holds anything back.
            3 if script.may_be_steady && script.rng.one_in(4) => steady(script),
            3 => {
                let line = script.rng.pick(&[
                    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#,
                    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
                    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}"#,
                ]);
                script.say(format!("{line}\n").as_bytes(), &[]);
            }
            // Without a handshake, servers send no requests of their own.
            4 if !script.is_stateless() => {
                let number = script.next_number();
                let call = match script.rng.below(3) {
                    // An honest server asks only for declared capabilities.
                    0 if script.offer.contains("sampling") => {
                        r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}"#
                    }
                    1 if script.offer.contains("roots") => r#""method":"roots/list""#,
                    _ => r#""method":"ping""#,
                };
                let line = format!(r#"{{"jsonrpc":"2.0","id":"q{number}",{call}}}"#);
                script.say(format!("{line}\n").as_bytes(), &[]);
                script.reply();
            }
            _ => {
                if !open.is_empty() {
                    let asked = open.swap_remove(script.rng.below(open.len()));
                    script.answer(&asked);
                }
            }
        }
        script.hesitate();
    }
    // An honest server answers every request in the end.
    for asked in open {
        script.answer(&asked);
    }
}

/// Requests that a server sends right behind a log message or progress, or two at once, as SDKs do.
pub(super) fn asking(script: &mut Script<'_>) {
    let asked = script.ask();
    if script.is_stateless() {
        return script.answer(&asked);
    }
    let mut lines = Vec::new();
    if script.rng.one_in(2) {
        let before = script.rng.pick(&[
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hi"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":{"b":"c"}}}}"#,
        ]);
        lines.push(before.to_owned());
    }
    let count = 1 + script.rng.below(2);
    for _ in 0..count {
        let number = script.next_number();
        let call = match script.rng.below(3) {
            0 if script.offer.contains("sampling") => {
                r#""method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9}"#
            }
            1 if script.offer.contains("elicitation") => {
                r#""method":"elicitation/create","params":{"message":"Name?","requestedSchema":{"properties":{"n":{"title":"N","type":"string"}},"required":["n"],"type":"object"}}"#
            }
            2 if script.offer.contains("roots") => r#""method":"roots/list""#,
            _ => r#""method":"ping""#,
        };
        lines.push(format!(r#"{{"jsonrpc":"2.0","id":"a{number}",{call}}}"#));
    }
    script.write(format!("{}\n", lines.join("\n")).as_bytes(), &[]);
    (0..count).for_each(|_| script.reply());
    // Longer than the relay holds the requests.
    script.pause(1200);
    script.answer(&asked);
}

/// Progress that goes on and on.
fn steady(script: &mut Script<'_>) {
    script.may_be_steady = false;
    let pause = if script.rng.one_in(2) { 1 } else { 15 };
    // Fewer than the rate limit.
    for number in 0..24 {
        script.write(
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":{number}}}}}"#
            )
            .as_bytes(),
            &[],
        );
        script.write(b"\n", &[]);
        script.pause(pause);
    }
}

/// Answers that arrive twice.
pub(super) fn duplicate(script: &mut Script<'_>) {
    let asked = script.ask();
    let answer = format!("{}\n", script.answer_to(&asked));
    for _ in 0..2 + script.rng.below(2) {
        script.say(answer.as_bytes(), std::slice::from_ref(&asked.id));
        script.hesitate();
    }
}

/// Answers that the server also prints: once more, or for people.
pub(super) fn copied(script: &mut Script<'_>) {
    let slow = script.ask();
    for _ in 0..1 + script.rng.below(3) {
        let asked = script.ask();
        let answer = script.answer_to(&asked);
        let spread = answer.replacen('{', "{\n  ", 1).replacen(",\"", ",\n  \"", 2);
        let text = match script.rng.below(4) {
            0 => format!("DEBUG sending {answer}\n{answer}\n"),
            1 => format!("{answer}\nDEBUG sent {answer}\n"),
            2 => format!("{answer}\n{spread}\n"),
            _ => format!("{answer}\n{answer}\n"),
        };
        script.write(text.as_bytes(), std::slice::from_ref(&asked.id));
        script.hesitate();
    }
    script.answer(&slow);
}

/// Answers in any order.
pub(super) fn reorder(script: &mut Script<'_>) {
    let mut open: Vec<_> = (0..2 + script.rng.below(4)).map(|_| script.ask()).collect();
    if script.rng.one_in(3)
        && let Some(asked) = open.first()
    {
        // The server answers it all the same, which the protocol allows.
        script.cancel(asked);
    }
    while !open.is_empty() {
        let asked = open.swap_remove(script.rng.below(open.len()));
        script.answer(&asked);
        script.hesitate();
    }
}

/// Answers without a request.
pub(super) fn unsolicited(script: &mut Script<'_>) {
    let asked = script.ask();
    for _ in 0..=script.rng.below(3) {
        let id = script.rng.pick(&["99", "\"zz\"", "-1", "1000000"]);
        script
            .say(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n").as_bytes(), &[]);
    }
    script.answer(&asked);
}

/// A server that dies in the middle of its output and is restarted.
pub(super) fn restart(script: &mut Script<'_>) {
    let asked: Vec<_> = (0..1 + script.rng.below(3)).map(|_| script.ask()).collect();
    if let Some(asked) = asked.first() {
        let answer = format!("{}\n", script.answer_to(asked)).into_bytes();
        let length = script.rng.below(answer.len() + 1);
        // Part of an answer, up to all of it: it does not count as meant, as the server dies.
        script.say(answer.get(..length).unwrap_or_default(), &[]);
    }
    if script.rng.one_in(3) {
        let number = script.rng.below(5);
        // The restarted server may use the same id for another request.
        let line = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"ping"}}"#);
        script.say(format!("{line}\n").as_bytes(), &[]);
    }
    let is_success = script.rng.one_in(4);
    script.end(is_success);
    for _ in 0..script.rng.below(3) {
        script.ask();
    }
    script.reply();
    script.pause(1000);
    let asked = script.ask();
    script.answer(&asked);
}

/// More messages than the relay lets through, and then an answer.
pub(super) fn flood(script: &mut Script<'_>) {
    let asked = script.ask();
    let (id, count) = (&asked.id, 50 + script.rng.below(400));
    let line = match script.rng.below(4) {
        0 => r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#.to_owned(),
        1 => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":1}}}}"#
        ),
        2 => r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned(),
        _ => "not json".to_owned(),
    };
    // In one read: the rate limit must hold without any time passing.
    script.write(format!("{line}\n").repeat(count).as_bytes(), &[]);
    script.hesitate();
    script.answer(&asked);
}

/// Two answers with interleaved bytes.
pub(super) fn interleaved(script: &mut Script<'_>) {
    let asked = [script.ask(), script.ask()];
    let first = format!("{}\n", script.answer_to(&asked[0]));
    let second = format!("{}\n", script.answer_to(&asked[1]));
    let meant = asked.map(|it| it.id);
    script.say_in_turns(first.as_bytes(), second.as_bytes(), &meant);
}
