//! What a command line says besides the policy: it holds for one server, above all else.

use std::time::Duration;

use hardline_wire::limits::LimitError;

use super::layer::{Says, ServerLayer, Statement};
use super::read::Read;
use super::{Origin, Place, Policy};
use crate::rule::{Action, Rule};

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
