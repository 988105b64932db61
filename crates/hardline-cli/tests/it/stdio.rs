//! Standard streams of every kind, and signals, with `hardline demo-server`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::session::Session;

/// Longer than the grace period of a signal, far shorter than the one after the end of input.
const SOON: Duration = Duration::from_secs(15);

fn initialize() -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params})
}

fn sleep(id: u32, ms: u32) -> Value {
    let params = json!({"name": "sleep", "arguments": {"ms": ms}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn ping(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

/// Returns a session with a call in progress that takes `ms` milliseconds.
fn busy(ms: u32) -> Session {
    let mut session = Session::start(&["demo-server"], &[]);
    session.request(&initialize());
    session.send(&sleep(7, ms));
    // The server answers this only after it has accepted the call.
    session.request(&ping(8));
    session
}

#[test]
fn a_signal_ends_a_server_at_rest() {
    let all = [Signal::TERM, Signal::INT].into_iter();
    for signal in all.filter(|it| !crate::is_ignored(it.as_raw())) {
        let mut session = Session::start(&["demo-server"], &[]);
        session.request(&initialize());
        session.signal(signal);
        assert_eq!(session.ended_within(SOON).code(), Some(0));
    }
}

#[test]
fn a_signal_ends_a_server_that_nobody_has_spoken_to() {
    let mut session = Session::start(&["demo-server"], &[]);
    // Once the server answers, its signal handlers are installed.
    session.request(&ping(1));
    session.signal(Signal::TERM);
    assert_eq!(session.ended_within(SOON).code(), Some(0));
}

#[test]
fn work_in_flight_has_a_moment_after_a_signal() {
    let mut session = busy(300);
    session.signal(Signal::TERM);
    let answer = session.receive();
    assert_eq!(answer.get("error"), None, "{answer}");
    assert_eq!(session.ended_within(SOON).code(), Some(0));
}

#[test]
fn work_that_takes_longer_is_answered_with_an_error() {
    let start = Instant::now();
    let mut session = busy(3_600_000);
    session.signal(Signal::TERM);
    let answer = session.receive();
    assert_eq!(answer.pointer("/id"), Some(&json!(7)));
    assert_eq!(answer.pointer("/error/code"), Some(&json!(-32603)));
    assert_eq!(answer.pointer("/error/data/hardline/rule"), Some(&json!("transport.closed")));
    assert_eq!(session.ended_within(SOON).code(), Some(0));
    assert!(Duration::from_secs(1) <= start.elapsed(), "without its grace");
}

#[test]
fn a_signal_cuts_the_wait_at_the_end_short() {
    let mut session = busy(3_600_000);
    session.close_input();
    session.signal(Signal::TERM);
    assert_eq!(session.receive().pointer("/error/code"), Some(&json!(-32603)));
    assert_eq!(session.ended_within(SOON).code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let session = busy(3_600_000);
    session.signal(Signal::TERM);
    session.signal(Signal::TERM);
    let status = session.ended_within(SOON);
    // The kernel may merge the two signals into one.
    assert!(status.signal() == Some(15) || status.code() == Some(0), "{status}");
}

#[test]
fn a_server_that_nobody_listens_to_does_not_wait() {
    let mut server = Command::new(env!("CARGO_BIN_EXE_hardline"))
        .arg("demo-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    writeln!(stdin, "{}\n{}\n{}", initialize(), sleep(7, 3_600_000), ping(8)).unwrap();
    for _ in 0..2 {
        stdout.read_line(&mut String::new()).unwrap();
    }
    drop((stdin, stdout));
    let status = crate::session::ended_within(&mut server, SOON);
    assert_eq!(status.code(), Some(0));
}

/// A shell does this for background jobs.
#[test]
fn a_signal_that_was_ignored_from_the_start_stays_so() {
    let mut server = Command::new("/bin/sh")
        .args(["-c", "trap '' INT; exec \"$0\" demo-server", env!("CARGO_BIN_EXE_hardline")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    for id in 1..=2 {
        let mut line = String::new();
        writeln!(stdin, "{}", ping(id)).unwrap();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("result"), "{line}");
        let pid = rustix::process::Pid::from_child(&server);
        rustix::process::kill_process(pid, Signal::INT).unwrap();
    }
    drop(stdin);
    assert_eq!(crate::session::ended_within(&mut server, SOON).code(), Some(0));
}

/// Runs a server over the given streams; the test holds the other ends.
fn over(stdin: Stdio, stdout: Stdio) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_hardline"))
        .arg("demo-server")
        .stdin(stdin)
        .stdout(stdout)
        .spawn()
        .unwrap()
}

#[test]
fn sockets_work_and_keep_their_mode_even_when_it_is_killed() {
    let (ours_in, theirs_in) = UnixStream::pair().unwrap();
    let (ours_out, theirs_out) = UnixStream::pair().unwrap();
    let theirs: [OwnedFd; 2] = [theirs_in.into(), theirs_out.into()];
    let [stdin, stdout] = theirs.each_ref().map(|it| Stdio::from(it.try_clone().unwrap()));
    let mut server = over(stdin, stdout);
    let mut answers = BufReader::new(ours_out);
    let mut line = String::new();
    writeln!(&ours_in, "{}", ping(1)).unwrap();
    answers.read_line(&mut line).unwrap();
    assert!(line.contains("\"id\":1"), "{line}");
    // A long answer takes several writes.
    let big = json!({"name": "big", "arguments": {"bytes": 3_000_000}});
    let big = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": big});
    writeln!(&ours_in, "{}\n{big}", initialize()).unwrap();
    answers.read_line(&mut line).unwrap();
    line.clear();
    answers.read_line(&mut line).unwrap();
    assert!(3_000_000 < line.len());
    server.kill().unwrap();
    server.wait().unwrap();
    for stream in &theirs {
        assert!(!fcntl_getfl(stream).unwrap().contains(OFlags::NONBLOCK));
    }
}

#[test]
fn pipes_keep_their_mode_even_when_it_is_killed() {
    let (their_in, ours_in) = rustix::pipe::pipe().unwrap();
    let (ours_out, their_out) = rustix::pipe::pipe().unwrap();
    let theirs = [their_in, their_out];
    let [stdin, stdout] = theirs.each_ref().map(|it| Stdio::from(it.try_clone().unwrap()));
    let mut server = over(stdin, stdout);
    let mut line = String::new();
    writeln!(File::from(ours_in.try_clone().unwrap()), "{}", ping(1)).unwrap();
    BufReader::new(File::from(ours_out)).read_line(&mut line).unwrap();
    assert!(line.contains("\"id\":1"), "{line}");
    server.kill().unwrap();
    server.wait().unwrap();
    for stream in &theirs {
        assert!(!fcntl_getfl(stream).unwrap().contains(OFlags::NONBLOCK));
    }
}

#[test]
fn files_work_as_input_and_output() {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in"), directory.path().join("out"));
    fs::write(&input, format!("{}\n{}\n{}", initialize(), sleep(7, 100), ping(8))).unwrap();
    let stdin = File::open(&input).unwrap();
    let stdout = File::create(&output).unwrap();
    let mut server = over(stdin.into(), stdout.into());
    assert_eq!(crate::session::ended_within(&mut server, SOON).code(), Some(0));
    let output = fs::read_to_string(&output).unwrap();
    assert_eq!(output.lines().count(), 3, "{output}");
}

#[test]
fn nothing_at_all_is_no_error() {
    let mut server = over(Stdio::null(), Stdio::null());
    assert_eq!(crate::session::ended_within(&mut server, SOON).code(), Some(0));
}

#[test]
fn a_full_disk_ends_it_without_a_panic() {
    let full = File::options().write(true).open("/dev/full");
    let Ok(full) = full else { return };
    let mut server = over(Stdio::piped(), full.into());
    let mut stdin = server.stdin.take().unwrap();
    writeln!(stdin, "{}", ping(1)).unwrap();
    // The server ends although its input is open, because its answers can no longer be delivered.
    let status = crate::session::ended_within(&mut server, SOON);
    assert_eq!(status.signal(), None, "{status}");
}

#[test]
fn progress_and_its_result_are_all_there_after_the_input_has_ended() {
    let mut session = Session::start(&["demo-server"], &[]);
    let params = json!({
        "name": "progress", "arguments": {"steps": 4, "ms": 1}, "_meta": {"progressToken": "p"},
    });
    session.send(&initialize());
    session.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}));
    session.close_input();
    assert_eq!(session.receive().pointer("/id"), Some(&json!("init")));
    for step in 1..=4 {
        let progress = session.receive();
        assert_eq!(
            progress.pointer("/params/progress"),
            Some(&json!(f64::from(step))),
            "{progress}"
        );
    }
    assert_eq!(session.receive().pointer("/id"), Some(&json!(7)));
    assert_eq!(session.end().code(), Some(0));
}
