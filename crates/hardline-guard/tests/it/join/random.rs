//! Random interleavings of torn and whole messages, log lines and waits.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use hardline_guard::join::{MAX_HOLD, MAX_SUSPICION, MAX_WAIT};
use hardline_testkit::generate::{Rng, message, mutate};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;

use super::Run;

/// One line of a random server.
fn random_line(rng: &mut Rng) -> String {
    let id = rng.below(6);
    match rng.below(14) {
        0 | 1 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":"torn"#),
        2 => format!(r#"{{"result":{{"a":"torn {id}"#),
        3 => r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"torn"#.into(),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x","params":{{"data":"torn"#),
        5 | 6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"line":{}}}}}"#, rng.below(99)),
        7 => r#"{"jsonrpc":"2.0","method":"notifications/x"}"#.into(),
        8 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#),
        9 => "text\"}}".into(),
        10 => format!("text\"}},\"id\":{id},\"jsonrpc\":\"2.0\"}}"),
        11 => "say \\\"hi\\\"".into(),
        12 => String::new(),
        _ => rng.pick(&["plain", "\"quoted\"", "\\", "\t", "}", "[1]"]).into(),
    }
}

#[test]
fn random_interleavings_keep_the_promises() {
    let (mut joined, mut failed, mut passed) = (0, 0, 0);
    for seed in 0..30_000 {
        let mut rng = Rng::new(seed);
        let mut run = Run::new(&[0, 1, 2, 3], Limits::default());
        let all: HashSet<_> = run.pending.borrow().clone();
        let mut sent = Vec::new();
        let mut touched: HashSet<Id<'static>> = HashSet::new();
        for _ in 0..2 + rng.below(10) {
            let line = random_line(&mut rng);
            let before = run.log.len();
            run.lines(format!("{line}\n").as_bytes());
            // Only the line itself passes, and nothing after a joined frame in the same step.
            for entry in run.log[before..].iter().filter_map(|it| it.strip_prefix("pass ")) {
                assert_eq!(entry, line);
            }
            if run.joiner.is_holding() {
                touched.extend(answer_id(&line));
            }
            sent.push(line);
            if rng.one_in(4) {
                run.wait(Duration::from_millis(100 * rng.below(4) as u64));
            }
        }
        run.wait(MAX_HOLD);
        run.wait(MAX_WAIT);
        run.wait(MAX_SUSPICION);
        assert_eq!(run.joiner.poll_timeout(), None);

        let mut outcomes: HashMap<String, usize> = HashMap::new();
        let mut position = 0;
        for entry in &run.log {
            if let Some(line) = entry.strip_prefix("pass ") {
                // Order is preserved, and no line passes twice.
                let found = sent[position..].iter().position(|it| it == line).unwrap();
                position += found + 1;
                passed += 1;
            } else if let Some(id) = entry.strip_prefix("failed ") {
                *outcomes.entry(id.to_owned()).or_default() += 1;
                failed += 1;
            } else if entry.starts_with("joined") {
                joined += 1;
            }
        }
        assert!(outcomes.values().all(|it| *it == 1), "{:?}", run.log);
        let open = run.pending.borrow();
        for id in touched.iter().filter(|id| all.contains(id)) {
            assert!(!open.contains(id), "{id} hangs after {sent:#?}: {:#?}", run.log);
        }
    }
    assert!(500 < joined && 5_000 < failed && 20_000 < passed, "{joined} {failed} {passed}");
}

/// Returns the id that a held line answers.
fn answer_id(line: &str) -> Option<Id<'static>> {
    let rest = line.strip_prefix(r#"{"jsonrpc":"2.0","id":"#)?;
    let (id, rest) = rest.split_once(',')?;
    rest.starts_with("\"result\"").then(|| Id::from_integer(id.parse().unwrap()))
}

/// Generates messages with newlines and other bytes anywhere, cut and mixed.
#[test]
fn damaged_streams_keep_the_promises() {
    let mut joined = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let limits = Limits::default().with_max_frame_bytes(40 + rng.below(2000)).unwrap();
        let mut run = Run::new(&[0, 1, -7, 42], limits);
        let mut stream = Vec::new();
        for _ in 0..1 + rng.below(6) {
            let mut text = match rng.one_in(2) {
                true => message(&mut rng).into_bytes(),
                false => random_line(&mut rng).into_bytes(),
            };
            for _ in 0..rng.below(4) {
                text.insert(rng.below(text.len() + 1), b'\n');
            }
            if rng.one_in(3) {
                mutate(&mut rng, &mut text);
            }
            stream.extend_from_slice(&text);
            stream.push(b'\n');
        }
        let mut rest = &*stream;
        while !rest.is_empty() {
            let lines = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
            let (line, more) = rest.split_at(lines);
            run.lines(line);
            if rng.one_in(6) {
                run.wait(Duration::from_millis(300));
            }
            rest = more;
        }
        run.finish();
        assert_eq!(run.joiner.poll_timeout(), None);
        joined += run.log.iter().filter(|it| it.starts_with("joined")).count();
    }
    assert!(50 < joined, "{joined}");
}
