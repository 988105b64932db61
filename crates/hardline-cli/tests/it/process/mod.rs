//! Child processes, with the binary as their keeper: no process is ever left behind.
//!
//! Every process of a test has a [`Mark`] in its environment, by which the test finds it.

mod ending;
mod keeper;
mod orphan;
mod output;
mod starting;

use std::fs;
use std::future::Future;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hardline_transport::process::{Child, Command, Environment, Exit, Keeper, Stderr, Times};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;

/// Deadline for each step; generous, because the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(30);
/// Variable that is set in a test that runs in its own process.
const ALONE: &str = "HARDLINE_TEST_ALONE";
const MARK: &str = "HARDLINE_TEST_MARK";

/// Finds all processes that a test has started, and kills the rest when dropped.
struct Mark(String);

impl Mark {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{MARK}={}-{count}", std::process::id()))
    }

    fn value(&self) -> &str {
        self.0.split_once('=').unwrap().1
    }

    /// Returns the living processes with their command lines.
    fn living(&self) -> Vec<(Pid, String)> {
        let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
        let pids = names.filter_map(|name| Pid::from_raw(name.to_str()?.parse().ok()?));
        let has_mark = |pid: &Pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|variable| variable == self.0.as_bytes())
        };
        let command = |pid: Pid| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let show = |pid: Pid| String::from_utf8_lossy(&command(pid)).replace('\0', " ");
        pids.filter(has_mark).map(|pid| (pid, show(pid))).collect()
    }

    #[track_caller]
    fn assert_gone(&self) {
        assert_eq!(self.living(), []);
    }

    /// Like `assert_gone`, where the test did not wait for the end.
    #[track_caller]
    fn assert_gone_soon(&self) {
        poll("all processes to be gone", || self.living().is_empty());
    }

    /// Returns a shell that runs `script`, with short grace periods; its standard error is stored,
    /// not forwarded.
    fn shell(&self, script: &str, is_kept: bool) -> Command {
        let short = Duration::from_millis(150);
        let times = Times::default().with_exit(short).with_terminate(short).with_leftovers(short);
        let command = Command::new("/bin/sh", Environment::Inherit)
            .args(["-c", script])
            .env(MARK, self.value())
            .stderr(Stderr::tail_only())
            .times(times);
        if is_kept { command.keeper(keeper()) } else { command }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // Repeated, because a process may start another in the meantime.
        for _ in 0..100 {
            for (pid, _) in self.living() {
                let _ = kill_process(pid, Signal::KILL);
            }
            if self.living().is_empty() {
                break;
            }
        }
    }
}

fn keeper() -> Keeper {
    Keeper::new(env!("CARGO_BIN_EXE_hardline"), ["keeper"])
}

/// Runs `test` without and with a keeper.
#[track_caller]
fn check<F: Future<Output = ()>>(test: impl Fn(Mark, bool) -> F) {
    for is_kept in [false, true] {
        runtime().block_on(test(Mark::new(), is_kept));
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Starts `script` and waits until it has written `ready`.
async fn start(mark: &Mark, script: &str, is_kept: bool) -> (Child, BufReader<Receiver>) {
    let mut child = mark.shell(script, is_kept).spawn().unwrap();
    let mut stdout = BufReader::new(child.take_stdout().unwrap());
    assert_eq!(line(&mut stdout).await, "ready");
    (child, stdout)
}

async fn line(stdout: &mut BufReader<Receiver>) -> String {
    let mut line = String::new();
    in_time(stdout.read_line(&mut line)).await.unwrap();
    line.trim_end().to_owned()
}

async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("this takes too long")
}

#[track_caller]
fn poll(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "no end of waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns `None` if this is the separate process of the test `name`. Otherwise starts that
/// process, passes it to `watch`, and returns its exit status.
fn alone(name: &str, watch: impl FnOnce(&mut std::process::Child)) -> Option<ExitStatus> {
    if std::env::var_os(ALONE).is_some() {
        return None;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    watch(&mut child);
    Some(child.wait().unwrap())
}

/// Runs the rest of the test `name` in a separate process, in which no other test starts processes.
macro_rules! in_a_process_of_its_own {
    ($name:literal) => {
        let mut output = String::new();
        let status = super::alone(concat!("process::", $name), |child| {
            use std::io::Read;
            child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
            child.stderr.take().unwrap().read_to_string(&mut output).unwrap();
        });
        if let Some(status) = status {
            assert!(status.success() && output.contains("1 passed"), "{status}: {output}");
            return;
        }
    };
}
use in_a_process_of_its_own;

#[track_caller]
fn assert_killed(exit: &Exit) {
    assert_eq!(exit.signal(), Some(Signal::KILL.as_raw()), "{exit}");
}
