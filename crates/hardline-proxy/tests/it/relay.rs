//! Tests of a relay with lines and ends of servers.

use std::time::Duration;

use hardline_guard::Direction;
use hardline_guard::policy::{Policy, Profile};
use hardline_proxy::Notice;
use hardline_proxy::relay::{
    After, DriverAction, Ended, Outgoing, Relay, RelaySettings, Restart, Sink,
};
use hardline_wire::limits::Limits;
use hardline_wire::line::{Line, LineFramer};
use serde_json::Value;

pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Records the frames and notices of a relay.
#[derive(Default)]
pub(crate) struct Outputs {
    pub(crate) to_client: Vec<String>,
    pub(crate) to_server: Vec<String>,
    pub(crate) notices: Vec<String>,
}

impl Sink for Outputs {
    fn send(&mut self, outgoing: Outgoing<'_>) {
        let frame = String::from_utf8(outgoing.frame().to_vec()).unwrap();
        match outgoing.direction() {
            Direction::ServerToClient => self.to_client.push(frame),
            Direction::ClientToServer => self.to_server.push(frame),
        }
    }

    fn notify(&mut self, notice: &Notice<'_>) {
        self.notices.push(notice.to_string());
    }
}

pub(crate) struct Run {
    pub(crate) relay: Relay,
    pub(crate) out: Outputs,
    pub(crate) now: Duration,
}

impl Run {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut RelaySettings)) -> Self {
        let mut settings = RelaySettings::new("files", Policy::profile(Profile::Balanced));
        change(&mut settings);
        Self { relay: Relay::new(settings), out: Outputs::default(), now: Duration::ZERO }
    }

    /// Returns a relay whose session is open.
    pub(crate) fn open() -> Self {
        let mut run = Self::new();
        run.initialize();
        run
    }

    pub(crate) fn initialize(&mut self) {
        self.client(INITIALIZE);
        self.server(&agreed(
            r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}"#,
        ));
        self.client(INITIALIZED);
        assert_eq!(self.sent_to_server(), [INITIALIZE, INITIALIZED]);
        assert_eq!(self.sent_to_client().len(), 1);
    }

    pub(crate) fn client(&mut self, line: &str) {
        let mut framer = LineFramer::new(&Limits::default());
        let bytes = format!("{line}\n");
        let line = framer.next_line(&mut bytes.as_bytes()).unwrap();
        self.relay.handle_client(&line, self.now, &mut self.out);
    }

    pub(crate) fn server(&mut self, line: &str) {
        let mut framer = LineFramer::new(&Limits::default());
        let bytes = format!("{line}\n");
        let line = framer.next_line(&mut bytes.as_bytes()).unwrap();
        self.relay.handle_server(&line, self.now, &mut self.out);
        self.settle();
    }

    /// Lets the time pass for which messages are held back.
    fn settle(&mut self) {
        let soon = self.now + Duration::from_millis(20);
        while let Some(due) = self.relay.poll_timeout().filter(|due| *due <= soon) {
            self.now = self.now.max(due);
            self.relay.handle_timeout(self.now, true, &mut self.out);
        }
    }

    pub(crate) fn end(&mut self, how: &str) -> After {
        let ended = Ended::new(how, how == "exited with code 0");
        self.relay.handle_server_end(&ended, true, self.now, &mut self.out)
    }

    /// Ends the server, and restarts it when that is due.
    #[track_caller]
    pub(crate) fn restart(&mut self) {
        let After::Start(at) = self.end("exited with code 3") else { panic!("not restarted") };
        self.wait_until(at);
        self.relay.handle_server_start(self.now, &mut self.out);
    }

    pub(crate) fn wait_until(&mut self, end: Duration) {
        while let Some(due) = self.relay.poll_timeout().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.relay.handle_timeout(self.now, true, &mut self.out);
        }
        self.now = end;
    }

    pub(crate) fn sent_to_server(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out.to_server)
    }

    pub(crate) fn sent_to_client(&mut self) -> Vec<Value> {
        let lines = std::mem::take(&mut self.out.to_client);
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn agreed(capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
    )
}

pub(crate) fn call(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#)
}

pub(crate) fn answer(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

#[test]
fn lines_go_on_as_they_came() {
    let mut run = Run::open();
    run.client(&call(1));
    run.server(&answer(1));
    assert_eq!(run.sent_to_server(), [call(1)]);
    assert_eq!(run.out.to_client, [answer(1)]);
    assert!(run.relay.is_idle());
    assert_eq!(run.out.notices, [""; 0]);
}

#[test]
fn the_relay_is_idle_when_nobody_waits() {
    let mut run = Run::open();
    assert!(run.relay.is_idle());
    run.client(&call(1));
    assert!(!run.relay.is_idle());
    run.client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert!(run.relay.is_idle());
    run.client(&call(2));
    run.server(r#"{"jsonrpc":"2.0","id":2,"result":{"a":1,"a":2}}"#);
    assert!(run.relay.is_idle());
}

#[test]
fn a_request_that_takes_too_long_fails_and_is_cancelled() {
    let mut run = Run::with(|it| it.request_timeout = Some(Duration::from_secs(10)));
    run.initialize();
    run.client(&call(1));
    run.wait_until(Duration::from_secs(5));
    run.client(&call(2));
    run.server(&answer(2));
    run.sent_to_client();
    run.sent_to_server();
    run.wait_until(Duration::from_secs(9));
    assert_eq!(run.sent_to_client(), [Value::Null; 0]);
    run.wait_until(Duration::from_secs(20));
    let failed = run.sent_to_client();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["id"], 1);
    assert_eq!(failed[0]["error"]["data"]["hardline"]["rule"], "request.timeout");
    let cancelled: Value = serde_json::from_str(&run.sent_to_server()[0]).unwrap();
    assert_eq!(cancelled["params"]["requestId"], 1);
    // A late answer is dropped, and is no finding.
    run.server(&answer(1));
    assert_eq!(run.sent_to_client(), [Value::Null; 0]);
    assert_eq!(run.out.notices.len(), 1, "{:?}", run.out.notices);
    // The id may be used again, with its own deadline.
    run.client(&call(1));
    run.wait_until(Duration::from_secs(29));
    run.server(&answer(1));
    assert_eq!(run.sent_to_client().len(), 1);
}

#[test]
fn the_end_of_a_session_is_requested_once() {
    let policy = "[rules]\nsession.unsolicited-response = \"close\"\n";
    let mut run = Run::with(|it| it.policy = Policy::parse(policy).unwrap());
    run.initialize();
    run.client(&call(1));
    run.server(&answer(7));
    assert_eq!(run.relay.take_action(), Some(DriverAction::EndSession));
    assert_eq!(run.relay.take_action(), None);
    run.relay.fail_all("the session was closed", &mut run.out);
    let failed = run.sent_to_client();
    assert_eq!((failed.len(), &failed[0]["id"]), (1, &1.into()));
}

#[test]
fn a_server_that_ends_well_ends_the_session() {
    let mut run = Run::open();
    assert_eq!(run.end("exited with code 0"), After::End);
    let mut run = Run::open();
    run.client(&call(1));
    assert!(matches!(run.end("exited with code 0"), After::Start(_)));
    let mut run = Run::with(|it| it.restart = Restart::Always);
    run.initialize();
    assert!(matches!(run.end("exited with code 0"), After::Start(_)));
    let mut run = Run::with(|it| it.restart = Restart::Never);
    run.initialize();
    run.client(&call(1));
    assert_eq!(run.end("exited with code 3"), After::End);
    assert_eq!(run.sent_to_client()[0]["id"], 1);
}

#[test]
fn bytes_now_and_then_do_not_keep_a_line_open() {
    let whole = answer(1);
    for padding in [" ", "\r", "\t", "|", "}", "x"] {
        let mut run = Run::open();
        run.client(&call(1));
        run.sent_to_client();
        let mut line = whole.clone();
        let begin = run.now;
        let end = loop {
            run.relay.handle_server_bytes(line.as_bytes(), false, run.now);
            run.wait_until(run.now + Duration::from_secs(1));
            let action = run.relay.take_action();
            if action == Some(DriverAction::EndLine)
                && run.relay.try_end_line(line.as_bytes(), run.now)
            {
                break run.now - begin;
            }
            line.push_str(padding);
            assert!(run.now - begin < Duration::from_secs(60), "{padding:?}");
        };
        let most = if padding.trim().is_empty() { 3 } else { 21 };
        assert!(end <= Duration::from_secs(most), "{padding:?}: {end:?}");
    }
}

/// The line may turn out to be the rest of the answer, and content may have written the request.
#[test]
fn a_held_message_waits_for_the_end_of_a_line_that_has_begun() {
    let request = r#"{"jsonrpc":"2.0","id":"s","method":"ping"}"#;
    for (end, is_delivered) in [(r#" goes on"}]}}"#, false), (" goes on", true)] {
        let mut run = Run::open();
        run.client(&call(1));
        run.sent_to_client();
        run.server(&answer(1));
        // In one read with the start of the next line, so no time passes between them.
        let line = Line::of_text(request.as_bytes());
        run.relay.handle_server(&line, run.now, &mut run.out);
        let begin = "plain text of the page";
        run.relay.handle_server_bytes(begin.as_bytes(), false, run.now);
        run.wait_until(run.now + Duration::from_millis(500));
        assert_eq!(run.sent_to_client().len(), 1, "the answer alone");
        run.server(&format!("{begin}{end}"));
        run.wait_until(run.now + Duration::from_secs(1));
        let has_request = run.sent_to_client().iter().any(|it| it["id"] == "s");
        assert_eq!(has_request, is_delivered, "{end}");
    }
}

/// More text may show that it is part of a log line.
#[test]
fn a_request_without_its_newline_is_not_delivered() {
    let request = r#"{"jsonrpc":"2.0","id":"s","method":"roots/list"}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    for line in [request, notification, &format!("[{notification}]")] {
        let mut run = Run::open();
        run.client(&call(1));
        run.relay.handle_server_bytes(line.as_bytes(), false, run.now);
        for _ in 0..60 {
            run.wait_until(run.now + Duration::from_secs(1));
            let is_ended = run.relay.take_action() == Some(DriverAction::EndLine)
                && run.relay.try_end_line(line.as_bytes(), run.now);
            assert!(!is_ended, "{line}");
        }
    }
}

/// A log line that pauses for a long time is still one line.
#[test]
fn the_rest_of_a_line_that_was_ended_is_no_message() {
    let request = r#"{"jsonrpc":"2.0","id":"s","method":"roots/list"}"#;
    for rest in [answer(1), request.to_owned(), format!("\r{request}")] {
        let mut run = Run::open();
        run.client(&call(1));
        run.sent_to_client();
        run.relay.handle_server_bytes(b"Downloading ", false, run.now);
        run.wait_until(run.now + Duration::from_secs(20));
        assert_eq!(run.relay.take_action(), Some(DriverAction::EndLine));
        assert!(run.relay.try_end_line(b"Downloading ", run.now));
        run.server("Downloading ");
        run.server(&rest);
        run.wait_until(run.now + Duration::from_secs(3));
        let sent = run.sent_to_client();
        assert!(sent.iter().all(|it| it["result"].is_null() && it["method"].is_null()), "{sent:?}");
    }
}

#[test]
fn a_line_that_grows_steadily_stays_open() {
    let mut run = Run::open();
    run.client(&call(1));
    let mut line = String::from(r#"{"jsonrpc":"2.0","id":1,"result":{"text":""#);
    for _ in 0..60 {
        run.relay.handle_server_bytes(line.as_bytes(), false, run.now);
        run.wait_until(run.now + Duration::from_secs(5));
        assert_eq!(run.relay.take_action(), None);
        line.push_str(&"x".repeat(100));
    }
}

/// Content may have written the answer, and the rest of the line may show it.
#[test]
fn an_answer_without_its_newline_after_a_torn_line_is_not_delivered() {
    let mut run = Run::open();
    run.client(&call(1));
    run.client(&call(2));
    run.sent_to_client();
    run.server(r#"{"jsonrpc":"2.0","id":2,"result":{"a":"x"} y}"#);
    let line = answer(1);
    run.relay.handle_server_bytes(line.as_bytes(), false, run.now);
    run.wait_until(run.now + Duration::from_secs(3));
    assert_eq!(run.relay.take_action(), Some(DriverAction::EndLine));
    assert!(!run.relay.try_end_line(line.as_bytes(), run.now));
    run.wait_until(run.now + Duration::from_secs(3));
    let sent = run.sent_to_client();
    assert!(sent.iter().any(|it| it["id"] == 1 && it["error"].is_object()), "{sent:?}");
    assert!(sent.iter().all(|it| it["result"].is_null()), "{sent:?}");
}

#[test]
fn a_line_without_its_newline_ends_after_a_while() {
    let mut run = Run::open();
    run.client(&call(1));
    run.client(&call(2));
    run.sent_to_client();
    // A complete message without a line end is delivered after a short time.
    let whole = answer(1);
    run.relay.handle_server_bytes(whole.as_bytes(), false, run.now);
    run.wait_until(run.now + Duration::from_millis(1900));
    assert_eq!(run.relay.take_action(), None);
    run.wait_until(run.now + Duration::from_millis(200));
    assert_eq!(run.relay.take_action(), Some(DriverAction::EndLine));
    assert!(run.relay.try_end_line(whole.as_bytes(), run.now));
    // An incomplete message waits for a long time, because the server may continue it.
    let part = r#"{"jsonrpc":"2.0","id":2,"result":{"a":{}"#;
    run.relay.handle_server_bytes(part.as_bytes(), true, run.now);
    run.wait_until(run.now + Duration::from_secs(3));
    assert_eq!(run.relay.take_action(), Some(DriverAction::EndLine));
    assert!(!run.relay.try_end_line(part.as_bytes(), run.now));
    run.wait_until(run.now + Duration::from_secs(16));
    assert_eq!(run.relay.take_action(), None);
    run.wait_until(run.now + Duration::from_secs(2));
    assert_eq!(run.relay.take_action(), Some(DriverAction::EndLine));
    assert!(run.relay.try_end_line(part.as_bytes(), run.now));
    run.server(part);
    run.wait_until(run.now + Duration::from_secs(1));
    let failed = run.sent_to_client().pop().unwrap();
    assert_eq!((&failed["id"], failed["error"]["code"].as_i64()), (&2.into(), Some(-32603)));
    // Bytes that arrive in time continue the line.
    run.relay.handle_server_bytes(b"{", false, run.now);
    run.relay.handle_server_bytes(b"", true, run.now);
    run.wait_until(run.now + Duration::from_secs(100));
    assert_eq!(run.relay.take_action(), None);
}

#[test]
fn requests_that_cannot_be_sent_fail_at_once() {
    let mut run = Run::open();
    run.client(&call(1));
    run.now += Duration::from_secs(2);
    run.client(&call(2));
    run.sent_to_server();
    // All that was sent more than a second ago has been written.
    let written = run.now - Duration::from_secs(1);
    run.relay.handle_server_deafness(written, &mut run.out);
    let failed = run.sent_to_client();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!((&failed[0]["id"], &failed[0]["error"]["code"]), (&2.into(), &(-32603).into()));
    let why = &failed[0]["error"]["data"]["hardline"];
    assert_eq!(why["rule"], "server.deaf");
    assert!(why["reason"].as_str().unwrap().contains("closed its standard input"), "{why}");
    // The first request may still be answered. A later one waits for the next server.
    run.server(&answer(1));
    assert_eq!(run.sent_to_client()[0]["id"], 1);
    run.client(&call(3));
    assert_eq!((run.sent_to_client(), run.sent_to_server()), (vec![], vec![]));
    let After::Start(_) = run.end("exited with code 0") else { panic!("not restarted") };
}
