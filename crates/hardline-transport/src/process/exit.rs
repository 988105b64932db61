//! End of a child process, for people and for error messages.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use signal_hook::low_level::signal_name;

/// End of a child process, with the last lines of its standard error.
///
/// Shown as `exited with code 1; its last stderr lines: cannot open x | giving up`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exit {
    pub(super) status: Status,
    /// Already escaped and bounded.
    pub(super) stderr_tail: Vec<String>,
}

/// Knowledge about the end of a child.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Status {
    Known(ExitStatus),
    /// The keeper ended early with this status, so the child was killed.
    KeeperLost(ExitStatus),
    /// Other code in this process waited for it, or `SIGCHLD` is ignored.
    Taken,
    /// The process still exists.
    Survived,
}

/// Limits on the lines and bytes of standard error in one message.
const MAX_SHOWN_LINES: usize = 8;
const MAX_SHOWN_BYTES: usize = 1024;

impl Exit {
    /// Returns the exit status. `None` if it is unknown: other code in this program took it, or the
    /// child survived `SIGKILL`, as a process does that waits for broken hardware.
    pub fn status(&self) -> Option<ExitStatus> {
        match self.status {
            Status::Known(status) | Status::KeeperLost(status) => Some(status),
            Status::Taken | Status::Survived => None,
        }
    }

    /// Returns the exit code, if no signal ended the child.
    pub fn code(&self) -> Option<i32> {
        self.status()?.code()
    }

    /// Returns the signal that ended the child.
    pub fn signal(&self) -> Option<i32> {
        self.status()?.signal()
    }

    /// Returns true if the child exited with code 0.
    pub fn is_success(&self) -> bool {
        self.code() == Some(0)
    }

    /// Returns true if the keeper was killed, so that the child and all that it started were killed
    /// too.
    ///
    /// Known only if [`adopt_orphans`](super::adopt_orphans) was called. The status is then the
    /// keeper's.
    pub fn is_keeper_lost(&self) -> bool {
        matches!(self.status, Status::KeeperLost(_))
    }

    /// Returns the status as text that continues "the server …".
    pub fn summary(&self) -> String {
        self.status.to_string()
    }

    /// Returns the last lines of standard error, escaped: at most 32 lines and 8 KiB.
    pub fn stderr_tail(&self) -> &[String] {
        &self.stderr_tail
    }

    /// Returns the end of the tail that fits into a message.
    fn shown(&self) -> &[String] {
        let mut bytes = 0;
        let fitting = |line: &&String| {
            bytes += line.len();
            bytes <= MAX_SHOWN_BYTES
        };
        // The last lines explain the end best, so they are counted from the end.
        let count = self.stderr_tail.iter().rev().take(MAX_SHOWN_LINES).take_while(fitting).count();
        // Always show the last line: its length is bounded.
        let start = self.stderr_tail.len().saturating_sub(count.max(1));
        self.stderr_tail.get(start..).unwrap_or_default()
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.status.fmt(formatter)?;
        let shown = self.shown();
        if shown.is_empty() {
            return Ok(());
        }
        write!(formatter, "; its last stderr lines: {}", shown.join(" | "))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self {
            Self::Known(status) => status,
            Self::KeeperLost(status) => {
                let keeper = Self::Known(*status);
                return write!(formatter, "was killed because its keeper {keeper}");
            }
            Self::Taken => return formatter.write_str("ended with an unknown status"),
            Self::Survived => return formatter.write_str("did not end when it was killed"),
        };
        match (status.code(), status.signal()) {
            (Some(code), _) => write!(formatter, "exited with code {code}"),
            (None, Some(signal)) => match signal_name(signal) {
                Some(name) => write!(formatter, "was ended by signal {signal} ({name})"),
                None => write!(formatter, "was ended by signal {signal}"),
            },
            // Not expected after a wait for the end, but the type allows it.
            (None, None) => write!(formatter, "ended ({status})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: i32, tail: &[&str], expected: &str) {
        let stderr_tail = tail.iter().copied().map(String::from).collect();
        let exit = Exit { status: Status::Known(ExitStatus::from_raw(raw)), stderr_tail };
        assert_eq!(exit.to_string(), expected);
    }

    #[test]
    fn says_how_it_ended() {
        check(0, &[], "exited with code 0");
        check(3 << 8, &["a", "b"], "exited with code 3; its last stderr lines: a | b");
        check(9, &[], "was ended by signal 9 (SIGKILL)");
        check(11 | 0x80, &[], "was ended by signal 11 (SIGSEGV)");
        check(40, &[], "was ended by signal 40");
    }

    #[test]
    fn shows_the_end_of_a_long_tail() {
        let lines: Vec<_> = (0..32).map(|number| number.to_string()).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        check(
            0,
            &lines,
            "exited with code 0; its last stderr lines: 24 | 25 | 26 | 27 | 28 | 29 | 30 | 31",
        );
        let long = "x".repeat(2000);
        check(0, &["a", &long], &format!("exited with code 0; its last stderr lines: {long}"));
        check(0, &[&long, "b"], "exited with code 0; its last stderr lines: b");
    }
}
