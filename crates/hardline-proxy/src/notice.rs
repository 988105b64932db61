//! Notices: the events that a relay reports to its observer.

use std::fmt;
use std::time::Duration;

use hardline_guard::session::Asked;
use hardline_guard::{Direction, Found, Rule};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::message::Message;
use hardline_wire::version::Version;

use crate::relay::StartRefusal;
use crate::verdict::Verdict;

/// An event of a session. Notices are for the observer and are never written to the protocol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// A line was judged. Sent only to an observer that asks for lines.
    Line(CheckedLine<'a>),
    /// A rule found something.
    Found(&'a Found),
    /// A call of a hidden or denied tool was refused. Contains the name as the client wrote it.
    Denied(&'a str),
    /// The pins could not be read or stored.
    Trouble(&'a str),
    /// Variables that the client set and the server does not get, because they choose code.
    Confined(&'a str),
    /// Number of further findings in a line that are not listed.
    Unlisted(usize),
    /// Number of notifications and requests over the rate limit of a server that has ended.
    Dropped(u64),
    /// A line of the server's standard output that is no message.
    Noise(&'a [u8]),
    /// The server ended.
    ServerEnded {
        /// Description of the end, such as an exit status.
        how: &'a str,
        /// Number of the client's requests that failed with it.
        failed: usize,
        /// Last lines of its standard error, without secrets; empty if there are none. They are
        /// never sent to the client.
        stderr_excerpt: &'a str,
    },
    /// The server's keeper process was killed, so the server's processes were ended.
    KeeperLost,
    /// The server will be started again.
    Restarting {
        /// Delay before the restart.
        after: Duration,
        /// True if the server ended too often; requests fail until the restart.
        is_broken: bool,
    },
    /// The launcher refused to start the server again.
    NotStarted(&'a StartRefusal),
    /// The server runs again, and the session with it is restored.
    Restored,
    /// The restarted server differs from the previous one; the text describes the difference.
    Changed(&'a str),
    /// The restarted server wants another protocol version, so the session ends.
    OtherVersion(Option<Version>),
    /// Writing to the client failed.
    Unwritable(&'a std::io::Error),
    /// A request of the client exceeded its deadline.
    TimedOut,
    /// The policy ends the session because of this rule.
    Closed(Rule),
}

/// A line with its verdict.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CheckedLine<'a> {
    /// Direction of the line.
    pub direction: Direction,
    /// The line as received, without its line end. For an overlong line, its beginning.
    pub raw: &'a [u8],
    /// Length of the whole line, in bytes.
    pub length: u64,
    /// The message in the line, if it is exactly one.
    pub message: Option<&'a Message<'a>>,
    /// Verdict on the line.
    pub verdict: Verdict,
    /// The request that this line answers, if it is an answer.
    pub asked: Option<&'a Asked>,
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(seen) => write!(formatter, "a line of {} bytes", seen.length),
            Self::Denied(tool) => {
                // The client chose the name, so it must not reach a terminal unescaped.
                let tool = Excerpt::new(tool.as_bytes(), 80);
                write!(formatter, "a call of `{tool}` was refused: the tool is hidden or denied")
            }
            Self::Trouble(text) | Self::Confined(text) => formatter.write_str(text),
            Self::Found(found) => write_found(formatter, found),
            Self::Unlisted(count) => write!(formatter, "{count} more findings like these"),
            Self::Dropped(count) => {
                write!(
                    formatter,
                    "{count} messages of the server exceeded its rate limit and were dropped"
                )
            }
            // Its content is left out: the server wrote it.
            Self::Noise(_) => formatter.write_str("a line that is no message"),
            Self::ServerEnded { how, failed, stderr_excerpt } => {
                write_end(formatter, how, *failed, stderr_excerpt)
            }
            Self::KeeperLost => formatter.write_str(
                "the server's keeper was killed, most likely by the server; everything that the \
                 server had started was ended",
            ),
            Self::Restarting { after, is_broken: false } => {
                write!(formatter, "starting the server again in {} ms", after.as_millis())
            }
            Self::Restarting { after, .. } => write!(
                formatter,
                "the server ends too often; restarting it in {} s, and requests fail until then",
                after.as_secs()
            ),
            Self::NotStarted(refused) => write!(
                formatter,
                "the server is not restarted, because of {}: {}",
                refused.rule, refused.reason
            ),
            Self::Restored => formatter.write_str("the server runs again"),
            Self::Changed(what) => write!(formatter, "after its restart, {what}"),
            Self::OtherVersion(Some(version)) => {
                write!(formatter, "after its restart, the server wants {version}: session ended")
            }
            Self::OtherVersion(None) => formatter
                .write_str("after its restart, the server wants another version: session ended"),
            Self::Unwritable(error) => {
                write!(formatter, "cannot write to standard output: {error}: session ended")
            }
            Self::TimedOut => formatter.write_str("a request timed out and was cancelled"),
            Self::Closed(rule) => write!(formatter, "the session is closed because of {rule}"),
        }
    }
}

fn write_found(formatter: &mut fmt::Formatter<'_>, found: &Found) -> fmt::Result {
    let finding = &found.finding;
    write!(
        formatter,
        "{} {} ({}, {}): {}",
        finding.severity,
        finding.rule,
        found.action.name(),
        finding.direction.name(),
        finding.detail
    )?;
    if let Some(path) = &finding.path {
        write!(formatter, " at {path}")?;
    }
    if !finding.excerpt.is_empty() {
        write!(formatter, ": {}", finding.excerpt)?;
    }
    Ok(())
}

fn write_end(
    formatter: &mut fmt::Formatter<'_>,
    how: &str,
    failed: usize,
    stderr_excerpt: &str,
) -> fmt::Result {
    write!(formatter, "the server {how}")?;
    if failed > 0 {
        write!(formatter, "; {failed} requests failed")?;
    }
    // Escaped when it was captured, and redacted when the server ended.
    if !stderr_excerpt.is_empty() {
        write!(formatter, "; its last stderr lines: {stderr_excerpt}")?;
    }
    Ok(())
}
