//! The negotiated session, and the state that a renewed session must restore.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hardline_wire::encode::push_json_string;
use hardline_wire::version::Version;
use rmcp::model::{LoggingLevel, ServerCapabilities};

use super::ServerInfo;
use crate::Settings;

/// The outcome of the negotiation with the server.
#[derive(Debug)]
pub(super) struct Session {
    /// Number of this session among those of the connection, counted from 1; 0 before the first.
    pub(super) generation: u64,
    pub(super) info: ServerInfo,
    /// Members of `_meta` that every request carries.
    pub(super) meta: String,
}

/// State of the session that the client restores after a renewal.
#[derive(Debug, Default)]
pub(super) struct Restorable {
    pub(super) level: Option<LoggingLevel>,
    pub(super) subscriptions: BTreeSet<String>,
}

impl Session {
    /// Creates the placeholder for a session that is not negotiated yet.
    pub(super) fn unopened() -> Self {
        let info = ServerInfo {
            version: Version::LATEST_WITH_HANDSHAKE,
            capabilities: ServerCapabilities::default(),
            implementation: None,
            instructions: None,
        };
        Self { generation: 0, info, meta: String::new() }
    }

    pub(super) fn new(generation: u64, info: ServerInfo, settings: &Settings) -> Self {
        let meta = if info.version.has_handshake() {
            String::new()
        } else {
            request_meta(info.version, settings)
        };
        Self { generation, info, meta }
    }

    /// Returns true if the version has no handshake, so that every request carries its version.
    pub(super) fn is_stateless(&self) -> bool {
        !self.info.version.has_handshake()
    }
}

/// Returns the members of `_meta` that a request without a handshake carries.
pub(super) fn request_meta(version: Version, settings: &Settings) -> String {
    let mut meta = String::from(r#""io.modelcontextprotocol/protocolVersion":"#);
    push_json_string(&mut meta, version.as_str());
    let parts = [
        ("clientInfo", serde_json::to_string(&settings.info)),
        ("clientCapabilities", serde_json::to_string(&settings.capabilities)),
    ];
    for (name, value) in parts {
        // These types always serialize; an empty object is still valid.
        let value = value.unwrap_or_else(|_| "{}".into());
        let _ = write!(meta, r#","io.modelcontextprotocol/{name}":{value}"#);
    }
    meta
}
