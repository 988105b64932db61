//! The joiner: lines and times in, whole frames, findings and failures out.

#![expect(clippy::panic, reason = "a test may panic")]

mod linear;
mod random;

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::Duration;

use hardline_guard::join::{
    JoinEvent, Joiner, MAX_HOLD, MAX_QUIET, MAX_SUSPICION, MAX_WAIT, Taken,
};
use hardline_guard::{Rule, Severity};
use hardline_wire::frame::{Decoder, Frame};
use hardline_wire::id::Id;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use hardline_wire::message::Message;

/// A joiner, the pending requests, and the log of events.
struct Run {
    limits: Limits,
    joiner: Joiner,
    pending: RefCell<HashSet<Id<'static>>>,
    now: Duration,
    log: Vec<String>,
}

impl Run {
    fn new(pending: &[i64], limits: Limits) -> Self {
        Self {
            joiner: Joiner::new(&limits),
            limits,
            pending: RefCell::new(pending.iter().copied().map(Id::from_integer).collect()),
            now: Duration::ZERO,
            log: Vec::new(),
        }
    }

    /// Passes the lines of `stream` to the joiner.
    fn lines(&mut self, stream: &[u8]) {
        let mut framer = LineFramer::new(&self.limits);
        let mut rest = stream;
        while let Some(line) = framer.next_line(&mut rest) {
            let pending = &self.pending;
            let is_pending = |id: &Id<'_>| pending.borrow().contains(&id.clone().into_owned());
            // A line may go on with a hold that ran out, and end it.
            let was_holding = self.joiner.is_holding() || self.joiner.is_suspicious();
            let taken = self.joiner.handle_line(&line, self.now, &is_pending);
            self.drain();
            if taken == Taken::Pass {
                assert!(!self.joiner.is_holding(), "a line passed while a head is open");
                let text = line.whole().unwrap_or(b"overlong");
                self.log.push(format!("pass {}", String::from_utf8_lossy(text)));
                self.answered(text);
            } else {
                assert!(was_holding || self.joiner.is_holding());
            }
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        let pending = &self.pending;
        let is_pending = |id: &Id<'_>| pending.borrow().contains(&id.clone().into_owned());
        self.joiner.handle_timeout(self.now, &is_pending);
        self.drain();
    }

    fn finish(&mut self) {
        let pending = &self.pending;
        let is_pending = |id: &Id<'_>| pending.borrow().contains(&id.clone().into_owned());
        self.joiner.finish(&is_pending);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(event) = self.joiner.poll_event() {
            self.log.push(match event {
                JoinEvent::Found { finding, .. } => {
                    format!("{} {}", finding.rule, finding.severity)
                }
                JoinEvent::Joined(joined) => {
                    assert!(self.pending.borrow_mut().remove(&joined.id), "answered twice");
                    let planted = if joined.has_planted { " planted" } else { "" };
                    format!("joined{planted} {}", String::from_utf8(joined.text).unwrap())
                }
                JoinEvent::Failed(reply) => {
                    assert_eq!(reply.rule, Rule::FrameSplit.name());
                    assert!(self.pending.borrow_mut().remove(&reply.id), "failed twice");
                    format!("failed {}", reply.id)
                }
                JoinEvent::Refused(reply) => format!("refused {}", reply.id),
                JoinEvent::Lost => "lost".into(),
                JoinEvent::Unawaited { .. } => "lost".into(),
                // Each value that is no message ends so.
                JoinEvent::Printed { .. } => continue,
                other => panic!("{other:?}"),
            });
        }
    }

    fn answered(&mut self, text: &[u8]) {
        let mut decoder = Decoder::new(&self.limits);
        if let Ok(Frame::Message(Message::Response(response), _)) = decoder.decode(text) {
            let id = response.id.into_owned();
            self.pending.borrow_mut().remove(&id);
            self.joiner.settle(&id);
        }
    }
}

/// Passes `stream` with the ids 1 to 3 pending, lets all deadlines pass, and compares the events.
#[track_caller]
fn check(stream: &str, expected: &[&str]) {
    let mut run = Run::new(&[1, 2, 3], Limits::default());
    run.lines(stream.as_bytes());
    if run.joiner.is_holding() {
        run.log.push("hold".into());
        run.wait(MAX_QUIET - Duration::from_millis(1));
        assert!(run.joiner.is_holding());
        run.wait(Duration::from_millis(1));
        assert!(!run.joiner.is_holding());
    }
    if run.joiner.is_suspicious() {
        run.log.push("suspicion".into());
    }
    let is_waiting = |joiner: &Joiner| {
        joiner.poll_timeout().is_some_and(|it| !joiner.is_suspicious() || it < run.now + MAX_WAIT)
    };
    if is_waiting(&run.joiner) {
        run.log.push("wait".into());
        run.wait(MAX_WAIT);
    }
    run.wait(MAX_SUSPICION);
    assert_eq!(run.joiner.poll_timeout(), None);
    assert_eq!(run.log, expected, "{stream}");
}

const HEAD: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"one"#;

#[test]
fn lines_that_are_no_head_pass() {
    for line in [
        "",
        "log line",
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{level:"info",msg:"it's "quoted"#,
        r#"[info] "jsonrpc"#,
    ] {
        check(&format!("{line}\n"), &[&format!("pass {line}")]);
    }
}

#[test]
fn a_log_line_with_the_beginning_of_a_message_makes_the_server_suspect() {
    for line in [
        r#"INFO {"jsonrpc":"2.0","id":1,"result":"x"#,
        r#"[info] {"jsonrpc":"2.0","id":1,"result":{"#,
    ] {
        check(&format!("{line}\n"), &[&format!("pass {line}"), "suspicion"]);
    }
    // It may go on as a value that the server prints.
    let line = r#"{"level":"info","msg":"it's "quoted"#;
    check(&format!("{line}\n"), &[&format!("pass {line}"), "suspicion", "lost"]);
}

#[test]
fn any_line_that_begins_a_message_and_is_incomplete_is_a_head() {
    let planted = r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}"#;
    for content in
        ["", "a", "a\"", "a\",", "a\"}", "a\"}]", "a\"}],\"_meta\":", "a\"}],\"x", "a\"b"]
    {
        let head = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""#;
        let stream = format!("{head}{content}\n{planted}\nb\n");
        let critical = "frame.split critical";
        check(&stream, &["hold", critical, critical, "failed 1", "lost", "suspicion"]);
    }
    check("{\"jsonrpc\":\n", &["hold", "frame.not-json high", "lost", "suspicion"]);
}

#[test]
fn a_pretty_printed_message_is_put_together() {
    check(
        "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 2,\n  \"result\": {\n    \"a\": []\n  }\n}\n",
        &[
            "frame.split high",
            r#"joined {   "jsonrpc": "2.0",   "id": 2,   "result": {     "a": []   } }"#,
        ],
    );
    check(
        "[\n{\n\"jsonrpc\": \"2.0\", \"id\": 2, \"result\": {}\n}\n]\n",
        &["frame.split high", "failed 2", "lost", "suspicion"],
    );
}

#[test]
fn opening_brackets_that_begin_no_message_are_noise() {
    for line in ["  level: 'info',", "\"level\": \"info\"", "}", "log line"] {
        let pass = format!("pass {line}");
        // A value that has not ended may have begun an answer.
        let wait = if line == "}" { None } else { Some("wait") };
        let expected: Vec<_> = ["frame.noise low", &pass].into_iter().chain(wait).collect();
        check(&format!("{{\n{line}\n"), &expected);
    }
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let expected = ["frame.noise low", &format!("pass {answer}"), "suspicion"];
    check(&format!("[\n\n{answer}\n"), &expected);
    // No other line waits, so the full time is available.
    let mut run = Run::new(&[1], Limits::default());
    run.lines(b"{\n");
    run.wait(MAX_SUSPICION - Duration::from_millis(1));
    assert_eq!(run.log, [""; 0]);
    run.wait(Duration::from_millis(1));
    assert_eq!(run.log, ["frame.noise low", "lost"]);
}

#[test]
fn the_rest_of_a_torn_message_ends_suspicion() {
    let planted = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    for (rest, is_ended) in [("two\n", false), ("two\"}]}}\n", true), ("two\"}]}\n", false)] {
        let mut run = Run::new(&[1], Limits::default());
        run.lines(format!("{HEAD}\n").as_bytes());
        run.wait(Duration::from_millis(400));
        assert!(run.joiner.is_suspicious());
        run.lines(rest.as_bytes());
        assert_eq!(run.joiner.is_suspicious(), !is_ended, "{rest}");
    }
    // A deadline ends it as well, but not before the lines that had already arrived.
    let mut run = Run::new(&[1], Limits::default());
    run.lines(format!("{HEAD}\n").as_bytes());
    run.wait(MAX_QUIET);
    run.now += MAX_SUSPICION * 2;
    run.lines(format!("{planted}\n").as_bytes());
    assert!(run.joiner.is_suspicious());
    run.wait(Duration::ZERO);
    assert!(!run.joiner.is_suspicious());
}

#[test]
fn joins_lines_whose_quotes_are_escaped() {
    check(
        &format!("{HEAD}\ntwo \\\"quoted\\\"\r\n\n\tthree\"}}]}}}}\n"),
        &[
            "frame.split high",
            r#"joined {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"one\ntwo \"quoted\"\r\n\n\tthree"}]}}"#,
        ],
    );
    // Two strings are torn, and a newline stands between tokens.
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"x\ny\",\n\"b\":\"z\n\"}}\n",
        &[
            "frame.split high",
            r#"joined {"jsonrpc":"2.0","id":2,"result":{"a":"x\ny", "b":"z\n"}}"#,
        ],
    );
}

#[test]
fn joins_what_was_in_the_strings_and_nothing_less() {
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\n\u{feff}b\n\"}\n",
        &[
            "frame.split high",
            "joined {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\\n\u{feff}b\\n\"}",
        ],
    );
    // The joiner leaves an unpaired surrogate to other checks.
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\n\\ud800\"}\n",
        &["frame.split high", r#"joined {"jsonrpc":"2.0","id":1,"result":"a\n\ud800"}"#],
    );
}

#[test]
fn a_message_may_begin_with_its_result() {
    check(
        "{\"result\":{\"a\":\"x\ny\"},\"id\":3,\"jsonrpc\":\"2.0\"}\n",
        &["frame.split high", r#"joined {"result":{"a":"x\ny"},"id":3,"jsonrpc":"2.0"}"#],
    );
    check(
        "{\"result\":{\"a\":\"x\ny\u{1}\\q\"},\"id\":3,\"jsonrpc\":\"2.0\"}\n",
        &["hold", "frame.split high", "failed 3", "lost", "suspicion"],
    );
}

#[test]
fn a_planted_message_becomes_text() {
    for planted in [
        r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        r#"[{"jsonrpc":"2.0","method":"x"}]"#,
        r#"{"jsonrpc":"2.0","method":"x","method":"y"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"x","method":"y"}"#,
    ] {
        let escaped = planted.replace('"', "\\\"");
        let joined = format!(r#"joined planted {HEAD}\n{escaped}\nend"}}]}}}}"#);
        check(
            &format!("{HEAD}\n{planted}\nend\"}}]}}}}\n"),
            &["frame.split critical", "frame.split critical", &joined, "lost"],
        );
    }
}

#[test]
fn an_answer_among_the_lines_is_owed_a_proper_one() {
    let other = r#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#;
    let escaped = other.replace('"', "\\\"");
    let joined = format!(r#"joined planted {HEAD}\n{escaped}\nend"}}]}}}}"#);
    let stream = format!("{HEAD}\n{other}\nend\"}}]}}}}\n");
    let begin = ["frame.split critical", "frame.split critical", &joined, "lost"];
    check(&stream, &[&begin[..], &["wait", "failed 2"]].concat());
    // A proper answer follows in time.
    let passed = format!("pass {other}");
    check(&format!("{stream}{other}\n"), &[&begin[..], &[&*passed]].concat());
    // The same with half of an answer.
    let half = r#"{"jsonrpc":"2.0","id":3,"result":{"a":1"#;
    let escaped = half.replace('"', "\\\"");
    let joined = format!(r#"joined {HEAD}\n{escaped}\nend"}}]}}}}"#);
    check(
        &format!("{HEAD}\n{half}\nend\"}}]}}}}\n"),
        &["frame.split high", &joined, "lost", "suspicion", "failed 3"],
    );
}

#[test]
fn a_hold_that_runs_out_fails_closed() {
    check(&format!("{HEAD}\n"), &["hold", "frame.not-json high", "failed 1", "suspicion"]);
    let torn = ["hold", "frame.split high", "failed 1", "lost", "suspicion"];
    check(&format!("{HEAD}\nmore\n"), &torn);
    let stream = format!(
        "{HEAD}\n{}\n{}\n{}\n{}\n",
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","method":"x"}"#,
    );
    let critical = "frame.split critical";
    let expected =
        ["hold", critical, critical, critical, critical, critical, "failed 1", "lost", "failed 2"];
    check(&stream, &[&expected[..], &["suspicion"]].concat());
    // A backslash before the newline leaves no valid reading.
    check(&format!("{HEAD}\\\nend\"}}]}}}}\n"), &torn);
}

#[test]
fn all_answers_of_a_line_that_ends_in_a_head_fail() {
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\nb\n",
        &["hold", "frame.split high", "failed 1", "failed 2", "lost", "suspicion"],
    );
    // The answer quoted there may still arrive.
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}} sent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\n",
        &["hold", "frame.not-json high", "failed 2", "lost", "suspicion", "failed 1"],
    );
}

#[test]
fn a_message_that_a_held_line_quotes_is_no_message() {
    let quoted = r#"sent {"jsonrpc":"2.0","id":2,"result":{}}"#;
    // It may be an answer behind other text: its request waits for a proper one.
    let expected = ["hold", "frame.split high", "failed 1", "lost", "suspicion", "failed 2"];
    check(&format!("{HEAD}\n{quoted}\n"), &expected);
}

#[test]
fn an_id_that_was_settled_may_be_used_again() {
    let other = r#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#;
    let begin = format!("{HEAD}\n{other}\nend\"}}]}}}}\n");
    let torn = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"a\n";
    // It fails, or is joined, before its deadline.
    for (rest, outcome) in [("", "failed 2"), ("b\"}\n", "joined")] {
        let mut run = Run::new(&[1, 2], Limits::default());
        run.lines(begin.as_bytes());
        run.lines(format!("{torn}{rest}").as_bytes());
        run.wait(MAX_QUIET);
        assert!(run.log.last().unwrap().starts_with(outcome), "{:?}", run.log);
        run.pending.borrow_mut().insert(Id::from_integer(2));
        run.log.clear();
        run.wait(MAX_WAIT);
        run.wait(MAX_SUSPICION);
        assert_eq!(run.log, [""; 0]);
        assert_eq!(run.joiner.poll_timeout(), None);
    }
}

#[test]
fn lines_after_a_hold_are_frames_again() {
    let mut run = Run::new(&[1], Limits::default());
    run.lines(format!("{HEAD}\nmore\n").as_bytes());
    run.wait(MAX_QUIET);
    run.lines(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n");
    let passed = r#"pass {"jsonrpc":"2.0","method":"x"}"#;
    let expected = ["frame.split high", "failed 1", "lost", passed];
    assert_eq!(run.log, expected);
}

#[test]
fn what_no_pending_id_vouches_for_is_not_delivered() {
    check(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"a\nb\"}}\nlog\n",
        &["frame.split high", "pass log"],
    );
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"data\":\"a\nb\"}}\nlog\n",
        &["frame.split high", "refused 7", "pass log"],
    );
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"data\":\"a\nb\n",
        &["hold", "frame.split high", "refused 7", "lost", "suspicion"],
    );
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{\"data\":\"a\nb\"}}\nlog\n",
        &["frame.split high", "lost", "pass log"],
    );
    check(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"data\":\"a\nb\"}\nlog\n",
        &["frame.split high", "failed 1", "lost", "pass log", "suspicion"],
    );
    check(
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"data\":\"a\nb\"}}]\nlog\n",
        &["frame.split high", "failed 1", "lost", "pass log", "suspicion"],
    );
}

#[test]
fn the_end_of_the_stream_ends_all_waiting() {
    let other = r#"{"jsonrpc":"2.0","id":2,"result":{"a":1}}"#;
    let mut run = Run::new(&[1, 2, 3], Limits::default());
    run.lines(format!("{HEAD}\n{other}\nend\"}}]}}}}\n").as_bytes());
    run.lines(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":\"torn\n");
    run.log.clear();
    run.finish();
    assert_eq!(run.log, ["frame.not-json high", "failed 3", "failed 2"]);
}

#[test]
fn a_hold_is_bounded_in_time_and_bytes() {
    let mut run = Run::new(&[1, 2], Limits::default());
    run.lines(format!("{HEAD}\n").as_bytes());
    let mut steps = 0;
    while run.joiner.is_holding() {
        run.lines(b"more\n");
        run.wait(MAX_QUIET / 2);
        steps += 1;
    }
    assert_eq!(run.now, MAX_HOLD);
    assert_eq!(steps, 40);
    assert_eq!(run.log, ["frame.split high", "failed 1", "lost"]);

    // Lines over the frame limit do not pass either, until the server is quiet.
    let limits = Limits::default().with_max_frame_bytes(200).unwrap();
    let mut run = Run::new(&[1, 2], limits);
    run.lines(format!("{HEAD}\n{}\n{}\n", "x".repeat(150), "y".repeat(300)).as_bytes());
    run.lines(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\nend\"}]}}\n");
    run.joiner.handle_bytes(b"{", Duration::from_millis(100));
    assert_eq!(run.log, [""; 0]);
    run.wait(MAX_QUIET);
    assert!(run.joiner.is_holding());
    run.wait(Duration::from_millis(100));
    let critical = "frame.split critical";
    // Lines that were not kept may have answered any request.
    assert_eq!(run.log, [critical, critical, "failed 1", "lost", "failed 2"]);
}

#[test]
fn gives_up_on_too_many_tails() {
    let tails = "x\",,}]}}\n".repeat(100);
    let expected = ["hold", "frame.split high", "failed 1", "lost", "suspicion"];
    check(&format!("{HEAD}\n{tails}end\"}}]}}}}\n"), &expected);
}

#[test]
fn an_observer_lets_every_line_pass() {
    let limits = Limits::default();
    let mut joiner = Joiner::observing(&limits);
    let stream = format!("{HEAD}\n{{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}\nend\"}}]}}}}\n");
    let (mut framer, mut rest) = (LineFramer::new(&limits), stream.as_bytes());
    while let Some(line) = framer.next_line(&mut rest) {
        assert_eq!(joiner.handle_line(&line, Duration::ZERO, &|_: &Id<'_>| true), Taken::Pass);
    }
    let events: Vec<_> = std::iter::from_fn(|| joiner.poll_event()).collect();
    assert_eq!(events.len(), 2);
    let is_critical = |it: &JoinEvent| matches!(it, JoinEvent::Found { finding, .. } if finding.severity == Severity::Critical);
    assert!(events.iter().all(is_critical));
}

#[test]
fn findings_say_where_in_the_stream() {
    let limits = Limits::default();
    let mut joiner = Joiner::new(&limits);
    let planted = "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}";
    let stream = format!("log\n{HEAD}\r\n{planted}\nend\"}}]}}}}\n");
    let (mut framer, mut rest) = (LineFramer::new(&limits), stream.as_bytes());
    while let Some(line) = framer.next_line(&mut rest) {
        let _ = joiner.handle_line(&line, Duration::ZERO, &|_: &Id<'_>| true);
    }
    let places: Vec<_> = std::iter::from_fn(|| joiner.poll_event())
        .filter_map(|event| match event {
            JoinEvent::Found { finding, start } => {
                let start = usize::try_from(start).unwrap() + finding.offset;
                stream.get(start..start + finding.length).map(str::to_owned)
            }
            _ => None,
        })
        .collect();
    assert_eq!(places, [stream.get(4 + HEAD.len()..).unwrap(), planted]);
}
