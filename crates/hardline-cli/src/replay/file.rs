//! Reads a file of recorded sessions, line by line.
//!
//! `wrap --record` appends, and several processes may write at once: a file can have many
//! interleaved sessions.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hardline_guard::Direction;
use hardline_transport::file;
use hardline_wire::json::Checker;
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;

use super::script::{Script, Writer};
use crate::recording::{Recorded, file_limits};
use crate::terminal::{complain, shown_path};

const CHUNK_BYTES: usize = 256 << 10;
/// Limit on reported lines that are not part of a recording.
const MAX_COMPLAINTS: u64 = 3;

/// A session in a file.
#[derive(Debug, Default)]
pub(super) struct RecordedSession {
    pub(super) id: String,
    /// Time of its first line, since 1970.
    pub(super) since: Option<Duration>,
    /// Number of lines of the client.
    pub(super) client: u64,
    /// Number of lines of the server.
    pub(super) server: u64,
}

/// Returns the sessions of a file, in the order of their first lines.
pub(super) fn sessions(path: &Path, limits: &Limits) -> Result<Vec<RecordedSession>> {
    let mut sessions: Vec<RecordedSession> = Vec::new();
    let mut broken = 0;
    each_line(path, limits, |number, recorded| {
        let Some(recorded) = recorded else {
            broken += 1;
            if broken <= MAX_COMPLAINTS {
                complain(&format!(
                    "{}:{number}: not a line of a recording; skipped",
                    shown_path(path)
                ));
            }
            return Ok(());
        };
        // Few processes write at once, so the session is among the last ones.
        let known = sessions.iter().rposition(|session| session.id == *recorded.session);
        // Sessions are listed in the order of their first lines.
        let index = known.unwrap_or_else(|| {
            let (id, since) = (recorded.session.clone().into_owned(), recorded.time);
            sessions.push(RecordedSession { id, since, ..RecordedSession::default() });
            sessions.len() - 1
        });
        if let Some(session) = sessions.get_mut(index) {
            match recorded.direction {
                Direction::ClientToServer => session.client += 1,
                Direction::ServerToClient => session.server += 1,
            }
        }
        Ok(())
    })?;
    if sessions.is_empty() {
        bail!("{}: not a recording; `hardline wrap --record FILE` writes one", shown_path(path));
    }
    if broken > MAX_COMPLAINTS {
        complain(&format!(
            "{} more lines that are not part of a recording",
            broken - MAX_COMPLAINTS
        ));
    }
    Ok(sessions)
}

/// Returns the session with this id, or the only one with this prefix; without `wanted`, the last
/// one.
pub(super) fn choose<'a>(
    sessions: &'a [RecordedSession],
    wanted: Option<&str>,
) -> Result<&'a RecordedSession> {
    let Some(wanted) = wanted else {
        return sessions.last().context("the file has no session");
    };
    // An exact id wins, even if it is a prefix of another one.
    if let Some(session) = sessions.iter().find(|session| session.id == wanted) {
        return Ok(session);
    }
    let mut fitting = sessions.iter().filter(|session| session.id.starts_with(wanted));
    match (fitting.next(), fitting.next()) {
        (Some(session), None) => Ok(session),
        (None, _) => bail!("there is no session {wanted:?}; --list shows all sessions"),
        (Some(_), Some(_)) => bail!("several session ids start with {wanted:?}; --list shows them"),
    }
}

/// Reads one session.
pub(super) fn script(
    path: &Path,
    session: &RecordedSession,
    limits: &Limits,
    is_strict: bool,
) -> Result<Script> {
    let mut writer = Writer::new(limits, is_strict);
    each_line(path, limits, |_, recorded| match recorded {
        Some(recorded) if *recorded.session == session.id => writer.take(&recorded),
        _ => Ok(()),
    })?;
    Ok(writer.finish())
}

/// Calls `take` with each line of a file and its number; `None` for a line that is not part of a
/// recording.
fn each_line(
    path: &Path,
    limits: &Limits,
    mut take: impl FnMut(u64, Option<Recorded<'_>>) -> Result<()>,
) -> Result<()> {
    let unreadable = || format!("cannot read {}", shown_path(path));
    let mut file = file::open(path).with_context(unreadable)?;
    let limits = file_limits(limits);
    let (mut framer, mut checker) = (LineFramer::new(&limits), Checker::new(&limits));
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut number = 0;
    loop {
        let length = match file.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            outcome => outcome.with_context(unreadable)?,
        };
        let mut chunk = buffer.get(..length).unwrap_or_default();
        loop {
            // At the end of the file, the last line may lack its line end.
            let line = if length == 0 { framer.finish() } else { framer.next_line(&mut chunk) };
            let Some(line) = line else { break };
            number += 1;
            if !line.is_blank() {
                let text = line.whole().unwrap_or_default();
                take(number, Recorded::read(&mut checker, text))?;
            }
        }
        if length == 0 {
            return Ok(());
        }
    }
}
