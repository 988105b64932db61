//! Tests of the binary as people and scripts use it.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test may panic and start processes"
)]

#[cfg(unix)]
mod advice;
#[cfg(unix)]
mod audit;
#[cfg(unix)]
mod call;
#[cfg(unix)]
mod child;
mod completion;
#[cfg(unix)]
mod demo;
mod demo_server;
mod docs;
#[cfg(unix)]
mod doctor;
mod frames;
#[cfg(unix)]
mod home;
mod hostile;
#[cfg(unix)]
mod install;
#[cfg(unix)]
mod launch;
#[cfg(unix)]
mod login;
#[cfg(unix)]
mod pin;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod policy_command;
#[cfg(target_os = "linux")]
mod process;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod replay;
#[cfg(unix)]
mod resources;
mod rmcp_client;
mod scan;
#[cfg(unix)]
mod screen;
mod session;
#[cfg(unix)]
mod shown;
#[cfg(unix)]
mod stdio;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod tools;
#[cfg(unix)]
mod trouble;

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Returns true if this process ignores a signal, as background jobs of a shell do. Child processes
/// inherit that, so the signal has no effect on them either.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Runs `hardline` with `stdin` as its standard input.
fn hardline(args: &[&str], stdin: &[u8]) -> Output {
    let state = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hardline"))
        .args(args)
        .env("XDG_STATE_HOME", state.path())
        .env("XDG_CONFIG_HOME", state.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // Ignores errors, because a child may exit before it has read everything.
        scope.spawn(move || drop(pipe.write_all(stdin)));
        child.wait_with_output().unwrap()
    })
}
