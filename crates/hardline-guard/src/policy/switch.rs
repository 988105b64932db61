//! Command line switches that change the policy of one server and override everything else.

use std::time::Duration;

use hardline_wire::limits::LimitError;

use super::read::Read;
use super::statement::{Says, ServerStatements, Statement};
use super::{Origin, Place, Policy};
use crate::rule::{Action, Rule};
use crate::tools::Glob;

/// Switches for one server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Switches {
    /// Limit on the size of a frame in bytes.
    pub max_frame_bytes: Option<usize>,
    /// Size of the token bucket for notifications, and the time in which it refills completely.
    pub burst: Option<(u32, Duration)>,
    /// Treats JSON-RPC as legitimate content, as in documentation.
    pub allows_jsonrpc: bool,
    /// Tools that the client may see and call, in addition to the policy; all if the list is empty.
    pub allowed_tools: Vec<Glob>,
    /// Tools that the client may neither see nor call.
    pub denied_tools: Vec<Glob>,
    /// Restricts the client to tools that only read.
    pub is_read_only: bool,
    /// Starts the server with only a few environment variables.
    pub is_env_clean: bool,
    /// Variables that the server receives in addition to those.
    pub env: Vec<String>,
    /// Allows everything and reports nothing. Removes all protection.
    pub allows_everything: bool,
}

impl Policy {
    /// Returns the policy with switches applied to one server.
    ///
    /// # Errors
    ///
    /// [`LimitError`] if a limit is out of range.
    pub fn with_switches(mut self, server: &str, switches: &Switches) -> Result<Self, LimitError> {
        let mut settings = self.settings(Some(server)).clone();
        if let Some(bytes) = switches.max_frame_bytes {
            settings.limits = settings.limits.with_max_frame_bytes(bytes)?;
        }
        if let Some((count, window)) = switches.burst {
            // The token bucket needs at least one token and a non-zero window.
            settings.burst.count = count.max(1);
            settings.burst.window_ms = u32::try_from(window.as_millis()).unwrap_or(u32::MAX).max(1);
        }
        let Switches { allowed_tools, denied_tools, .. } = switches;
        // Switches can only restrict the filter of the policy further.
        let tools = settings.tools.allow(allowed_tools.iter().cloned());
        let tools = tools.deny(denied_tools.iter().cloned());
        settings.tools = tools.read_only(switches.is_read_only);
        settings.launch.is_env_clean |= switches.is_env_clean;
        settings.launch.env.extend(switches.env.iter().cloned());
        let said = |key: &str, says| {
            let origin = Origin { place: Place::Builtin, key: key.to_owned(), reason: None };
            Statement { says, origin }
        };
        let mut statements = self.statements.servers.remove(server).unwrap_or_default();
        if switches.allows_jsonrpc {
            statements.own.push(said("--allow-jsonrpc", Says::AllowJsonrpc(true)));
        }
        if switches.allows_everything {
            // Statements about the tools of this server would otherwise override the switch.
            statements = ServerStatements::default();
            for &rule in Rule::ALL {
                let says = Says::Rule(rule, None, Action::Allow);
                statements.own.push(said("--danger-no-guard", says));
            }
        }
        self.statements.servers.insert(server.to_owned(), statements);
        let others = self.servers.into_iter().filter(|(name, _)| name != server);
        let mut server_settings: Vec<_> =
            others.map(|(name, it)| (name, it.settings().clone())).collect();
        server_settings.push((server.to_owned(), settings));
        Ok(Self::new(Read {
            profile: self.profile,
            statements: self.statements,
            settings: self.others.settings().clone(),
            server_settings,
        }))
    }
}
