//! Failures that exist only on Unix.

use std::fs::OpenOptions;
use std::io;

use rustix::process::{Signal, getpid, kill_process};
use rustix::stdio::dup2_stdout;

use super::{Attack, Due, Next};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "kill-self",
        what: "Kills itself with SIGKILL instead of an answer",
        rule: None,
        due: Due::Error,
        act: |_| {
            kill_process(getpid(), Signal::KILL)?;
            Ok(Next::Wait)
        },
    },
    Attack {
        name: "close-stdout",
        what: "Closes its standard output, and lives on",
        rule: None,
        due: Due::Error,
        act: |_| close_stdout().map(|()| Next::Wait),
    },
];

fn close_stdout() -> io::Result<()> {
    let nowhere = OpenOptions::new().write(true).open("/dev/null")?;
    // The pipe has no other descriptor in this process, so this closes it.
    Ok(dup2_stdout(nowhere)?)
}
