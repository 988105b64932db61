//! What a command line says besides the policy: it holds for one server, above all else.

use std::time::Duration;

use hardline_wire::limits::LimitError;

use super::layer::{Says, ServerLayer, Statement};
use super::read::Read;
use super::{Origin, Place, Policy};
use crate::rule::{Action, Rule};
use crate::tools::Glob;

/// Switches for one server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Switches {
    /// The largest frame.
    pub max_frame_bytes: Option<usize>,
    /// How many notifications at once, and how long until all of them are allowed again.
    pub burst: Option<(u32, Duration)>,
    /// Whether JSON-RPC is what the content is about, as with documentation.
    pub allows_jsonrpc: bool,
    /// Tools that the client may see and call, besides what the policy says; all if there are none.
    pub allowed_tools: Vec<Glob>,
    /// Tools that it may not.
    pub denied_tools: Vec<Glob>,
    /// Whether it may only see and call tools that only read.
    pub is_read_only: bool,
    /// Whether the server gets only a few variables of the environment.
    pub is_env_clean: bool,
    /// Variables that it then gets besides.
    pub env: Vec<String>,
    /// Whether everything is allowed, and nothing is reported. Protects nobody.
    pub allows_everything: bool,
}

impl Policy {
    /// The same with switches for a server.
    ///
    /// # Errors
    ///
    /// If a limit is out of its range.
    pub fn with_switches(mut self, server: &str, switches: &Switches) -> Result<Self, LimitError> {
        let mut settings = self.settings(Some(server)).clone();
        if let Some(bytes) = switches.max_frame_bytes {
            settings.limits = settings.limits.with_max_frame_bytes(bytes)?;
        }
        if let Some((count, window)) = switches.burst {
            settings.burst.count = count.max(1);
            settings.burst.window_ms = u32::try_from(window.as_millis()).unwrap_or(u32::MAX).max(1);
        }
        let Switches { allowed_tools, denied_tools, .. } = switches;
        let tools = settings.tools.allow(allowed_tools.iter().cloned());
        let tools = tools.deny(denied_tools.iter().cloned());
        settings.tools = tools.read_only(switches.is_read_only);
        settings.launch.is_env_clean |= switches.is_env_clean;
        settings.launch.env.extend(switches.env.iter().cloned());
        let said = |key: &str, says| {
            let origin = Origin { place: Place::Builtin, key: key.to_owned(), reason: None };
            Statement { says, origin }
        };
        let mut layer = self.layers.servers.remove(server).unwrap_or_default();
        if switches.allows_jsonrpc {
            layer.own.push(said("--allow-jsonrpc", Says::AllowJsonrpc(true)));
        }
        if switches.allows_everything {
            layer = ServerLayer::default();
            for &rule in Rule::ALL {
                let says = Says::Rule(rule, None, Action::Allow);
                layer.own.push(said("--danger-no-guard", says));
            }
        }
        self.layers.servers.insert(server.to_owned(), layer);
        let others = self.servers.into_iter().filter(|(name, _)| name != server);
        let mut server_settings: Vec<_> = others.map(|(name, it)| (name, it.settings)).collect();
        server_settings.push((server.to_owned(), settings));
        Ok(Self::new(Read {
            profile: self.profile,
            layers: self.layers,
            settings: self.settings,
            server_settings,
        }))
    }
}
