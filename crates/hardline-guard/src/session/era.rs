//! Learns the version and the capabilities of both sides from the traffic.

use hardline_wire::json::Value;
use hardline_wire::method::Owner;
use hardline_wire::version::Version;

use super::capability::Capabilities;
use crate::finding::Direction;

/// The negotiated state of a session so far.
#[derive(Debug, Default)]
pub(super) struct Era {
    pub(super) version: Option<Version>,
    pub(super) phase: Phase,
    /// Set once the client said that it is ready. Some clients say so before the server answers.
    is_client_ready: bool,
    client: Option<Capabilities>,
    server: Option<Capabilities>,
    /// Capabilities that the last request of the client declared in `_meta`.
    inline: Option<Capabilities>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Phase {
    /// Nothing was negotiated.
    #[default]
    Fresh,
    /// The client sent `initialize`.
    Opening,
    /// The server answered it with a result.
    Opened,
    /// There is no handshake: each request declares its version.
    Stateless,
}

impl Era {
    /// Returns true if the handshake is complete.
    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Opened && self.is_client_ready
    }

    /// Returns true if the server may send no requests: there was no handshake, or it negotiated a
    /// version without one.
    pub(super) fn is_stateless(&self) -> bool {
        let has_none = self.version.is_some_and(|version| !version.has_handshake());
        has_none || self.phase == Phase::Stateless
    }

    /// Returns the capabilities that the client declared in a handshake that negotiated a version
    /// without one.
    pub(super) fn stateless_client(&self) -> Option<Capabilities> {
        self.client.filter(|_| self.is_stateless())
    }

    pub(super) fn begin(&mut self, params: Option<Value<'_>>) {
        let declared = params.and_then(|params| params.get("capabilities"));
        // A second `initialize` starts over: nothing of the first one counts any more.
        *self = Self {
            phase: Phase::Opening,
            client: Some(declared.map(Capabilities::read).unwrap_or_default()),
            ..Self::default()
        };
    }

    pub(super) fn begin_stateless(&mut self) {
        *self = Self { phase: Phase::Stateless, ..Self::default() };
    }

    pub(super) fn agree(&mut self, result: Value<'_>) {
        let version = result.get("protocolVersion").and_then(|it| it.as_str());
        self.version = version.and_then(|it| it.parse().ok());
        self.phase = Phase::Opened;
        self.learn_server(result);
    }

    pub(super) fn disagree(&mut self) {
        self.phase = Phase::Fresh;
    }

    pub(super) fn client_is_ready(&mut self) {
        self.is_client_ready = true;
    }

    pub(super) fn learn_server(&mut self, result: Value<'_>) {
        let declared = result.get("capabilities");
        self.server = Some(declared.map(Capabilities::read).unwrap_or_default());
    }

    /// Reads the version and the capabilities from the `_meta` of a client's request. Returns the
    /// capabilities if the session has no handshake.
    pub(super) fn learn_inline(&mut self, meta: Option<Value<'_>>) -> Option<Capabilities> {
        const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
        const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
        let meta = meta?;
        let version: Option<Version> = meta.get(VERSION)?.as_str()?.parse().ok();
        // Versions with a handshake declare capabilities there, not in each request.
        if version.is_some_and(Version::has_handshake) {
            return None;
        }
        // The first such request decides that the session has no handshake.
        if self.phase == Phase::Fresh {
            self.phase = Phase::Stateless;
            self.version = version;
        }
        let declared = meta.get(CAPABILITIES);
        self.inline = Some(declared.map(Capabilities::read).unwrap_or_default());
        self.inline
    }

    /// Returns the capabilities of the client that a notification may rely on, in a session in which
    /// requests declare them: those of the last request.
    pub(super) fn notified_client(&self) -> Option<Capabilities> {
        self.is_stateless().then(|| self.inline.or(self.client).unwrap_or_default())
    }

    /// Returns the capabilities that the client declared, if known.
    pub(super) fn client(&self) -> Option<Capabilities> {
        self.client
    }

    /// Returns true if the capability that a message in `direction` needs was declared, or `None` if
    /// the declaration is not known.
    pub(super) fn has(&self, owner: Owner, path: &str, direction: Direction) -> Option<bool> {
        let is_from_client = direction == Direction::ClientToServer;
        let is_clients = match owner {
            Owner::Client => true,
            Owner::Server => false,
            Owner::Sender => is_from_client,
            Owner::Receiver => !is_from_client,
        };
        let declared = if is_clients { self.client } else { self.server };
        declared.map(|it| it.has(path))
    }
}
