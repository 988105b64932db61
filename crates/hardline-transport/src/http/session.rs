//! Which session is open, and what its requests carry.

use std::sync::{Mutex, PoisonError};

use hardline_wire::version::Version;
use reqwest::header::{HeaderMap, HeaderValue};

/// The header that names a session.
pub(super) const SESSION_ID: &str = "mcp-session-id";
/// The longest name of a session that is taken: servers put signed tokens into it, but it goes into
/// every request.
const MAX_SESSION_ID_BYTES: usize = 4096;

/// The session that the server has opened, if it has.
#[derive(Debug, Default)]
pub(super) struct Session(Mutex<Stamp>);

/// The session as it was when a request was made.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamp {
    /// How many sessions were forgotten before this one.
    generation: u64,
    pub(super) id: Option<HeaderValue>,
    /// The version that was agreed on.
    pub(super) version: Option<Version>,
}

impl Session {
    pub(super) fn stamp(&self) -> Stamp {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a request that opens a session carries: nothing of the one before.
    pub(super) fn blank_stamp(&self) -> Stamp {
        Stamp { id: None, version: None, ..self.stamp() }
    }

    /// Takes the id that came with the answer to a request that opened a session, unless another was
    /// opened since.
    pub(super) fn open(&self, stamp: &Stamp, id: Option<HeaderValue>) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if current.generation == stamp.generation {
            current.id = id;
        }
    }

    /// Takes the version that was agreed on.
    pub(super) fn agree(&self, version: Version) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.version = Some(version);
        if !version.has_handshake() {
            current.id = None;
        }
    }

    pub(super) fn forget(&self) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Stamp { generation: current.generation + 1, ..Stamp::default() };
    }
}

/// The id of the session in the head of an answer.
///
/// # Errors
///
/// If it cannot be one: then no later request would be understood.
pub(super) fn session_id(headers: &HeaderMap) -> Result<Option<HeaderValue>, &'static str> {
    let Some(id) = headers.get(SESSION_ID) else { return Ok(None) };
    if MAX_SESSION_ID_BYTES < id.len() {
        return Err("the id of the session is longer than 4096 bytes");
    }
    if id.is_empty() || !id.as_bytes().iter().all(u8::is_ascii_graphic) {
        return Err("the id of the session has characters that it must not have");
    }
    let mut id = id.clone();
    id.set_sensitive(true);
    Ok(Some(id))
}
