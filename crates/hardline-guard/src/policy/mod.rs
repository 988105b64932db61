//! Policies: the action for each finding, by server and tool.
//!
//! A [`Policy`] starts from a [`Profile`]. A text in TOML changes it, from the general to the
//! specific: a statement about a tool overrides one about its server, which overrides one about all
//! servers.
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
//! `[[allow]]` for both directions; and the keys that weaken protection for every server:
//! `[danger_rules]`, `[danger_client_rules]`, `danger_allow_jsonrpc`.
//!
//! The caller reads the file and knows which server a frame comes from.
//!
//! Invariants:
//! - A `Policy` is valid by construction. Anything unknown in a text is an error with its line.
//! - [`Policy::action`] does at most two hash table lookups and one array access.
//! - [`Policy::explain`] and [`Policy::action`] agree: both use the same statements.
//! - An action named in a policy applies to findings of every severity. Only profiles are milder
//!   with findings below the usual severity of their rule.

use std::collections::HashMap;
use std::sync::Arc;

use self::read::Read;
use self::statement::{AllStatements, Says};
use crate::finding::{Direction, Finding};
use crate::rule::{Action, Rule};

mod error;
mod launch;
mod profile;
mod read;
mod read_settings;
mod server;
mod settings;
mod statement;
mod suggest;
mod switch;
mod table;
mod value;
mod why;

pub use error::{Fault, PolicyError};
pub use launch::LaunchPolicy;
pub use profile::{Profile, UnknownProfile};
pub(crate) use server::ServerPolicy;
pub use settings::{FloodSettings, PolicySettings};
pub use switch::Switches;
pub use table::Actions;
pub use why::Explanation;

/// Decides the action for each finding.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Policy {
    profile: Profile,
    statements: AllStatements,
    /// The tables of each server that the policy names.
    servers: HashMap<String, Arc<ServerPolicy>>,
    /// The tables for all other servers.
    others: Arc<ServerPolicy>,
}

impl Policy {
    /// Limit on the length of a policy in bytes; a longer text is refused.
    ///
    /// Bounds the text that is read before it is checked. A thousand servers fit.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Creates a policy that consists of a profile alone.
    pub fn profile(profile: Profile) -> Self {
        let read = Read {
            profile,
            statements: AllStatements::default(),
            settings: PolicySettings::of(profile),
            server_settings: Vec::new(),
        };
        Self::new(read)
    }

    /// Parses a policy in TOML.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] with all faults of the text. If the text is not valid TOML, with its syntax
    /// errors only.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        Self::parse_as(text, None)
    }

    /// Parses a policy in TOML, but starts from `profile` instead of the profile that the text
    /// names.
    ///
    /// # Errors
    ///
    /// Same as [`parse`](Self::parse).
    pub fn parse_with_profile(text: &str, profile: Profile) -> Result<Self, PolicyError> {
        Self::parse_as(text, Some(profile))
    }

    /// Returns the profile that the policy starts from.
    pub fn base(&self) -> Profile {
        self.profile
    }

    /// Returns the profile of a server: its own, or that of the policy.
    pub fn base_of(&self, server: Option<&str>) -> Profile {
        let chain = self.statements.chain(server, None);
        // The last statement is the most specific one.
        let own = chain.iter().rev().find_map(|statement| match statement.says {
            Says::Profile(profile) => Some(profile),
            _ => None,
        });
        own.unwrap_or(self.profile)
    }

    /// Returns the action for a finding of `rule` with the default severity of the rule.
    ///
    /// A tool is looked up among those of its server. Without a server, `tool` has no effect.
    pub fn action(
        &self,
        rule: Rule,
        server: Option<&str>,
        tool: Option<&str>,
        direction: Direction,
    ) -> Action {
        self.actions(server, tool).action(rule, direction)
    }

    /// Returns the action for `finding`, according to its own severity.
    pub fn decide(&self, finding: &Finding, server: Option<&str>, tool: Option<&str>) -> Action {
        self.of_server(server).decide(finding, tool)
    }

    /// Returns the table of all actions for a tool. Look it up once per frame.
    pub fn actions(&self, server: Option<&str>, tool: Option<&str>) -> &Actions {
        self.of_server(server).actions(tool)
    }

    /// Returns the part of the policy that concerns a server.
    pub(crate) fn of_server(&self, server: Option<&str>) -> &Arc<ServerPolicy> {
        server.and_then(|server| self.servers.get(server)).unwrap_or(&self.others)
    }

    /// Returns the settings for a server.
    pub fn settings(&self, server: Option<&str>) -> &PolicySettings {
        self.of_server(server).settings()
    }

    /// Returns true if JSON-RPC is legitimate content of the tool, as in documentation.
    ///
    /// [`action`](Self::action) accounts for it: the rules that match JSON-RPC are then logged at
    /// most.
    pub fn allows_jsonrpc(&self, server: Option<&str>, tool: Option<&str>) -> bool {
        self.actions(server, tool).allows_jsonrpc()
    }

    /// Returns the statement that decides about a rule, and those that it overrides.
    pub fn explain(
        &self,
        rule: Rule,
        server: Option<&str>,
        tool: Option<&str>,
        direction: Direction,
    ) -> Explanation {
        Explanation::new(&self.statements, self.profile, (rule, direction), server, tool)
    }

    /// Returns the names of the servers in the policy, sorted.
    pub fn servers(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.servers.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Returns the names of the tools in the policy for a server, sorted.
    pub fn tools(&self, server: &str) -> Vec<&str> {
        let tools = self.servers.get(server).into_iter().flat_map(|server| server.tools.keys());
        let mut names: Vec<_> = tools.map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    fn parse_as(text: &str, profile: Option<Profile>) -> Result<Self, PolicyError> {
        if text.len() > Self::MAX_BYTES {
            return Err(PolicyError::too_long(Self::MAX_BYTES));
        }
        // Editors on Windows write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        read::read(text, profile).map(Self::new)
    }

    fn new(read: Read) -> Self {
        let Read { profile, statements, settings, server_settings } = read;
        let mut own: HashMap<_, _> = server_settings.into_iter().collect();
        let servers = statements.servers.iter().map(|(name, its)| {
            // All tables are built here, so that the hot path only looks them up.
            let table = |tool| statements.actions(profile, Some(name), tool);
            let tools = its.tools.keys().map(|tool| (tool.clone(), table(Some(tool)))).collect();
            let settings = own.remove(name).unwrap_or_else(|| settings.clone());
            (name.clone(), Arc::new(ServerPolicy { actions: table(None), settings, tools }))
        });
        let servers = servers.collect();
        let actions = statements.actions(profile, None, None);
        let others = Arc::new(ServerPolicy { actions, settings, tools: HashMap::new() });
        Self { profile, statements, servers, others }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::profile(Profile::default())
    }
}

/// Origin of a statement.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Origin {
    /// Place of the statement.
    pub place: Place,
    /// Text of the statement, such as `server.docs.rules.content.frame = "log"`.
    pub key: String,
    /// The reason that the policy gives for it.
    pub reason: Option<String>,
}

/// Place where a statement is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Place {
    /// Not in the text: it comes from a profile or a command line switch.
    Builtin,
    /// This line of the policy, from 1.
    Line(usize),
}

impl Origin {
    fn of_profile(profile: Profile) -> Self {
        let key = format!("the profile `{profile}`");
        Self { place: Place::Builtin, key, reason: None }
    }
}
