//! Floods, and the messages that are kept and dropped.

use std::time::Duration;

use hardline_guard::session::{FloodLimit, SessionVerdict};
use hardline_guard::{Action, Rule};

use super::Run;

#[test]
fn a_burst_never_costs_an_answer() {
    let mut run = Run::new(FloodLimit::new(4, 2), Rule::balanced);
    run.open("2025-11-25", r#"{"roots":{}}"#, r#"{"tools":{"listChanged":true},"logging":{}}"#);
    let progress = |token, done| {
        format!(
            r#"< {{"method":"notifications/progress","params":{{"progressToken":{token},"progress":{done}}}}}"#
        )
    };
    let call = r#"> {"id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}"#;
    run.check(&[(call, "pass")]);
    for done in 0..4 {
        run.check(&[(&progress("\"t\"", done), "pass")]);
    }
    run.check(&[
        (&progress("\"t\"", 5), "session.burst keep progress \"t\""),
        (&progress("\"t\"", 6), "keep progress \"t\""),
        (&progress("7", 1), "keep progress 7"),
        (
            r#"< {"method":"notifications/tools/list_changed"}"#,
            "keep notifications/tools/list_changed",
        ),
        (r#"< {"method":"notifications/message"}"#, "drop"),
        (r#"< {"method":"acme/tell"}"#, "drop"),
        (r#"< {"error":{"code":-32700,"message":""}}"#, "drop"),
        (r#"< {"id":1,"method":"roots/list"}"#, "answer 1 -32603"),
        (r#"< {"method":"notifications/cancelled","params":{"requestId":1}}"#, "drop"),
        (r#"< {"id":1,"result":{}}"#, "after progress \"t\" pass"),
        (r#"> {"method":"notifications/roots/list_changed"}"#, "session.capability(low) pass"),
    ]);
    assert_eq!(run.session.dropped(), 5);
    assert_eq!(run.session.poll_timeout(), Some(Duration::from_millis(500)));
    assert_eq!(run.wait(Duration::from_millis(500)), ["release progress 7"]);
    // A newer message passes in place of the stored one.
    run.now = Duration::from_secs(1);
    let list_changed = "instead of notifications/tools/list_changed pass";
    run.check(&[(r#"< {"method":"notifications/tools/list_changed"}"#, list_changed)]);
    assert_eq!(run.session.poll_timeout(), None);
}

#[test]
fn a_flood_is_bounded_and_reported_now_and_then() {
    let mut run = Run::new(FloodLimit::BALANCED, Rule::balanced);
    run.open("2025-11-25", "{}", r#"{"logging":{}}"#);
    let (mut passed, mut kept, mut dropped, mut findings) = (0, 0, 0, 0);
    for index in 0..5000 {
        run.now += Duration::from_millis(1);
        let line = match index % 2 {
            0 => r#"< {"method":"notifications/message"}"#.to_owned(),
            _ => format!(
                r#"< {{"method":"notifications/progress","params":{{"progressToken":{index}}}}}"#
            ),
        };
        let outcome = run.outcome(&line);
        findings += outcome.findings.len();
        match outcome.verdict {
            SessionVerdict::Pass => passed += 1,
            SessionVerdict::Coalesce(_) => kept += 1,
            SessionVerdict::Drop => dropped += 1,
            other => panic!("{other:?}"),
        }
    }
    // 256 at once and 128 in each of nearly five seconds; eight tokens are stored, because as many
    // requests may be in flight.
    assert_eq!((passed, kept, dropped), (895, 8, 4097));
    assert_eq!(findings, 5);
    assert_eq!(run.session.dropped(), 4097);

    let mut run = Run::new(FloodLimit::OBSERVE, |_| Action::Log);
    run.open("2025-11-25", "{}", r#"{"logging":{}}"#);
    let all_pass = (0..1000).all(|_| {
        run.outcome(r#"< {"method":"notifications/message"}"#).verdict == SessionVerdict::Pass
    });
    assert!(all_pass);
}

#[test]
fn a_burst_of_cancellations_and_acknowledgements_is_bounded() {
    let cancelled = r#"< {"method":"notifications/cancelled","params":{"requestId":5}}"#;
    let cancelled_nothing = r#"< {"method":"notifications/cancelled"}"#;
    let acknowledged = r#"< {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":6}}}"#;
    let mut run = Run::new(FloodLimit::new(2, 1), Rule::balanced);
    run.open("2025-11-25", r#"{"roots":{}}"#, "{}");
    run.check(&[
        (r#"< {"id":5,"method":"roots/list"}"#, "pass"),
        (r#"> {"id":6,"method":"subscriptions/listen"}"#, "pass"),
        (cancelled_nothing, "pass"),
        (cancelled_nothing, "session.burst drop"),
        // Nothing is left, and still the client learns that a request is cancelled, once.
        (cancelled, "pass"),
        (cancelled, "drop"),
        (acknowledged, "pass"),
        (acknowledged, "drop"),
        (cancelled_nothing, "drop"),
        (r#"< {"method":"notifications/subscriptions/acknowledged"}"#, "drop"),
        // A cancellation by the client always passes.
        (r#"> {"method":"notifications/cancelled","params":{"requestId":5}}"#, "pass"),
        (r#"< {"id":6,"result":{}}"#, "pass"),
    ]);
}

#[test]
fn as_many_kinds_are_kept_as_requests_may_be_in_flight() {
    let mut run = Run::new(FloodLimit::new(1, 1), Rule::balanced);
    run.open("2025-11-25", "{}", r#"{"logging":{}}"#);
    let progress = |token| {
        format!(r#"< {{"method":"notifications/progress","params":{{"progressToken":{token}}}}}"#)
    };
    run.check(&[
        (r#"< {"method":"notifications/message"}"#, "pass"),
        (r#"< {"method":"notifications/message"}"#, "session.burst drop"),
    ]);
    for token in 0..8 {
        run.check(&[(&progress(token), &format!("keep progress {token}"))]);
    }
    run.check(&[(&progress(8), "drop"), (&progress(7), "keep progress 7")]);
    run.check(&[(
        r#"< {"method":"notifications/tools/list_changed"}"#,
        "session.capability(low) drop",
    )]);
    assert_eq!(run.wait(Duration::from_secs(1)), ["release progress 0"]);
    run.check(&[(&progress(8), "session.burst keep progress 8")]);
}

#[test]
fn invalid_frames_have_a_budget_of_their_own() {
    let mut run = Run::balanced();
    let reported = (0..1000).filter(|_| run.session.handle_invalid(Duration::ZERO)).count();
    assert_eq!(reported, 256);
    run.check(&[(r#"< {"method":"notifications/message"}"#, "pass")]);
}

#[test]
fn each_subscription_is_told_of_its_own_changes() {
    let mut run = Run::new(FloodLimit::new(1, 1), Rule::balanced);
    run.open("2025-11-25", "{}", r#"{"tools":{"listChanged":true}}"#);
    let changed = |id| {
        format!(
            r#"< {{"method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
    };
    run.check(&[
        (&changed(1), "pass"),
        (&changed(1), "session.burst keep notifications/tools/list_changed 1"),
        (&changed(2), "keep notifications/tools/list_changed 2"),
        (&changed(1), "keep notifications/tools/list_changed 1"),
    ]);
}
