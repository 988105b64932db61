//! What a reader is given.

use rusqlite::{Result, Row};
use serde::{Serialize, Serializer};

use super::Time;

/// A session.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Session {
    /// Its key: 16 hexadecimal digits.
    pub session: String,
    /// The server's name.
    pub server: String,
    /// The server's command line, as a JSON array.
    #[serde(serialize_with = "raw")]
    pub command: String,
    /// The profile in force.
    pub profile: String,
    /// The version of Hardline.
    pub version: String,
    /// The client, as it names itself.
    pub client: Option<String>,
    /// The process that relays.
    pub pid: u32,
    /// Where it runs.
    pub cwd: Option<String>,
    /// When it began.
    pub started: Time,
    /// When it was last heard of.
    pub seen: Time,
    /// When it ended. None if it runs, or was killed.
    pub ended: Option<Time>,
    /// How it ended.
    pub outcome: Option<String>,
    /// Messages, in both directions.
    pub messages: u64,
    /// The bytes of those.
    pub bytes: u64,
    /// Findings.
    pub findings: u64,
}

/// A finding.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// When it was found.
    pub at: Time,
    /// The session's key.
    pub session: String,
    /// The server's name.
    pub server: String,
    /// The rule.
    pub rule: String,
    /// How bad it is.
    pub severity: String,
    /// Which way the frame went.
    pub direction: String,
    /// What was done about it.
    pub action: String,
    /// Where in the frame's JSON it was.
    pub path: Option<String>,
    /// Where it started in the frame, in bytes.
    pub offset: u64,
    /// How many bytes it took there.
    pub length: u64,
    /// What stood there.
    pub excerpt: String,
    /// What it is, in words.
    pub detail: String,
    /// How many findings of this kind it stands for.
    pub count: u64,
}

/// A message that has a row of its own.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Message {
    /// When it was seen.
    pub at: Time,
    /// The session's key.
    pub session: String,
    /// The server's name.
    pub server: String,
    /// Which way it went.
    pub direction: String,
    /// Its method, or that of the request that it answers.
    pub method: Option<String>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// Its id, as JSON.
    pub id: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// For an answer, the microseconds since its request.
    pub latency: Option<u64>,
    /// What became of it.
    pub verdict: String,
    /// Its text, redacted and cut, if bodies were kept.
    pub body: Option<String>,
}

/// Something else that happened: a launch, a restart, an end.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// When.
    pub at: Time,
    /// The session's key.
    pub session: String,
    /// The server's name.
    pub server: String,
    /// What kind of event: `launch` for a server that was started.
    pub kind: String,
    /// What happened, in words.
    pub text: String,
    /// The SHA-256 of what was started.
    pub sha256: Option<String>,
}

impl Session {
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            session: row.get(1)?,
            server: row.get(2)?,
            command: row.get(3)?,
            profile: row.get(4)?,
            version: row.get(5)?,
            client: row.get(6)?,
            pid: row.get(7)?,
            cwd: row.get(8)?,
            started: Time(row.get(9)?),
            seen: Time(row.get(10)?),
            ended: row.get::<_, Option<i64>>(11)?.map(Time),
            outcome: row.get(12)?,
            messages: count(row, 13)?,
            bytes: count(row, 14)?,
            findings: count(row, 15)?,
        })
    }
}

impl Finding {
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            at: Time(row.get(1)?),
            session: row.get(2)?,
            server: row.get(3)?,
            rule: row.get(4)?,
            severity: row.get(5)?,
            direction: row.get(6)?,
            action: row.get(7)?,
            path: row.get(8)?,
            offset: count(row, 9)?,
            length: count(row, 10)?,
            excerpt: row.get(11)?,
            detail: row.get(12)?,
            count: count(row, 13)?,
        })
    }
}

impl Message {
    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            at: Time(row.get(1)?),
            session: row.get(2)?,
            server: row.get(3)?,
            direction: row.get(4)?,
            method: row.get(5)?,
            tool: row.get(6)?,
            id: row.get(7)?,
            bytes: count(row, 8)?,
            latency: row.get::<_, Option<i64>>(9)?.and_then(|it| u64::try_from(it).ok()),
            verdict: row.get(10)?,
            body: row.get(11)?,
        })
    }
}

/// A number that is never negative.
pub(super) fn count(row: &Row<'_>, index: usize) -> Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(index)?).unwrap_or(0))
}

/// A text that is JSON itself.
fn raw<S: Serializer>(text: &str, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    let words: Vec<String> = serde_json::from_str(text).unwrap_or_default();
    words.serialize(serializer)
}
