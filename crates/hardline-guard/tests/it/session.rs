//! Session rules: messages of both directions in, the outcome of each out.

#![expect(clippy::panic, reason = "a test may panic")]

mod burst;
mod permission;
mod random;

use std::time::Duration;

use hardline_guard::join::Pending;
use hardline_guard::session::{
    CoalesceKey, FloodLimit, MAX_MISTYPED_WAIT, Session, SessionDecision, SessionEvent,
    SessionVerdict,
};
use hardline_guard::{Action, Direction, Rule, Severity};
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::version::Version;

use Direction::{ClientToServer, ServerToClient};

/// A session and the time.
struct Run {
    session: Session,
    decoder: Decoder,
    now: Duration,
    decide: fn(Rule) -> Action,
}

impl Run {
    fn new(burst: FloodLimit, decide: fn(Rule) -> Action) -> Self {
        let limits = Limits::default().with_max_in_flight(8).unwrap();
        let session = Session::new(&limits, burst);
        Self { session, decoder: Decoder::new(&limits), now: Duration::ZERO, decide }
    }

    fn balanced() -> Self {
        Self::new(FloodLimit::BALANCED, Rule::balanced)
    }

    /// Creates a session with the negotiated `version` and the capabilities of the client and the
    /// server.
    fn opened(version: &str, client: &str, server: &str) -> Self {
        let mut run = Self::balanced();
        run.open(version, client, server);
        run
    }

    fn open(&mut self, version: &str, client: &str, server: &str) {
        for line in [
            format!(
                r#"> {{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{client}}}}}"#
            ),
            format!(
                r#"< {{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{version}","capabilities":{server}}}}}"#
            ),
            r#"> {"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        ] {
            assert_eq!(self.step(&line), "pass");
        }
    }

    /// Passes a message: `>` goes to the server, `<` to the client; the rest may omit
    /// `"jsonrpc":"2.0"`.
    fn outcome(&mut self, line: &str) -> SessionDecision {
        let (arrow, text) = line.split_once(' ').unwrap();
        let direction = if arrow == ">" { ClientToServer } else { ServerToClient };
        let text = match text.strip_prefix('{') {
            Some(rest) if !text.contains("jsonrpc") => format!(r#"{{"jsonrpc":"2.0",{rest}"#),
            _ => text.to_owned(),
        };
        let Ok(Frame::Message(message, _)) = self.decoder.decode(text.as_bytes()) else {
            panic!("{text}")
        };
        self.session.handle(direction, &message, self.now, &self.decide)
    }

    fn step(&mut self, line: &str) -> String {
        show(&self.outcome(line))
    }

    /// Passes lines, each with its expected outcome.
    #[track_caller]
    fn check(&mut self, lines: &[(&str, &str)]) {
        for (line, expected) in lines {
            assert_eq!(self.step(line), *expected, "{line}");
        }
    }

    fn wait(&mut self, time: Duration) -> Vec<String> {
        self.now += time;
        let events = self.session.handle_timeout(self.now);
        let show = |event: &SessionEvent| match event {
            SessionEvent::Release(key) => format!("release {}", show_key(key)),
            SessionEvent::Failed { request, reply, before } => {
                let before = before.as_ref().map(|key| format!(" after {}", show_key(key)));
                let to = if *request == ClientToServer { "client" } else { "server" };
                format!("fail {} of the {to}{}", reply.id, before.unwrap_or_default())
            }
            other => panic!("{other:?}"),
        };
        events.iter().map(show).collect()
    }
}

fn show(outcome: &SessionDecision) -> String {
    let mut shown: Vec<_> = outcome
        .findings
        .iter()
        .map(|it| match it.severity == it.rule.severity() {
            true => it.rule.to_string(),
            false => format!("{}({})", it.rule, it.severity),
        })
        .collect();
    shown.extend(outcome.before.as_ref().map(|key| format!("after {}", show_key(key))));
    shown.extend(outcome.forget.as_ref().map(|key| format!("instead of {}", show_key(key))));
    shown.push(match &outcome.verdict {
        SessionVerdict::Pass => "pass".into(),
        SessionVerdict::Drop => "drop".into(),
        SessionVerdict::Coalesce(key) => format!("keep {}", show_key(key)),
        SessionVerdict::Answer(reply) => format!("answer {} {}", reply.id, reply.code),
        SessionVerdict::Fail(reply) => format!("fail {}", reply.id),
    });
    shown.join(" ")
}

fn show_key(key: &CoalesceKey) -> String {
    match key {
        CoalesceKey::Progress(token) => format!("progress {token}"),
        CoalesceKey::ListChanged { method, subscription } => {
            format!(
                "{method}{}",
                subscription.as_ref().map_or(String::new(), |it| format!(" {it}"))
            )
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn learns_version_and_pending_requests() {
    for version in &Version::ALL[..4] {
        let mut run = Run::opened(version.as_str(), "{}", r#"{"tools":{}}"#);
        assert_eq!(run.session.version(), Some(*version));
        assert_eq!(run.session.has_batches(), *version == Version::V2025_03_26);
        run.check(&[(r#"> {"id":1,"method":"tools/list"}"#, "pass")]);
        assert!(run.session.is_pending(&Id::from_integer(1)));
        run.check(&[(r#"< {"id":1,"result":{}}"#, "pass")]);
        assert!(!run.session.is_pending(&Id::from_integer(1)));
    }
}

#[test]
fn answers_are_matched_by_id_and_type() {
    let mut run = Run::opened("2025-11-25", "{}", r#"{"tools":{}}"#);
    run.check(&[
        (r#"< {"id":9,"result":{}}"#, "session.unsolicited-response drop"),
        (r#"> {"id":1,"method":"tools/list"}"#, "pass"),
        (r#"> {"id":1,"method":"tools/list"}"#, "session.duplicate-id answer 1 -32600"),
        (r#"> {"id":"a","method":"tools/list"}"#, "pass"),
        (r#"< {"id":1,"error":{"code":1,"message":""}}"#, "pass"),
        (r#"< {"id":1,"result":{}}"#, "session.duplicate-response drop"),
        (r#"< {"id":"\u0061","result":{}}"#, "pass"),
        // An id may be used again.
        (r#"> {"id":1,"method":"tools/list"}"#, "pass"),
        (r#"< {"id":1,"result":{}}"#, "pass"),
        // Each side has ids of its own.
        (r#"> {"id":5,"result":{}}"#, "session.unsolicited-response drop"),
        (r#"< {"error":{"code":-32700,"message":""}}"#, "pass"),
    ]);
}

#[test]
fn a_mistyped_answer_fails_its_request_if_no_proper_one_follows() {
    let mut run = Run::opened("2025-11-25", "{}", r#"{"tools":{}}"#);
    run.check(&[
        (r#"> {"id":7,"method":"tools/list"}"#, "pass"),
        (r#"> {"id":"8","method":"tools/list","params":{"_meta":{"progressToken":1}}}"#, "pass"),
        (r#"< {"id":"7","result":{}}"#, "session.id-type drop"),
        (r#"< {"id":8,"result":{}}"#, "session.id-type drop"),
    ]);
    assert_eq!(run.session.poll_timeout(), Some(MAX_MISTYPED_WAIT));
    run.now = Duration::from_secs(1);
    run.check(&[
        (r#"< {"id":7,"result":{}}"#, "pass"),
        // A second one gives no more time.
        (r#"< {"id":8,"result":{}}"#, "session.id-type drop"),
    ]);
    assert!(run.wait(Duration::from_millis(999)).is_empty());
    assert_eq!(run.wait(Duration::from_millis(1)), [r#"fail "8" of the client"#]);
    assert_eq!(run.session.poll_timeout(), None);
    run.check(&[(r#"< {"id":"8","result":{}}"#, "session.duplicate-response drop")]);

    let mut run = Run::new(FloodLimit::OBSERVE, |_| Action::Log);
    run.open("2025-11-25", "{}", r#"{"tools":{}}"#);
    run.check(&[
        (r#"> {"id":7,"method":"tools/list"}"#, "pass"),
        (r#"< {"id":"7","result":{}}"#, "session.id-type pass"),
        (r#"> {"id":7,"method":"tools/list"}"#, "pass"),
    ]);
    assert_eq!(run.session.poll_timeout(), None);
}

#[test]
fn a_cancelled_request_is_owed_no_answer() {
    let mut run = Run::opened("2025-11-25", r#"{"roots":{}}"#, r#"{"tools":{}}"#);
    run.check(&[
        (r#"> {"id":1,"method":"tools/list"}"#, "pass"),
        (r#"> {"method":"notifications/cancelled","params":{"requestId":1}}"#, "pass"),
        (r#"< {"id":1,"result":{}}"#, "drop"),
        (r#"< {"id":2,"method":"roots/list"}"#, "pass"),
        (r#"> {"method":"notifications/cancelled","params":{"requestId":2}}"#, "pass"),
        (r#"> {"id":2,"result":{}}"#, "pass"),
        (r#"< {"id":3,"method":"roots/list"}"#, "pass"),
        (r#"< {"method":"notifications/cancelled","params":{"requestId":3}}"#, "pass"),
        (r#"> {"id":3,"result":{}}"#, "drop"),
        (r#"> {"method":"notifications/cancelled"}"#, "pass"),
    ]);
    let mut run = Run::balanced();
    run.check(&[
        (r#"> {"id":1,"method":"initialize","params":{}}"#, "pass"),
        (r#"> {"method":"notifications/cancelled","params":{"requestId":1}}"#, "pass"),
        (r#"< {"id":1,"result":{"protocolVersion":"2025-06-18"}}"#, "pass"),
    ]);
    assert_eq!(run.session.version(), Some(Version::V2025_06_18));
}

#[test]
fn tables_are_bounded() {
    let mut run = Run::opened("2025-11-25", r#"{"roots":{}}"#, r#"{"tools":{}}"#);
    for id in 0..8 {
        run.check(&[(&format!(r#"> {{"id":{id},"method":"tools/list"}}"#), "pass")]);
        run.check(&[(&format!(r#"< {{"id":{id},"method":"roots/list"}}"#), "pass")]);
    }
    run.check(&[
        (r#"> {"id":8,"method":"tools/list"}"#, "session.burst answer 8 -32603"),
        (r#"< {"id":8,"method":"roots/list"}"#, "session.burst answer 8 -32603"),
        (r#"< {"id":0,"result":{}}"#, "pass"),
        (r#"> {"id":8,"method":"tools/list"}"#, "pass"),
    ]);
    assert_eq!(run.session.settle(ClientToServer, &Id::from_integer(8)), Some(None));
    assert_eq!(run.session.settle(ClientToServer, &Id::from_integer(8)), None);
    run.check(&[(r#"< {"id":8,"result":{}}"#, "session.duplicate-response drop")]);
}

#[test]
fn what_ended_long_ago_is_forgotten() {
    let mut run = Run::opened("2025-11-25", "{}", r#"{"tools":{}}"#);
    let answer = |id| format!(r#"< {{"id":{id},"result":{{}}}}"#);
    for id in 1..=8 {
        run.check(&[(&format!(r#"> {{"id":{id},"method":"tools/list"}}"#), "pass")]);
        run.check(&[(&answer(id), "pass")]);
    }
    run.check(&[
        (&answer(0), "session.unsolicited-response drop"),
        (&answer(1), "session.duplicate-response drop"),
        (&answer(8), "session.duplicate-response drop"),
    ]);
}

#[test]
fn an_observer_blocks_nothing_and_allowed_rules_are_not_found() {
    let mut run = Run::new(FloodLimit::OBSERVE, |_| Action::Log);
    run.check(&[
        (r#"< {"id":1,"method":"tools/call"}"#, "session.wrong-direction session.lifecycle pass"),
        (r#"< {"id":1,"method":"ping"}"#, "session.duplicate-id pass"),
        (r#"< {"id":9,"result":{}}"#, "session.unsolicited-response pass"),
    ]);
    for _ in 0..20 {
        run.check(&[(r#"< {"id":1,"method":"ping"}"#, "session.duplicate-id pass")]);
    }
    let mut run = Run::new(FloodLimit::OBSERVE, |_| Action::Allow);
    run.check(&[(r#"< {"id":1,"method":"tools/call"}"#, "pass")]);
    assert_eq!(Rule::SessionBurst.severity(), Severity::Medium);
}

#[test]
fn a_reply_says_why() {
    let mut run = Run::balanced();
    let outcome = run.outcome(r#"< {"id":"a","method":"tools/call"}"#);
    let SessionVerdict::Answer(reply) = outcome.verdict else { panic!() };
    assert_eq!(
        reply.to_line(),
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32603,\"message\":\"a method that this side may not send\",\"data\":{\"hardline\":{\"rule\":\"session.wrong-direction\",\"reason\":\"a method that this side may not send\"}}}}\n"
    );
}

#[test]
fn an_answer_says_what_was_asked() {
    let mut run = Run::opened("2025-11-25", r#"{"roots":{}}"#, r#"{"tools":{}}"#);
    let long = "n".repeat(300);
    let calls = [
        (
            r#"{"method":"tools/call","params":{"name":"read","_meta":{}}"#,
            Some("tools/call"),
            Some("read"),
        ),
        (
            &format!(r#"{{"method":"tools/call","params":{{"name":"{long}"}}"#),
            Some("tools/call"),
            None,
        ),
        (r#"{"method":"tools/call","params":{"name":7}"#, Some("tools/call"), None),
        (r#"{"method":"tools/list","params":{"name":"read"}"#, Some("tools/list"), None),
        (r#"{"method":"acme/ask""#, None, None),
    ];
    for (call, method, tool) in calls {
        let request = run.outcome(&format!(r#"> {call},"id":1}}"#));
        assert_eq!((request.verdict, request.asked), (SessionVerdict::Pass, None));
        let answer = run.outcome(r#"< {"id":1,"result":{}}"#);
        let asked = answer.asked.unwrap();
        assert_eq!((asked.method, asked.tool.as_deref()), (method, tool), "{call}");
    }
    assert_eq!(run.outcome(r#"< {"id":1,"result":{}}"#).asked, None);
}

#[test]
fn a_side_that_is_gone_answers_nothing() {
    let mut run = Run::opened("2025-11-25", "{}", r#"{"tools":{}}"#);
    run.check(&[
        (r#"> {"id":1,"method":"tools/list"}"#, "pass"),
        (r#"> {"id":2,"method":"tools/list"}"#, "pass"),
        (r#"< {"id":1,"result":{}}"#, "pass"),
        (r#"> {"id":"3","method":"tools/list"}"#, "pass"),
    ]);
    let mut ids: Vec<_> =
        run.session.settle_all(ClientToServer).iter().map(|it| it.id.to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["\"3\"", "2"]);
    assert_eq!(run.session.settle_all(ClientToServer), []);
    run.check(&[(r#"< {"id":2,"result":{}}"#, "session.duplicate-response drop")]);
}
