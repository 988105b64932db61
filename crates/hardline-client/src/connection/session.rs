//! What was agreed with the server, and what it was told that a new session must be told again.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hardline_wire::encode::push_json_string;
use hardline_wire::version::Version;
use rmcp::model::{LoggingLevel, ServerCapabilities};

use super::ServerInfo;
use crate::Settings;

/// What was agreed with the server.
#[derive(Debug)]
pub(super) struct Session {
    /// How many sessions there were before.
    pub(super) generation: u64,
    pub(super) info: ServerInfo,
    /// Members of `_meta` that every request has.
    pub(super) meta: String,
}

/// What a new session must be told again.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) level: Option<LoggingLevel>,
    pub(super) subscriptions: BTreeSet<String>,
}

impl Session {
    /// Before anything is agreed.
    pub(super) fn unopened() -> Self {
        let info = ServerInfo {
            version: Version::V2025_11_25,
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

    /// Whether every request says its version, and nothing is remembered between them.
    pub(super) fn is_stateless(&self) -> bool {
        !self.info.version.has_handshake()
    }
}

/// What a request of a version without `initialize` says of the client.
pub(super) fn request_meta(version: Version, settings: &Settings) -> String {
    let mut meta = String::from(r#""io.modelcontextprotocol/protocolVersion":"#);
    push_json_string(&mut meta, version.as_str());
    let parts = [
        ("clientInfo", serde_json::to_string(&settings.info)),
        ("clientCapabilities", serde_json::to_string(&settings.capabilities)),
    ];
    for (name, value) in parts {
        let value = value.unwrap_or_else(|_| "{}".into());
        let _ = write!(meta, r#","io.modelcontextprotocol/{name}":{value}"#);
    }
    meta
}
