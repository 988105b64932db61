//! The current session, and the headers that its requests carry.

use std::sync::{Mutex, PoisonError};

use hardline_wire::version::Version;
use reqwest::header::{HeaderMap, HeaderValue};

/// Header with the session id.
pub(super) const SESSION_ID: &str = "mcp-session-id";
/// Length limit of a session id. Servers put signed tokens into it, but it goes into every request.
const MAX_SESSION_ID_BYTES: usize = 4096;

/// The session that the server has opened, if any.
#[derive(Debug, Default)]
pub(super) struct Session(Mutex<Stamp>);

/// Snapshot of the session for one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Stamp {
    /// Number of sessions forgotten before this one.
    generation: u64,
    pub(super) id: Option<HeaderValue>,
    /// The negotiated version.
    pub(super) version: Option<Version>,
}

impl Session {
    pub(super) fn stamp(&self) -> Stamp {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the snapshot for a request that opens a session: without the id and version of the
    /// old one.
    pub(super) fn blank_stamp(&self) -> Stamp {
        Stamp { id: None, version: None, ..self.stamp() }
    }

    /// Stores the session id from the answer to an opening request, unless another session was
    /// opened since.
    pub(super) fn open(&self, stamp: &Stamp, id: Option<HeaderValue>) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A late answer of an earlier session must not replace the id of the current one.
        if current.generation == stamp.generation {
            current.id = id;
        }
    }

    /// Stores the negotiated version.
    pub(super) fn agree(&self, version: Version) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        current.version = Some(version);
        // Versions without a handshake have no sessions.
        if !version.has_handshake() {
            current.id = None;
        }
    }

    pub(super) fn forget(&self) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Stamp { generation: current.generation + 1, ..Stamp::default() };
    }
}

/// Returns the session id in the headers of a response.
///
/// # Errors
///
/// If the id is invalid: the server would not recognize any later request.
pub(super) fn session_id(headers: &HeaderMap) -> Result<Option<HeaderValue>, &'static str> {
    let Some(id) = headers.get(SESSION_ID) else { return Ok(None) };
    if id.len() > MAX_SESSION_ID_BYTES {
        return Err("the id of the session is longer than 4096 bytes");
    }
    if id.is_empty() || !id.as_bytes().iter().all(u8::is_ascii_graphic) {
        return Err("the id of the session has characters that it must not have");
    }
    let mut id = id.clone();
    // The id authorizes requests, so it must not reach a log.
    id.set_sensitive(true);
    Ok(Some(id))
}
