//! Whole replays without a process: a script, and a server made of lines.

use hardline_wire::json::Checker;
use hardline_wire::line::Line;
use serde_json::json;

use super::*;
use crate::recording::Recorded;
use script::{Script, Writer};

const SECOND: Duration = Duration::from_secs(1);
const INIT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#;
const READY: &str = r#"{"jsonrpc":"2.0","id":0,"result":{}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// Builds a script from lines: `>` is the client's, `<` the server's.
fn script_with(lines: &[&str], verdict: &str, is_strict: bool) -> Script {
    let limits = Limits::default();
    let mut writer = Writer::new(&limits, is_strict);
    for line in lines {
        let (side, raw) = line.split_at(1);
        let direction = if side == ">" { "client-to-server" } else { "server-to-client" };
        let line = json!({"direction": direction, "raw": raw, "verdict": verdict}).to_string();
        let mut checker = Checker::new(&limits);
        writer.take(&Recorded::read(&mut checker, line.as_bytes()).unwrap()).unwrap();
    }
    writer.finish()
}

fn script(lines: &[&str]) -> Script {
    script_with(lines, "passed", false)
}

/// Replays a script against a server that sends `answers[i]` after it has received line `i`.
fn play(script: &Script, settings: &Settings, answers: &[&[&str]]) -> (Vec<String>, Report) {
    let mut player = Player::new(script, settings, &Limits::default());
    let mut said = Vec::new();
    let mut now = Duration::ZERO;
    while !player.is_done() {
        player.handle_timeout(now);
        match player.poll_send(now) {
            Some(line) => {
                said.push(String::from_utf8(line.into_owned()).unwrap());
                for answer in answers.get(said.len() - 1).into_iter().copied().flatten() {
                    player.handle_line(&Line::of_text(answer.as_bytes()), now);
                }
            }
            None => now = player.poll_timeout().unwrap_or(now),
        }
        assert!(now < 1000 * SECOND);
    }
    (said, player.finish(None))
}

/// Returns the differences as `kind method path`.
fn kinds(report: &Report) -> Vec<String> {
    let differences = report.differences.iter().map(|it| {
        let method = it.about.method.as_deref().unwrap_or("-");
        let path = it.change.as_ref().map_or(String::new(), |it| format!(" {}", it.path));
        format!("{} {method}{path}", it.kind.name())
    });
    differences.collect()
}

#[track_caller]
fn check(recorded: &[&str], answers: &[&[&str]], expected: &[&str]) -> Report {
    let script = script(recorded);
    let (_, report) = play(&script, &Settings::default(), answers);
    assert_eq!(kinds(&report), expected, "{report:#?}");
    report
}

fn client(line: &str) -> String {
    format!(">{line}")
}

fn server(line: &str) -> String {
    format!("<{line}")
}

#[test]
fn a_line_waits_for_the_answers_before_it() {
    let recorded = [client(INIT), server(READY), client(LIST)];
    let recorded: Vec<&str> = recorded.iter().map(String::as_str).collect();
    let script = script(&recorded);
    let settings = Settings::default();
    let mut player = Player::new(&script, &settings, &Limits::default());
    assert_eq!(player.poll_send(Duration::ZERO).as_deref(), Some(INIT.as_bytes()));
    assert_eq!(player.poll_send(Duration::ZERO), None);
    player.handle_timeout(29 * SECOND);
    assert_eq!(player.poll_send(29 * SECOND), None);
    player.handle_line(&Line::of_text(READY.as_bytes()), 29 * SECOND);
    assert_eq!(player.poll_send(29 * SECOND).as_deref(), Some(LIST.as_bytes()));
    assert_eq!(player.poll_send(29 * SECOND), None);
    assert!(player.is_done());
    let report = player.finish(None);
    assert_eq!((report.requests, report.same, report.unanswered), (2, 1, 1));
}

#[test]
fn what_does_not_come_is_waited_for_once() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let recorded = [client(INIT), server(READY), client(LIST), server(answer)];
    let recorded: Vec<&str> = recorded.iter().map(String::as_str).collect();
    let report = check(&recorded, &[&[], &[answer]], &["no-answer initialize"]);
    assert_eq!((report.same, report.differing), (1, 1));
}

#[test]
fn answers_come_in_any_order_but_not_twice() {
    let (one, two) = (
        r#"{"jsonrpc":"2.0","id":"a","result":{"x":1}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
    );
    let asked = [
        r#">{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}"#,
        r#">{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    ];
    let (first, second) = (server(one), server(two));
    let recorded = [asked[0], asked[1], &first, &second];
    check(&recorded, &[&[], &[two, one]], &[]);
    check(&recorded, &[&[], &[two, one, one]], &["extra-answer tools/call"]);
    let stray = r#"{"jsonrpc":"2.0","id":"2","result":{}}"#;
    check(&recorded, &[&[], &[two, one, stray]], &["extra-answer -"]);
    let changed = r#"{"jsonrpc":"2.0","id":"a","result":{"x":2}}"#;
    let report = check(&recorded, &[&[], &[two, changed]], &["changed tools/call $.result.x"]);
    let about = &report.differences[0].about;
    assert_eq!((about.id.as_deref(), about.target.as_deref()), (Some("\"a\""), Some("t")));
}

#[test]
fn an_id_may_be_used_again() {
    let (one, two) = (
        r#"{"jsonrpc":"2.0","id":1,"result":{"n":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"n":2}}"#,
    );
    let (ask, first, second) = (client(LIST), server(one), server(two));
    let recorded: [&str; 4] = [&ask, &first, &ask, &second];
    let report = check(&recorded, &[&[one], &[two]], &[]);
    assert_eq!((report.requests, report.same), (2, 2));
    check(&recorded, &[&[one], &[one]], &["changed tools/list $.result.n"]);
}

#[test]
fn a_cancelled_request_may_be_answered_or_not() {
    let cancel =
        r#">{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let (ask, late) = (client(LIST), server(answer));
    check(&[&ask, cancel], &[&[], &[]], &[]);
    check(&[&ask, cancel], &[&[], &[answer]], &[]);
    check(&[&ask, cancel, &late], &[&[], &[]], &[]);
    check(&[&ask, cancel, &late], &[&[], &[answer]], &[]);
}

const SAMPLE: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"a":1}}"#;

#[test]
fn requests_of_the_server_are_answered_as_they_were() {
    let done = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let (ask, sample, end) = (client(LIST), server(SAMPLE), server(done));
    let recorded: [&str; 4] =
        [&ask, &sample, r#">{"id":7, "jsonrpc":"2.0","result":{"text":"hi"}}"#, &end];
    let script = script(&recorded);
    let now = SAMPLE.replace(":7,", ":\"now\",");
    let (said, report) = play(&script, &Settings::default(), &[&[&now], &[done]]);
    assert_eq!(said[1], r#"{"id":"now", "jsonrpc":"2.0","result":{"text":"hi"}}"#);
    assert!(report.is_same(), "{report:#?}");
    let other = SAMPLE.replace("\"a\":1", "\"a\":2");
    check(&recorded, &[&[&other], &[done]], &["changed sampling/createMessage $.params.a"]);
    check(&recorded, &[&[done]], &["no-request sampling/createMessage"]);
    let expected = ["extra-request sampling/createMessage"];
    check(&recorded, &[&[SAMPLE, SAMPLE], &[done]], &expected);
}

#[test]
fn an_unknown_request_is_refused_and_a_ping_is_always_answered() {
    let done = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let (ask, end) = (client(LIST), server(done));
    let script = script(&[&ask, &end]);
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let (said, report) = play(&script, &Settings::default(), &[&[ping, SAMPLE, done]]);
    assert_eq!(said[1], r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    assert!(said[2].contains("-32601") && said[2].contains("\"id\":7"), "{}", said[2]);
    assert!(!said[2].contains('\n'));
    assert_eq!(kinds(&report), ["extra-request sampling/createMessage"]);
}

#[test]
fn what_the_guard_answered_is_not_said_and_what_it_refused_is_refused() {
    let recorded = [client(LIST), server(SAMPLE)];
    let recorded: Vec<&str> = recorded.iter().map(String::as_str).collect();
    let script = script_with(&recorded, "answered", false);
    assert_eq!((script.lost.kept_back, script.requests.len()), (1, 0));
    let settings = Settings::default();
    let mut player = Player::new(&script, &settings, &Limits::default());
    player.handle_line(&Line::of_text(SAMPLE.as_bytes()), Duration::ZERO);
    let reply = player.poll_send(Duration::ZERO).unwrap();
    assert!(String::from_utf8_lossy(&reply).contains("-32603"));
}

#[test]
fn notifications_are_compared_by_what_they_say() {
    let note = |n: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{n}"}}}}"#
        )
    };
    let (one, two, three) = (note(1), note(2), note(3));
    let (first, second, ask) = (server(&one), server(&two), client(LIST));
    let recorded: [&str; 3] = [&ask, &first, &second];
    let updated = "notifications/resources/updated";
    check(&recorded, &[&[&two, &one]], &[]);
    check(&recorded, &[&[&two, &three]], &[&format!("changed {updated} $.params.uri")]);
    check(&recorded, &[&[&two]], &[&format!("no-notification {updated}")]);
    check(&recorded, &[&[&one, &two, &two]], &[&format!("extra-notification {updated}")]);
}

#[test]
fn progress_counts_if_it_is_wanted() {
    let step = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#;
    let other = step.replace(":1}", ":2}");
    let (ask, first) = (client(LIST), server(step));
    check(&[&ask, &first], &[&[&other]], &[]);
    let script = script_with(&[&ask, &first], "passed", true);
    let settings = Settings { is_strict: true, ..Settings::default() };
    let (_, report) = play(&script, &settings, &[&[&other]]);
    assert_eq!(kinds(&report), ["changed notifications/progress $.params.progress"]);
}

#[test]
fn batches_are_taken_apart_to_be_compared() {
    let ask = r#">[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]"#;
    let both = r#"[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]"#;
    let single = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let end = server(both);
    let report = check(&[ask, &end], &[&[both]], &[]);
    assert_eq!((report.requests, report.same), (2, 2));
    check(&[ask, &end], &[&[single]], &["no-answer b"]);
}

#[test]
fn what_a_relay_asked_for_itself_is_not_expected() {
    let own = r#"<{"jsonrpc":"2.0","id":"hardline:1","result":{}}"#;
    check(&[own], &[], &[]);
    let (ask, answer) = (client(INIT), server(READY));
    check(&[&ask, &answer, &answer], &[&[READY]], &[]);
    check(&[&ask, &answer, &answer], &[&[]], &["no-answer initialize"]);
}

#[test]
fn noise_is_told_and_makes_no_difference() {
    let ask = client(LIST);
    let report = check(&[&ask], &[&["starting up \u{1b}[2J", ""]], &[]);
    assert!(report.notes[0].contains("starting up \\u{1b}"), "{:?}", report.notes);
}

#[test]
fn no_more_differences_are_kept_than_anybody_reads() {
    let many = |from: usize| {
        let values: Vec<_> = (from..from + 500).collect();
        json!({"jsonrpc": "2.0", "id": 1, "result": {"values": values}}).to_string()
    };
    let (ask, end) = (client(LIST), server(&many(0)));
    let script = script(&[&ask, &end]);
    let (_, report) = play(&script, &Settings::default(), &[&[&many(1000)]]);
    assert_eq!((report.differences.len(), report.more, report.differing), (100, 1, 1));
}

#[test]
fn slow_answers_are_waited_for_as_long_as_they_took() {
    let limits = Limits::default();
    let mut writer = Writer::new(&limits, false);
    for (time, direction, raw) in [
        ("2026-11-15T22:00:00Z", "client-to-server", LIST),
        ("2026-11-15T22:01:00Z", "server-to-client", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
    ] {
        let line = json!({"time": time, "direction": direction, "raw": raw}).to_string();
        let mut checker = Checker::new(&limits);
        writer.take(&Recorded::read(&mut checker, line.as_bytes()).unwrap()).unwrap();
    }
    let script = writer.finish();
    for (timeout, expected) in [(None, 120), (Some(5 * SECOND), 5)] {
        let settings = Settings { timeout, ..Settings::default() };
        let mut player = Player::new(&script, &settings, &limits);
        player.poll_send(Duration::ZERO).unwrap();
        assert_eq!(player.poll_timeout(), Some(expected * SECOND));
    }
}
