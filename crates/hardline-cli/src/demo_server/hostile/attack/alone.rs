//! Attacks on the environment of a session. Each needs its own session, so they are tools only by
//! name.

use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::{io::Read, path::Path, thread, time::Duration};

#[cfg(target_os = "linux")]
use hardline_transport::file;
#[cfg(target_os = "linux")]
use rustix::process::{Signal, getppid, kill_process};

use super::{Attack, Due, Next};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "crash-with-secrets",
        what: "Prints made-up secrets to standard error, and ends with code 3",
        rule: None,
        due: Due::Error,
        act: |_| {
            io::stderr().write_all(SECRETS.as_bytes())?;
            Ok(Next::End(3))
        },
    },
    Attack {
        name: "kill-parent",
        what: "Kills its keeper, and lives on for ten minutes",
        rule: None,
        due: Due::Error,
        act: |_| kill_keeper(),
    },
];

/// Made-up secrets.
const SECRETS: &str = "fatal: cannot connect to postgres://shop:hunter2hunter2@db.example.com/shop\n\
    SHOP_PASSWORD=hunter2hunter2\nAuthorization: Bearer hunter2hunter2hunter2\n";

/// Lifetime of a server without its keeper: nothing else would end it.
#[cfg(target_os = "linux")]
const LIFE: Duration = Duration::from_secs(600);
/// Limit on the part of the parent's command line that is read.
#[cfg(target_os = "linux")]
const MAX_COMMAND_BYTES: u64 = 4096;

/// Kills the parent if it is a keeper; never a shell or a client.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "bounded by take()")]
fn kill_keeper() -> io::Result<Next> {
    let Some(parent) = getppid() else { return Ok(Next::End(3)) };
    let mut command = Vec::new();
    let file = file::open(Path::new(&format!("/proc/{parent}/cmdline")))?;
    file.take(MAX_COMMAND_BYTES).read_to_end(&mut command)?;
    // The second word of the command line is the subcommand.
    if command.split(|byte| *byte == 0).nth(1) != Some(b"keeper") {
        return Ok(Next::End(3));
    }
    kill_process(parent, Signal::KILL)?;
    thread::sleep(LIFE);
    Ok(Next::End(3))
}

#[cfg(not(target_os = "linux"))]
fn kill_keeper() -> io::Result<Next> {
    Ok(Next::End(3))
}
