//! The keeper, as a separate process.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{ALONE, MARK, Mark, alone, assert_killed, in_time, line, poll, runtime, start};
use crate::hardline;

#[test]
fn all_die_when_we_are_killed() {
    check_that_all_die("process::keeper::all_die_when_we_are_killed", "");
}

/// The server has stopped the keeper with a signal that no process can handle.
#[cfg(target_os = "linux")]
#[test]
fn all_die_when_we_are_killed_and_the_keeper_is_stopped() {
    let test = "process::keeper::all_die_when_we_are_killed_and_the_keeper_is_stopped";
    check_that_all_die(test, "kill -STOP $PPID; ");
}

/// Kills this process, started once more, while it has a server. `first` is what the server does first.
fn check_that_all_die(test: &str, first: &str) {
    let mut marked = None;
    let status = alone(test, |child| {
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_mark = |line: &String| line.starts_with(MARK);
        let mark = Mark(lines.map_while(Result::ok).find(is_mark).unwrap());
        // The keeper, the server, a grandchild that ignores SIGTERM, its `sleep`, and a daemon.
        assert!(mark.living().len() >= 5, "{:?}", mark.living());
        child.kill().unwrap();
        marked = Some(mark);
    });
    if status.is_some() {
        marked.unwrap().assert_gone_soon();
        return;
    }
    assert!(std::env::var_os(ALONE).is_some());
    let mark = Mark::new();
    runtime().block_on(async {
        let script = "(setsid sh -c '(exec sleep 1000) &' &) ; \
                      sh -c \"trap '' TERM HUP; echo ready; while :; do sleep 1000; done\" & \
                      while :; do sleep 1000; done";
        let script = format!("{first}{script}");
        let (child, _stdout) = start(&mark, &script, true).await;
        poll("the whole tree", || {
            let living = mark.living();
            let sleeping = living.iter().filter(|(_, command)| command.starts_with("sleep"));
            living.len() >= 5 && sleeping.count() >= 2
        });
        // The test harness prints the test's name first, without a newline.
        #[expect(clippy::print_stdout, reason = "the parent reads the mark from this output")]
        {
            println!("\n{}", mark.0);
        }
        child.wait().await
    });
}

#[test]
fn finds_a_daemon() {
    let mark = Mark::new();
    let daemon = "setsid sh -c 'setsid sh -c \"trap \\\"\\\" TERM; echo ready; sleep 1000\" &'";
    runtime().block_on(async {
        // Three ways: the server exits by itself, is closed, or is dropped.
        let (mut child, _stdout) = start(&mark, &format!("{daemon}; read _"), true).await;
        drop(child.take_stdin());
        in_time(child.wait()).await;
        mark.assert_gone();

        let deaf = format!("{daemon}; while :; do sleep 1000; done");
        let (child, _stdout) = start(&mark, &deaf, true).await;
        in_time(child.close()).await;
        mark.assert_gone();

        let (child, _stdout) = start(&mark, &deaf, true).await;
        drop(child);
        mark.assert_gone_soon();
    });
}

#[test]
fn is_not_ended_by_signals() {
    let mark = Mark::new();
    runtime().block_on(async {
        let script = "echo ready; read a; echo $a; read _; exit 3";
        let (mut child, mut stdout) = start(&mark, script, true).await;
        let keeper = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        for signal in [
            Signal::HUP,
            Signal::INT,
            Signal::QUIT,
            Signal::PIPE,
            Signal::ALARM,
            Signal::USR2,
            Signal::TSTP,
            Signal::TTIN,
        ] {
            kill_process(keeper, signal).unwrap();
        }
        let stdin = child.take_stdin().unwrap();
        assert_eq!(stdin.try_write(b"alive\n").unwrap(), 6);
        assert_eq!(line(&mut stdout).await, "alive");
        drop(stdin);
        assert_eq!(in_time(child.close()).await.code(), Some(3));
    });
}

#[test]
fn starts_its_server_with_default_signals() {
    let mark = Mark::new();
    runtime().block_on(async {
        let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\n\\t'";
        let mut child = mark.shell(script, true).spawn().unwrap();
        let mut stdout = tokio::io::BufReader::new(child.take_stdout().unwrap());
        let line = line(&mut stdout).await;
        let (blocked, ignored) =
            line.strip_prefix("SigBlk:").unwrap().split_once("SigIgn:").unwrap();
        assert_eq!(u64::from_str_radix(blocked, 16).unwrap(), 0);
        let ignored = u64::from_str_radix(ignored, 16).unwrap();
        for signal in [Signal::HUP, Signal::INT, Signal::PIPE, Signal::TERM, Signal::CHILD] {
            assert_eq!(ignored & (1 << (signal.as_raw() - 1)), 0, "{signal:?}");
        }
        in_time(child.close()).await;
    });
}

#[test]
fn does_not_start_anything_for_a_parent_that_is_gone() {
    let output = hardline(&["keeper", "--parent", "1", "--", "echo", "started"], b"");
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(output.stdout, b"");
    let reason = String::from_utf8(output.stderr).unwrap();
    assert_eq!(reason, "keeper: the parent process is already gone\n");
}

#[test]
fn can_be_started_by_hand() {
    let output = hardline(&["keeper", "--", "sh", "-c", "cat; exit 9", "--"], b"hello");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(9), &b"hello"[..]));
    let output = hardline(&["keeper", "--", "/no/such"], b"");
    assert_eq!(output.status.code(), Some(127));
    let output = hardline(&["keeper", "--", "/etc/passwd"], b"");
    assert_eq!(output.status.code(), Some(126));
    let output = hardline(&["keeper", "--else", "1", "--", "true"], b"");
    assert_eq!(output.status.code(), Some(125));
}

#[test]
fn is_hidden_and_small() {
    let output = hardline(&["--help"], b"");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("keeper"));
    let mark = Mark::new();
    runtime().block_on(async {
        let (child, _stdout) = start(&mark, "echo ready; cat", true).await;
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let number = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        assert_eq!(number("Threads:"), 1);
        assert!(number("RssAnon:") < 2048, "{status}");
        in_time(child.close()).await;
    });
}

#[test]
fn may_be_told_to_kill_before_it_listens() {
    let mark = Mark::new();
    runtime().block_on(async {
        for round in 0..30 {
            let child = mark.shell("trap '' TERM; sleep 1000", true).spawn().unwrap();
            let mut watch = child.watch();
            // The delays reach from before the keeper listens until after it has started the
            // server.
            tokio::time::sleep(Duration::from_micros(200 * round)).await;
            drop(child);
            assert_killed(&in_time(watch.wait()).await);
        }
        mark.assert_gone();
    });
}
