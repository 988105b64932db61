//! What a relay has to tell whoever watches it.

use std::fmt;
use std::time::Duration;

use hardline_guard::session::Asked;
use hardline_guard::{Direction, Found, Rule};
use hardline_wire::excerpt::Excerpt;
use hardline_wire::message::Message;
use hardline_wire::version::Version;

use crate::audit::Fate;
use crate::relay::Refused;

/// Something that happened. Nothing in it is written to the protocol.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Note<'a> {
    /// A line was judged. Only told to those who want lines.
    Line(Seen<'a>),
    /// A rule found something.
    Found(&'a Found),
    /// A call of a tool that is hidden or denied was refused: the name, as the client wrote it.
    Denied(&'a str),
    /// Something about the pins cannot be kept.
    Trouble(&'a str),
    /// The server does not get these variables from the client, as they choose code.
    Confined(&'a str),
    /// So many more findings of one line are not listed.
    Unlisted(usize),
    /// So many notifications and requests of a server that has ended were over its budget.
    Dropped(u64),
    /// A line of the server's standard output that is no message.
    Noise(&'a [u8]),
    /// The server ended; so many requests of the client failed with it.
    ServerEnded {
        /// How it ended, in words.
        how: &'a str,
        /// Requests that failed.
        failed: usize,
        /// The last lines of its standard error without secrets; empty if there are none. No client is
        /// told them.
        stderr_excerpt: &'a str,
    },
    /// Something killed the process that keeps the server's processes together; they were ended.
    KeeperLost,
    /// The server will be started again.
    Restarting {
        /// How long that will take.
        after: Duration,
        /// Whether it ended too often, and requests fail until then.
        is_broken: bool,
    },
    /// The server may not be started again.
    NotStarted(&'a Refused),
    /// The server runs again, and knows what the one before did.
    Restored,
    /// The server that was started again differs from the one before.
    Changed(&'a str),
    /// A server that was started again wants another version: the session ends.
    OtherVersion(Option<Version>),
    /// What goes to the client cannot be written.
    Unwritable(&'a std::io::Error),
    /// A request of the client took too long.
    TimedOut,
    /// The policy ends the session.
    Closed(Rule),
}

/// A line that was judged.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Seen<'a> {
    /// Which way it goes.
    pub direction: Direction,
    /// The line as it came, without its end; of one that is too long, its beginning.
    pub raw: &'a [u8],
    /// How long it is.
    pub length: u64,
    /// What it is, if it is one message.
    pub message: Option<&'a Message<'a>>,
    /// What became of it.
    pub fate: Fate,
    /// What was asked, if it is the answer.
    pub asked: Option<&'a Asked>,
}

impl fmt::Display for Note<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(seen) => write!(formatter, "a line of {} bytes", seen.length),
            Self::Denied(tool) => {
                let tool = Excerpt::new(tool.as_bytes(), 80);
                write!(formatter, "a call of `{tool}` was refused: the tool is hidden or denied")
            }
            Self::Trouble(text) | Self::Confined(text) => formatter.write_str(text),
            Self::Found(found) => write_found(formatter, found),
            Self::Unlisted(count) => write!(formatter, "{count} more findings like these"),
            Self::Dropped(count) => {
                write!(
                    formatter,
                    "{count} messages of the server were over its budget, and dropped"
                )
            }
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
                "the server ends too often; it is tried again in {} s, and requests fail until then",
                after.as_secs()
            ),
            Self::NotStarted(refused) => write!(
                formatter,
                "the server is not started again, because of {}: {}",
                refused.rule, refused.reason
            ),
            Self::Restored => formatter.write_str("the server runs again"),
            Self::Changed(what) => write!(formatter, "after its restart, {what}"),
            Self::OtherVersion(Some(version)) => {
                write!(formatter, "after its restart, the server wants {version}: session ended")
            }
            Self::OtherVersion(None) => {
                formatter.write_str("after its restart, the server wants another version")
            }
            Self::Unwritable(error) => {
                write!(formatter, "standard output cannot be written: {error}: session ended")
            }
            Self::TimedOut => formatter.write_str("a request took too long, and was cancelled"),
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
    if !stderr_excerpt.is_empty() {
        write!(formatter, "; its last stderr lines: {stderr_excerpt}")?;
    }
    Ok(())
}
