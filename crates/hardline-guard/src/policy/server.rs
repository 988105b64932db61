//! The part of a policy that concerns one server.

use std::collections::HashMap;

use super::{Actions, PolicySettings};
use crate::finding::Finding;
use crate::rule::Action;

/// The settings and actions for one server, or for all servers that the policy does not name.
///
/// A guard looks its server up once; after that, a frame costs no lookup by the server's name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ServerPolicy {
    pub(super) actions: Actions,
    pub(super) settings: PolicySettings,
    /// The actions for the tools that the policy names.
    pub(super) tools: HashMap<String, Actions>,
}

impl ServerPolicy {
    /// Returns the actions for a tool, or for messages that no tool is responsible for.
    pub(crate) fn actions(&self, tool: Option<&str>) -> &Actions {
        tool.and_then(|tool| self.tools.get(tool)).unwrap_or(&self.actions)
    }

    /// Returns true if the policy has actions for single tools.
    pub(crate) fn names_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Returns the actions for each tool that the policy names, and for all others.
    pub(crate) fn all_actions(&self) -> impl Iterator<Item = &Actions> {
        self.tools.values().chain([&self.actions])
    }

    /// Returns the action for `finding`, according to its own severity.
    pub(crate) fn decide(&self, finding: &Finding, tool: Option<&str>) -> Action {
        let Finding { rule, severity, direction, .. } = *finding;
        self.actions(tool).action_at(rule, severity, direction)
    }

    /// Returns the settings.
    pub(crate) fn settings(&self) -> &PolicySettings {
        &self.settings
    }
}
