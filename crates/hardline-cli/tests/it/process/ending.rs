//! Ways to end a server, and that they leave nothing behind.

use std::time::{Duration, Instant};

use hardline_transport::process::Times;
use rustix::process::{Pid, Signal, kill_process};

use super::{
    Mark, assert_killed, check, in_a_process_of_its_own, in_time, line, poll, runtime, start,
};

/// A server that ignores the end of its input.
const DEAF: &str = "echo ready; while :; do sleep 1000; done";
/// A server that also ignores SIGTERM.
const STUBBORN: &str = "trap '' TERM; echo ready; while :; do sleep 1000; done";

#[test]
fn ends_with_its_input() {
    check(async |mark, is_kept| {
        let (child, _stdout) = start(&mark, "echo ready; cat; exit 3", is_kept).await;
        assert_eq!(child.exit(), None);
        let exit = in_time(child.close()).await;
        assert_eq!(exit.code(), Some(3));
        assert_eq!(exit.to_string(), "exited with code 3");
        mark.assert_gone();
    });
}

#[test]
fn is_terminated_if_it_does_not_end_with_its_input() {
    check(async |mark, is_kept| {
        let (child, _stdout) = start(&mark, DEAF, is_kept).await;
        let exit = in_time(child.close()).await;
        assert_eq!(exit.to_string(), "was ended by signal 15 (SIGTERM)");
        mark.assert_gone();
    });
}

#[test]
fn is_killed_if_it_cannot_be_terminated() {
    check(async |mark, is_kept| {
        let (child, _stdout) = start(&mark, STUBBORN, is_kept).await;
        assert_killed(&in_time(child.close()).await);
        mark.assert_gone();
    });
}

#[test]
fn is_terminated_although_it_is_stopped() {
    check(async |mark, is_kept| {
        let script = "trap 'exit 9' TERM; echo ready; kill -STOP $$; while :; do sleep 0.01; done";
        let (child, _stdout) = start(&mark, script, is_kept).await;
        let exit = in_time(child.close()).await;
        assert_eq!(exit.code(), Some(9), "{exit}");
        mark.assert_gone();
    });
}

#[test]
fn takes_as_long_as_it_is_told() {
    check(async |mark, is_kept| {
        let script = "trap '' TERM; echo ready; while :; do sleep 1000; done";
        let times = Times::default()
            .with_exit(Duration::from_millis(300))
            .with_terminate(Duration::from_millis(400));
        let mut child = mark.shell(script, is_kept).times(times).spawn().unwrap();
        let mut stdout = tokio::io::BufReader::new(child.take_stdout().unwrap());
        assert_eq!(line(&mut stdout).await, "ready");
        let start = Instant::now();
        assert_killed(&in_time(child.close()).await);
        let elapsed = start.elapsed();
        assert!(Duration::from_millis(700) <= elapsed, "{elapsed:?}");
        mark.assert_gone();

        // Closing takes no longer than the server needs.
        let long = Times::default().with_exit(Duration::from_secs(1000));
        let child = mark.shell("exec cat", is_kept).times(long).spawn().unwrap();
        assert!(in_time(child.close()).await.is_success());
    });
}

#[test]
fn a_grandchild_that_ignores_sigterm_is_killed() {
    check(async |mark, is_kept| {
        let script = format!("sh -c \"{STUBBORN}\" & while :; do sleep 1000; done");
        let (child, _stdout) = start(&mark, &script, is_kept).await;
        in_time(child.close()).await;
        mark.assert_gone();
    });
}

#[test]
fn what_a_child_leaves_behind_ends_before_its_end_is_told() {
    check(async |mark, is_kept| {
        let script = format!("sh -c \"{STUBBORN}\" & read _; exit 6");
        let (mut child, _stdout) = start(&mark, &script, is_kept).await;
        drop(child.take_stdin());
        assert_eq!(in_time(child.wait()).await.code(), Some(6));
        mark.assert_gone();
    });
}

#[test]
fn a_session_of_its_own_does_not_help_a_grandchild() {
    check(async |mark, is_kept| {
        let script = "setsid sh -c \"trap '' TERM; echo ready; sleep 1000\" & \
                      while :; do sleep 1000; done";
        let (child, _stdout) = start(&mark, script, is_kept).await;
        in_time(child.close()).await;
        mark.assert_gone();
    });
}

#[test]
fn none_gets_away_by_starting_others_when_killed() {
    check(async |mark, is_kept| {
        // Bounded, because other tests run at the same time.
        let crowd = "echo ready; for it in $(seq 200); do setsid sleep 1000 & done; wait";
        let script = &format!("setsid sh -c '{crowd}' & wait");
        for _ in 0..8 {
            let (child, _stdout) = start(&mark, script, is_kept).await;
            poll("a crowd", || 20 < mark.living().len());
            drop(child);
            mark.assert_gone_soon();
        }
    });
}

#[test]
fn dropping_a_child_kills_it() {
    check(async |mark, is_kept| {
        let script = format!("sh -c \"{STUBBORN}\" & {STUBBORN}");
        let (child, _stdout) = start(&mark, &script, is_kept).await;
        let mut watch = child.watch();
        drop(child);
        assert_killed(&in_time(watch.wait()).await);
        mark.assert_gone();
    });
}

#[test]
fn dropping_the_closing_half_way_kills_at_once() {
    check(async |mark, is_kept| {
        let long = Duration::from_secs(1000);
        let times = Times::default().with_exit(long).with_terminate(long);
        let mut child = mark.shell(STUBBORN, is_kept).times(times).spawn().unwrap();
        let mut stdout = tokio::io::BufReader::new(child.take_stdout().unwrap());
        assert_eq!(line(&mut stdout).await, "ready");
        let mut watch = child.watch();
        let closing = tokio::time::timeout(Duration::from_millis(50), child.close());
        assert!(closing.await.is_err());
        assert_killed(&in_time(watch.wait()).await);
        mark.assert_gone();
    });
}

#[test]
fn ends_with_the_runtime() {
    for is_kept in [false, true] {
        let mark = Mark::new();
        let runtime = runtime();
        let (child, stdout) = runtime.block_on(start(&mark, STUBBORN, is_kept));
        runtime.spawn(async move {
            let _stdout = stdout;
            child.wait().await
        });
        drop(runtime);
        mark.assert_gone_soon();
    }
}

#[test]
fn lives_on_when_the_thread_that_started_it_ends() {
    for is_kept in [false, true] {
        let mark = Mark::new();
        let runtime = runtime();
        let start = || runtime.block_on(start(&mark, "echo ready; read a; echo $a", is_kept));
        let started = std::thread::scope(|scope| scope.spawn(start).join());
        let (mut child, mut stdout) = started.unwrap();
        runtime.block_on(async {
            let stdin = child.take_stdin().unwrap();
            stdin.writable().await.unwrap();
            assert_eq!(stdin.try_write(b"hello\n").unwrap(), 6);
            assert_eq!(line(&mut stdout).await, "hello");
            assert!(in_time(child.close()).await.is_success());
        });
    }
}

#[test]
fn waiting_can_be_given_up_and_begun_again() {
    check(async |mark, is_kept| {
        let (mut child, _stdout) = start(&mark, "echo ready; read _; exit 8", is_kept).await;
        for _ in 0..3 {
            assert!(tokio::time::timeout(Duration::from_millis(5), child.wait()).await.is_err());
        }
        drop(child.take_stdin());
        assert_eq!(in_time(child.wait()).await.code(), Some(8));
        assert_eq!(in_time(child.wait()).await.code(), Some(8));
        assert_eq!(child.exit().unwrap().code(), Some(8));
        assert_eq!(in_time(child.close()).await.code(), Some(8));
    });
}

#[test]
fn killing_is_done_once_and_for_all() {
    check(async |mark, is_kept| {
        let (child, _stdout) = start(&mark, STUBBORN, is_kept).await;
        child.kill();
        child.kill();
        assert_killed(&in_time(child.wait()).await);
        mark.assert_gone();
        child.kill();
    });
}

#[test]
fn a_keeper_that_does_not_kill_is_killed_with_all_it_keeps() {
    let mark = Mark::new();
    runtime().block_on(async {
        let script = format!("setsid sh -c \"{STUBBORN}\" & while :; do sleep 1000; done");
        let (child, _stdout) = start(&mark, &script, true).await;
        let keeper = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        kill_process(keeper, Signal::STOP).unwrap();
        let mut watch = child.watch();
        drop(child);
        assert_killed(&in_time(watch.wait()).await);
        mark.assert_gone_soon();
    });
}

#[test]
fn two_hundred_in_a_row_leave_nothing() {
    in_a_process_of_its_own!("ending::two_hundred_in_a_row_leave_nothing");
    let runtime = runtime();
    let one = async |is_closed, is_kept| {
        let mark = Mark::new();
        let (child, _stdout) = start(&mark, "echo ready; exec cat", is_kept).await;
        if is_closed {
            assert!(in_time(child.close()).await.is_success());
        }
    };
    // The first run may leave descriptors that the runtime keeps for all later runs.
    runtime.block_on(one(true, false));
    let before = count();
    for number in 0..200 {
        runtime.block_on(one(number % 2 == 0, number % 4 < 2));
    }
    // Waiting threads reap killed children, and tasks close their pipes, a little later.
    poll("nothing to be left", || {
        runtime.block_on(tokio::task::yield_now());
        let now = count();
        now.0 <= before.0 && now.1 <= before.1 && now.2 == 0
    });
}

/// Counts descriptors, threads and children (zombies included) of this process.
fn count() -> (usize, usize, usize) {
    let entries = |path: &str| std::fs::read_dir(path).unwrap().count();
    let this = std::process::id().to_string();
    let parent = |entry: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        Some(stat.rsplit_once(')')?.1.split_whitespace().nth(1)? == this)
    };
    let children = std::fs::read_dir("/proc").unwrap().flatten().filter_map(parent);
    let children = children.filter(|&is_ours| is_ours).count();
    (entries("/proc/self/fd"), entries("/proc/self/task"), children)
}
