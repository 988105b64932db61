//! What is done about findings, for which server and which tool.
//!
//! A [`Policy`] starts from a [`Profile`] and is changed by a text in TOML, from the general to the
//! particular; what is said of a tool beats what is said of its server, and that beats what is said
//! of all.
//!
//! ```
//! use hardline_guard::policy::Policy;
//! use hardline_guard::{Action, Direction, Rule};
//!
//! let policy = Policy::parse(
//!     r#"
//!     profile = "balanced"            # observe, balanced or strict
//!
//!     [rules]                         # for every server: only ever stricter than the profile
//!     content.line-separator = "sanitize"
//!
//!     [server.shop]
//!     profile = "strict"              # one server is less trusted
//!
//!     [server.shop.rules]
//!     session.unknown-method = "block"
//!
//!     [server.docs.tool.read_page]
//!     allow_jsonrpc = true            # it serves documentation: JSON-RPC in it is logged at most
//!
//!     [[allow]]                       # one false alarm, silenced narrowly
//!     rule = "content.hidden"
//!     server = "docs"
//!     tool = "read_page"
//!     reason = "its Persian pages need joiners"
//!     "#,
//! )?;
//!
//! let from_server = Direction::ServerToClient;
//! let action = |tool| policy.action(Rule::ContentHidden, Some("docs"), Some(tool), from_server);
//! assert_eq!(action("read_page"), Action::Allow);
//! assert_eq!(action("search"), Action::Sanitize);
//!
//! let why = policy.explain(Rule::ContentHidden, Some("docs"), Some("read_page"), from_server);
//! assert_eq!(
//!     why.to_string(),
//!     "content.hidden (server-to-client): allow, by line 17, allow[0]: content.hidden on `docs`, \
//!      tool `read_page` (its Persian pages need joiners)\n  \
//!      overrides sanitize, by line 2, profile = \"balanced\""
//! );
//! # Ok::<_, hardline_guard::policy::PolicyError>(())
//! ```
//!
//! All keys: `profile`, `close_after`, `hold_back_ms`, `[limits]` (`max_frame_bytes`, `max_content_bytes`,
//! `max_depth`), `[burst]` (`count`, `window_ms`), `[rules]` for frames from servers and
//! `[client_rules]` for those from the client, the same again in `[server.NAME]`, there also
//! `allow_jsonrpc`; `allow_jsonrpc`, `rules` and `client_rules` in `[server.NAME.tool.NAME]`;
//! `[[allow]]` for both directions; and what weakens protection for every server:
//! `[danger_rules]`, `[danger_client_rules]`, `danger_allow_jsonrpc`.
//!
//! Reading the file, and which server a frame is from, are left to others.
//!
//! Invariants:
//! - A `Policy` is valid by construction; whatever a text says that we do not understand is an
//!   error, with its line.
//! - [`Policy::action`] looks at most into two hash tables and one array.
//! - [`Policy::explain`] and [`Policy::action`] agree: both come from the same statements.
//! - An action that a policy names holds for findings of every severity; only profiles are milder
//!   with findings below a rule's usual severity.

use std::collections::HashMap;

use self::layer::{Layers, Says};
use self::read::Read;
use crate::finding::{Direction, Finding};
use crate::rule::{Action, Rule};

mod error;
mod launch;
mod layer;
mod profile;
mod read;
mod setting;
mod settings;
mod suggest;
mod switch;
mod table;
mod value;
mod why;

pub use error::{Fault, PolicyError};
pub use launch::Launch;
pub use profile::{Profile, UnknownProfile};
pub use setting::{Burst, Settings};
pub use switch::Switches;
pub use table::Actions;
pub use why::Explanation;

/// What is done about findings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Policy {
    profile: Profile,
    layers: Layers,
    settings: Settings,
    /// For all servers that have no table of their own.
    actions: Actions,
    servers: HashMap<String, Server>,
}

/// What was worked out for a server of which something is said.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Server {
    actions: Actions,
    settings: Settings,
    tools: HashMap<String, Actions>,
}

impl Policy {
    /// Longest text of a policy in bytes.
    ///
    /// Bounds what is read before anything is known of it: a thousand servers fit. A longer text is
    /// refused.
    pub const MAX_BYTES: usize = 1 << 20;

    /// The policy that says nothing but its profile.
    pub fn profile(profile: Profile) -> Self {
        let read = Read {
            profile,
            layers: Layers::default(),
            settings: Settings::of(profile),
            server_settings: Vec::new(),
        };
        Self::new(read)
    }

    /// Reads a policy in TOML.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] with all that is wrong with the text; if it is not even TOML, with all that
    /// is wrong with that.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        Self::parse_as(text, None)
    }

    /// Reads a policy in TOML, on top of `profile` instead of the one that the text names.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_with_profile(text: &str, profile: Profile) -> Result<Self, PolicyError> {
        Self::parse_as(text, Some(profile))
    }

    /// The profile that it starts from.
    pub fn base(&self) -> Profile {
        self.profile
    }

    /// The profile of a server: its own if it has one.
    pub fn base_of(&self, server: Option<&str>) -> Profile {
        let chain = self.layers.chain(server, None);
        let own = chain.iter().rev().find_map(|statement| match statement.says {
            Says::Profile(profile) => Some(profile),
            _ => None,
        });
        own.unwrap_or(self.profile)
    }

    /// What is done about a finding of `rule` with the rule's own severity.
    ///
    /// A tool is looked for among those of its server; without a server there is none.
    pub fn action(
        &self,
        rule: Rule,
        server: Option<&str>,
        tool: Option<&str>,
        direction: Direction,
    ) -> Action {
        self.actions(server, tool).action(rule, direction)
    }

    /// What is done about `finding`, as bad as it is.
    pub fn decide(&self, finding: &Finding, server: Option<&str>, tool: Option<&str>) -> Action {
        let Finding { rule, severity, direction, .. } = *finding;
        self.actions(server, tool).action_at(rule, severity, direction)
    }

    /// What is done about every finding: for one frame, look it up once.
    pub fn actions(&self, server: Option<&str>, tool: Option<&str>) -> &Actions {
        let Some(server) = server.and_then(|server| self.servers.get(server)) else {
            return &self.actions;
        };
        tool.and_then(|tool| server.tools.get(tool)).unwrap_or(&server.actions)
    }

    /// The settings for a server.
    pub fn settings(&self, server: Option<&str>) -> &Settings {
        let server = server.and_then(|server| self.servers.get(server));
        server.map_or(&self.settings, |server| &server.settings)
    }

    /// Whether JSON-RPC is what a tool's content is about, as with documentation.
    ///
    /// [`action`](Self::action) knows: the rules that find JSON-RPC are then logged at most.
    pub fn allows_jsonrpc(&self, server: Option<&str>, tool: Option<&str>) -> bool {
        self.actions(server, tool).allows_jsonrpc()
    }

    /// Which statement decides about a rule, and what it overrides.
    pub fn explain(
        &self,
        rule: Rule,
        server: Option<&str>,
        tool: Option<&str>,
        direction: Direction,
    ) -> Explanation {
        Explanation::new(&self.layers, self.profile, (rule, direction), server, tool)
    }

    /// The servers of which something is said, sorted.
    pub fn servers(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.servers.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// The tools of a server of which something is said, sorted.
    pub fn tools(&self, server: &str) -> Vec<&str> {
        let tools = self.servers.get(server).into_iter().flat_map(|server| server.tools.keys());
        let mut names: Vec<_> = tools.map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    fn parse_as(text: &str, profile: Option<Profile>) -> Result<Self, PolicyError> {
        if Self::MAX_BYTES < text.len() {
            return Err(PolicyError::too_long(Self::MAX_BYTES));
        }
        // Editors on Windows put one there.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        read::read(text, profile).map(Self::new)
    }

    fn new(read: Read) -> Self {
        let Read { profile, layers, settings, server_settings } = read;
        let mut own: HashMap<_, _> = server_settings.into_iter().collect();
        let servers = layers.servers.iter().map(|(name, layer)| {
            let table = |tool| layers.actions(profile, Some(name), tool);
            let tools = layer.tools.keys().map(|tool| (tool.clone(), table(Some(tool)))).collect();
            let settings = own.remove(name).unwrap_or_else(|| settings.clone());
            (name.clone(), Server { actions: table(None), settings, tools })
        });
        let servers = servers.collect();
        Self { profile, actions: layers.actions(profile, None, None), servers, layers, settings }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::profile(Profile::default())
    }
}

/// Where a statement stands.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Origin {
    /// Where it is written, if it is.
    pub place: Place,
    /// What is written there, as `server.docs.rules.content.frame = "log"`.
    pub key: String,
    /// The reason given for it.
    pub reason: Option<String>,
}

/// Where a statement is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Place {
    /// Nowhere: a profile does it.
    Builtin,
    /// On this line of the policy, from 1.
    Line(usize),
}

impl Origin {
    fn of_profile(profile: Profile) -> Self {
        let key = format!("the profile `{profile}`");
        Self { place: Place::Builtin, key, reason: None }
    }
}
