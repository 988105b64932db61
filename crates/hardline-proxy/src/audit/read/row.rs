//! Records that a reader returns.

use rusqlite::{Result, Row};
use serde::{Serialize, Serializer};

use super::Time;

/// A session.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SessionRow {
    /// Key of the session: 16 hexadecimal digits.
    pub session: String,
    /// Name of the server.
    pub server: String,
    /// Command line of the server, as a JSON array.
    #[serde(serialize_with = "raw")]
    pub command: String,
    /// Name of the active profile.
    pub profile: String,
    /// Version of Hardline.
    pub version: String,
    /// Name that the client gave itself.
    pub client: Option<String>,
    /// Process id of the relay.
    pub pid: u32,
    /// Working directory of the relay.
    pub cwd: Option<String>,
    /// Start of the session.
    pub started: Time,
    /// Time of the last record.
    pub seen: Time,
    /// End of the session. `None` if it still runs or was killed.
    pub ended: Option<Time>,
    /// Description of the end.
    pub outcome: Option<String>,
    /// Number of messages in both directions.
    pub messages: u64,
    /// Total length of the messages.
    pub bytes: u64,
    /// Number of findings.
    pub findings: u64,
}

/// A finding.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FindingRow {
    /// Time of the finding.
    pub at: Time,
    /// Key of the session.
    pub session: String,
    /// Name of the server.
    pub server: String,
    /// Name of the rule.
    pub rule: String,
    /// Severity.
    pub severity: String,
    /// Direction of the frame.
    pub direction: String,
    /// Action that the policy took.
    pub action: String,
    /// Path of the matched text in the JSON of the frame.
    pub path: Option<String>,
    /// Offset of the matched text in the frame, in bytes.
    pub offset: u64,
    /// Length of the matched text in the frame, in bytes.
    pub length: u64,
    /// Excerpt of the matched text.
    pub excerpt: String,
    /// Description of the finding.
    pub detail: String,
    /// Number of findings of this kind that this record stands for.
    pub count: u64,
}

/// A message that has a row of its own.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MessageRow {
    /// Time at which the message was read.
    pub at: Time,
    /// Key of the session.
    pub session: String,
    /// Name of the server.
    pub server: String,
    /// Direction of the message.
    pub direction: String,
    /// Method of the message; for an answer, the method of its request.
    pub method: Option<String>,
    /// Name of the called tool.
    pub tool: Option<String>,
    /// Id of the message, as JSON.
    pub id: Option<String>,
    /// Length of the message in bytes.
    pub bytes: u64,
    /// For an answer, the microseconds since its request.
    pub latency: Option<u64>,
    /// Outcome of the message: the name of a [`Verdict`](crate::Verdict).
    pub verdict: String,
    /// Text of the message, redacted and shortened, if texts were stored.
    pub body: Option<String>,
}

/// An event other than a message or finding: a launch, a restart, an end.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EventRow {
    /// Time of the event.
    pub at: Time,
    /// Key of the session.
    pub session: String,
    /// Name of the server.
    pub server: String,
    /// Kind of event: `launch` for a started server.
    pub kind: String,
    /// Description of the event.
    pub text: String,
    /// SHA-256 of the started executable.
    pub sha256: Option<String>,
}

impl SessionRow {
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            session: row.get("key")?,
            server: row.get("server")?,
            command: row.get("command")?,
            profile: row.get("profile")?,
            version: row.get("version")?,
            client: row.get("client")?,
            pid: row.get("pid")?,
            cwd: row.get("cwd")?,
            started: Time(row.get("started")?),
            seen: Time(row.get("seen")?),
            ended: row.get::<_, Option<i64>>("ended")?.map(Time),
            outcome: row.get("outcome")?,
            messages: count(row, "messages")?,
            bytes: count(row, "bytes")?,
            findings: count(row, "findings")?,
        })
    }
}

impl FindingRow {
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            at: Time(row.get("at")?),
            session: row.get("key")?,
            server: row.get("server")?,
            rule: row.get("rule")?,
            severity: row.get("severity")?,
            direction: row.get("direction")?,
            action: row.get("action")?,
            path: row.get("path")?,
            offset: count(row, "offset")?,
            length: count(row, "length")?,
            excerpt: row.get("excerpt")?,
            detail: row.get("detail")?,
            count: count(row, "count")?,
        })
    }
}

impl MessageRow {
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            at: Time(row.get("at")?),
            session: row.get("key")?,
            server: row.get("server")?,
            direction: row.get("direction")?,
            method: row.get("method")?,
            tool: row.get("tool")?,
            id: row.get("request")?,
            bytes: count(row, "bytes")?,
            // Never negative in practice; another value is treated as unknown.
            latency: row.get::<_, Option<i64>>("latency")?.and_then(|it| u64::try_from(it).ok()),
            verdict: row.get("verdict")?,
            body: row.get("body")?,
        })
    }
}

impl EventRow {
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        // Launches are in a table of their own, without a kind.
        let kind: Option<String> = row.get("kind")?;
        Ok(Self {
            at: Time(row.get("at")?),
            session: row.get("key")?,
            server: row.get("server")?,
            kind: kind.unwrap_or_else(|| "launch".to_owned()),
            text: row.get("text")?,
            sha256: row.get("sha256")?,
        })
    }
}

/// Reads a count. SQLite stores it signed; it is never negative.
pub(super) fn count(row: &Row<'_>, column: &str) -> Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// Serializes a text that contains a JSON array.
fn raw<S: Serializer>(text: &str, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    // Parsed again, so that JSON output contains an array and not a quoted string.
    let words: Vec<String> = serde_json::from_str(text).unwrap_or_default();
    words.serialize(serializer)
}
