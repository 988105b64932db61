//! Servers that kill or stop their keeper.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use hardline_transport::process::{adopt_orphans, end_descendants};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{MARK, Mark, in_a_process_of_its_own, in_time, poll, runtime, start};
use crate::home::{Home, script};

/// Starts a daemon that ignores signals, and one that keeps starting processes.
const DAEMONS: &str = "(setsid sh -c 'trap \"\" TERM HUP; echo ready; while :; do sleep 1000; done' &); \
                       (setsid sh -c 'while :; do (sleep 1000 &); sleep 0.01; done' >/dev/null &)";

#[test]
fn what_a_killed_keeper_kept_is_ended() {
    in_a_process_of_its_own!("orphan::what_a_killed_keeper_kept_is_ended");
    adopt_orphans().unwrap();
    let mark = Mark::new();
    runtime().block_on(async {
        // The server stays alive, exits before its keeper, or kills itself too.
        for end in
            ["kill -9 $PPID; sleep 1000", "(sleep 0.1; kill -9 $PPID) & exit", "kill -9 $PPID $$"]
        {
            let (mut child, _stdout) =
                start(&mark, &format!("{DAEMONS}; read _; {end}"), true).await;
            drop(child.take_stdin());
            let exit = in_time(child.wait()).await;
            mark.assert_gone();
            // A server that has exited looks the same as one whose keeper has done its work.
            assert_eq!(exit.is_keeper_lost(), exit.code().is_none(), "{end}: {exit}");
            if exit.is_keeper_lost() {
                let expected = "was killed because its keeper was ended by signal 9 (SIGKILL)";
                assert_eq!(exit.summary(), expected);
            }
        }
        // A server that dies of a signal has not lost its keeper.
        let (child, _stdout) = start(&mark, "echo ready; kill -9 $$", true).await;
        let exit = in_time(child.wait()).await;
        assert!(!exit.is_keeper_lost() && exit.signal() == Some(9), "{exit}");
    });
}

#[test]
fn a_stopped_keeper_goes_on() {
    let mark = Mark::new();
    runtime().block_on(async {
        let script = "echo ready; while :; do kill -STOP $PPID; sleep 0.01; done";
        let (child, _stdout) = start(&mark, script, true).await;
        let keeper = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        kill_process(keeper, Signal::TERM).unwrap();
        in_time(child.wait()).await;
        mark.assert_gone();
    });
}

#[test]
fn children_of_others_are_no_orphans() {
    in_a_process_of_its_own!("orphan::children_of_others_are_no_orphans");
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    adopt_orphans().unwrap();
    let mark = Mark::new();
    runtime().block_on(async {
        let (child, _stdout) = start(&mark, "echo ready; kill -9 $PPID", true).await;
        assert!(in_time(child.wait()).await.is_keeper_lost());
    });
    end_descendants(Duration::ZERO);
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn nothing_is_left_when_everything_is_to_end_at_once() {
    in_a_process_of_its_own!("orphan::nothing_is_left_when_everything_is_to_end_at_once");
    adopt_orphans().unwrap();
    let mark = Mark::new();
    runtime().block_on(async {
        // Neither the server nor its keeper gets a grace period.
        let (child, _stdout) = start(&mark, &format!("{DAEMONS}; sleep 1000"), true).await;
        end_descendants(Duration::ZERO);
        mark.assert_gone_soon();
        drop(child);
    });
}

/// Answers pings; a call starts the daemons and kills the keeper.
fn server() -> String {
    let answer = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    let daemons = DAEMONS.replace("echo ready;", "");
    format!(
        "#!/bin/sh\nwhile IFS= read -r line; do\n\
         id=$(printf '%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n\
         case \"$line\" in\n\
         *initialize\\\"*) printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{answer}}}\\n' \"$id\";;\n\
         *tools/call*) {daemons}; kill -9 $PPID; sleep 1000;;\n\
         *ping*) printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{{}}}}\\n' \"$id\";;\n\
         esac\ndone\n{daemons}; kill -9 $PPID\n"
    )
}

#[test]
fn wrap_ends_and_tells_of_a_server_that_kills_its_keeper() {
    let (home, mark) = (Home::new(), Mark::new());
    let program = home.write_program("bin/tool", &server());
    let mut command = home.command(&["wrap", "--name", "shop", "--", &program]);
    command.env(MARK, mark.value());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |line: &str| -> Value {
        input.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let said = script(&["any"]);
    let lines: Vec<_> = said.split_inclusive('\n').collect();
    ask(&lines[..2].concat());
    let failed = ask(lines[3]);
    let message = failed.pointer("/error/message").unwrap();
    assert_eq!(failed.pointer("/error/data/hardline/rule"), Some(&json!("server.ended")));
    assert!(message.as_str().unwrap().contains("its keeper was ended by signal 9"), "{message}");
    // The session continues with a new server. Only `wrap`, the keeper and the server are left.
    let pong = ask("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}\n");
    assert!(pong["result"].is_object(), "{pong}");
    poll("the daemons to be gone", || mark.living().len() == 3);
    // At the end of the session, the new server kills its keeper as well.
    drop(input);
    let output = child.wait_with_output().unwrap();
    mark.assert_gone();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors.matches("the server's keeper was killed").count(), 2, "{errors}");
    let sessions = home.run(&["audit", "sessions", "--format", "json"], "");
    let sessions: Value = serde_json::from_slice(&sessions.stdout).unwrap();
    let id = sessions.pointer("/sessions/0/session").and_then(Value::as_str).unwrap();
    let session = home.run(&["audit", "show", id, "--format", "json"], "");
    let session = String::from_utf8(session.stdout).unwrap();
    assert_eq!(session.matches("keeper-lost").count(), 2, "{session}");
}
