//! State of the session that a restarted server needs: the handshake, settings, subscriptions, lists.
//!
//! Invariant: bounded. After a restart, subscriptions beyond [`MAX_SUBSCRIPTIONS`] are lost.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use hardline_wire::id::Id;
use hardline_wire::json::{Kind, Value};
use hardline_wire::message::Request;
use hardline_wire::version::Version;

/// Limit on the stored subscriptions.
const MAX_SUBSCRIPTIONS: usize = 1024;
/// Longest line that is stored, in bytes.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A list that a server offers and that may change.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub(super) const ALL: [Self; 4] =
        [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// Returns the list that a method requests.
    fn of(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.method() == method)
    }

    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// Returns the member of the result that contains the elements.
    const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Returns the capability that announces changes. It also names the notification.
    pub(super) const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}

/// Effect that the success of a client's request has on the session.
#[derive(Clone, Debug)]
pub(super) enum Interest {
    Initialize,
    Level(Vec<u8>),
    Subscribe(String, Vec<u8>),
    Unsubscribe(String),
    List(List, Fingerprint),
}

/// Hash of the elements of a list, page by page.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    /// Adds a page.
    #[must_use]
    pub(super) fn with(self, list: List, page: Value<'_>) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        for element in page.get(list.member()).into_iter().flat_map(|it| it.elements()) {
            hasher.write(element.text().as_bytes());
            // UTF-8 has no such byte, so two elements never read as one.
            hasher.write_u8(0xff);
        }
        Self(hasher.finish())
    }
}

/// State of the session so far.
#[derive(Debug, Default)]
pub(super) struct Opening {
    /// The client's `initialize`, and its id.
    initialize: Option<(Id<'static>, Vec<u8>)>,
    initialized: Option<Vec<u8>>,
    agreed: Option<Agreed>,
    level: Option<Vec<u8>>,
    subscriptions: HashMap<String, Vec<u8>>,
    /// Lists as the client last saw them.
    lists: HashMap<List, Fingerprint>,
    /// Subscriptions of 2026-07-28: the requests that opened them, in their order.
    listens: Vec<(Id<'static>, Vec<u8>)>,
}

/// Result of `initialize`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Agreed {
    pub(super) version: String,
    capabilities: String,
    /// Capabilities whose lists can change.
    changing: Vec<&'static str>,
}

impl Agreed {
    /// Reads the result of `initialize`.
    fn read(result: Value<'_>) -> Option<Self> {
        let version = result.get("protocolVersion")?.as_str()?.into_owned();
        let capabilities = result.get("capabilities")?;
        let changes = |name: &&str| {
            let capability = capabilities.get(name);
            capability.and_then(|it| it.get("listChanged")?.as_bool()) == Some(true)
        };
        let changing = ["tools", "prompts", "resources"].into_iter().filter(changes).collect();
        Some(Self { version, capabilities: capabilities.text().to_owned(), changing })
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.version.parse().ok()
    }

    /// Returns true if the server has announced changes of this list.
    pub(super) fn may_change(&self, list: List) -> bool {
        self.changing.contains(&list.capability())
    }

    pub(super) fn has_same_capabilities(&self, other: &Self) -> bool {
        self.capabilities == other.capabilities
    }
}

impl Opening {
    /// Handles a request that goes to the server. Returns the effect of its success.
    pub(super) fn add_request(&mut self, request: &Request<'_>, frame: &[u8]) -> Option<Interest> {
        // A part of a batch has no frame that could be sent again.
        if frame.len() > MAX_LINE_BYTES || frame.is_empty() {
            return None;
        }
        let uri = || Some(request.params?.get("uri")?.as_str()?.into_owned());
        Some(match &*request.method {
            "initialize" => {
                self.initialize = Some((request.id.clone().into_owned(), frame.to_vec()));
                Interest::Initialize
            }
            "logging/setLevel" => Interest::Level(frame.to_vec()),
            "resources/subscribe" => Interest::Subscribe(uri()?, frame.to_vec()),
            "resources/unsubscribe" => Interest::Unsubscribe(uri()?),
            "subscriptions/listen" => {
                // One over the limit is open too, but no restarted server gets it.
                if self.listens.len() < MAX_SUBSCRIPTIONS {
                    self.listens.push((request.id.clone().into_owned(), frame.to_vec()));
                }
                return None;
            }
            method => {
                let list = List::of(method)?;
                let cursor = request.params.and_then(|params| params.get("cursor"));
                let has_cursor = cursor.is_some_and(|it| it.kind() == Kind::String);
                // A page without a cursor begins the list again.
                let before = if has_cursor { self.lists.get(&list).copied() } else { None };
                Interest::List(list, before.unwrap_or_default())
            }
        })
    }

    /// Stores the client's `notifications/initialized`.
    pub(super) fn set_initialized(&mut self, frame: &[u8]) {
        self.initialized = Some(frame.to_vec());
    }

    /// Applies the effect of a successful request.
    pub(super) fn add_result(&mut self, interest: Interest, result: Value<'_>) {
        match interest {
            Interest::Initialize => self.agreed = Agreed::read(result),
            Interest::Level(frame) => self.level = Some(frame),
            Interest::Subscribe(uri, frame) => {
                if self.subscriptions.len() < MAX_SUBSCRIPTIONS {
                    self.subscriptions.insert(uri, frame);
                }
            }
            Interest::Unsubscribe(uri) => drop(self.subscriptions.remove(&uri)),
            Interest::List(list, before) => {
                self.lists.insert(list, before.with(list, result));
            }
        }
    }

    /// Removes a subscription of 2026-07-28 that has ended.
    pub(super) fn end_listen(&mut self, id: &Id<'_>) {
        if !self.listens.is_empty() {
            self.listens.retain(|(it, _)| it != id);
        }
    }

    pub(super) fn has_listen(&self, id: &Id<'_>) -> bool {
        self.listens.iter().any(|(it, _)| it == id)
    }

    /// Removes all subscriptions of 2026-07-28. Returns their ids.
    pub(super) fn take_listens(&mut self) -> impl Iterator<Item = Id<'static>> {
        std::mem::take(&mut self.listens).into_iter().map(|(id, _)| id)
    }

    pub(super) fn listens(&self) -> &[(Id<'static>, Vec<u8>)] {
        &self.listens
    }

    /// Returns the client's `initialize` and its id, if it was answered.
    pub(super) fn initialize(&self) -> Option<(&Id<'static>, &[u8])> {
        let (id, frame) = self.initialize.as_ref()?;
        // An `initialize` that failed opened no session, so there is none to restore.
        self.agreed.as_ref().map(|_| (id, &**frame))
    }

    pub(super) fn agreed(&self) -> Option<&Agreed> {
        self.agreed.as_ref()
    }

    /// Reads the result of `initialize` of a restarted server.
    pub(super) fn read_agreed(result: Value<'_>) -> Option<Agreed> {
        Agreed::read(result)
    }

    pub(super) fn initialized_frame(&self) -> Option<&[u8]> {
        self.initialized.as_deref()
    }

    /// Returns the settings to repeat to a restarted server, as requests in their order.
    pub(super) fn settings(&self) -> Vec<Vec<u8>> {
        self.level.iter().chain(self.subscriptions.values()).cloned().collect()
    }

    pub(super) fn lists(&self) -> Vec<(List, Fingerprint)> {
        let seen = |list| Some((list, *self.lists.get(&list)?));
        List::ALL.into_iter().filter_map(seen).collect()
    }

    pub(super) fn set_list(&mut self, list: List, seen: Fingerprint) {
        self.lists.insert(list, seen);
    }
}
