//! What was agreed on: the version, and what each side can do, learned from the traffic.

use hardline_wire::json::Value;
use hardline_wire::method::Owner;
use hardline_wire::version::Version;

use super::capability::Capabilities;
use crate::finding::Direction;

/// What is known of the session so far.
#[derive(Debug, Default)]
pub(super) struct Era {
    pub(super) version: Option<Version>,
    pub(super) phase: Phase,
    /// Whether the client said that it is ready; clients that do not wait say so early.
    is_client_ready: bool,
    client: Option<Capabilities>,
    server: Option<Capabilities>,
    /// Capabilities that the last request of the client declared of itself.
    inline: Option<Capabilities>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Phase {
    /// Nothing was agreed on.
    #[default]
    Fresh,
    /// The client asked to initialize.
    Opening,
    /// The server agreed.
    Opened,
    /// There is no handshake: each request speaks for itself.
    Stateless,
}

impl Era {
    /// Whether both sides are through with the handshake.
    pub(super) fn is_ready(&self) -> bool {
        self.phase == Phase::Opened && self.is_client_ready
    }

    /// Whether the server may send no requests: there is no handshake, or it led to a version that
    /// has none.
    pub(super) fn is_stateless(&self) -> bool {
        let has_none = self.version.is_some_and(|version| !version.has_handshake());
        has_none || self.phase == Phase::Stateless
    }

    /// Returns the capabilities that the client declared in a handshake which led to a version without
    /// one.
    pub(super) fn stateless_client(&self) -> Option<Capabilities> {
        self.client.filter(|_| self.is_stateless())
    }

    pub(super) fn begin(&mut self, params: Option<Value<'_>>) {
        let declared = params.and_then(|params| params.get("capabilities"));
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

    /// Takes note of what a request of the client says of itself in `_meta`. Returns what the client can do, if
    /// the request is one of a session without a handshake.
    pub(super) fn learn_inline(&mut self, meta: Option<Value<'_>>) -> Option<Capabilities> {
        const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
        const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
        let meta = meta?;
        let version: Option<Version> = meta.get(VERSION)?.as_str()?.parse().ok();
        if version.is_some_and(Version::has_handshake) {
            return None;
        }
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

    /// Returns what the client declared, if anything is known of it.
    pub(super) fn client(&self) -> Option<Capabilities> {
        self.client
    }

    /// Whether what a message in `direction` needs was declared; `None` if nothing is known of it.
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
