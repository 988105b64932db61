//! The actions by rule, severity and direction, in one small array.

use crate::finding::{Direction, Severity};
use crate::rule::{Action, Rule, Trait};

use super::Profile;

const RULES: usize = Rule::ALL.len();
const SEVERITIES: usize = Severity::ALL.len();

/// The actions for all findings of one server or tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Actions {
    from_server: [[Action; SEVERITIES]; RULES],
    from_client: [[Action; SEVERITIES]; RULES],
    allows_jsonrpc: bool,
}

impl Actions {
    /// Returns the actions of `profile`.
    pub(super) fn of(profile: Profile) -> Self {
        let blank = [[Action::Block; SEVERITIES]; RULES];
        let mut actions = Self { from_server: blank, from_client: blank, allows_jsonrpc: false };
        for direction in [Direction::ServerToClient, Direction::ClientToServer] {
            for &rule in Rule::ALL {
                for severity in Severity::ALL {
                    let action = profile.action(rule, severity, direction);
                    if let Some(cell) = actions.row_mut(rule, direction).get_mut(severity as usize)
                    {
                        *cell = action;
                    }
                }
            }
        }
        actions
    }

    /// Returns the action for a finding of `rule` with the default severity of the rule.
    pub fn action(&self, rule: Rule, direction: Direction) -> Action {
        self.action_at(rule, rule.severity(), direction)
    }

    /// Returns the action for a finding of `rule` with the given severity.
    #[inline]
    pub fn action_at(&self, rule: Rule, severity: Severity, direction: Direction) -> Action {
        let rows = match direction {
            Direction::ServerToClient => &self.from_server,
            Direction::ClientToServer => &self.from_client,
        };
        let cell = rows.get(rule as usize).and_then(|row| row.get(severity as usize));
        // Every rule and severity has a cell. A missing one would fail closed.
        cell.copied().unwrap_or(Action::Block)
    }

    /// Lowers the actions for content that a user has approved: `content.*` sanitizes at most and
    /// `tool.poison` logs at most, in one direction.
    pub(crate) fn soften(&mut self, direction: Direction) {
        let content = Rule::ALL.iter().filter(|rule| rule.group() == "content");
        for &rule in content {
            for cell in self.row_mut(rule, direction) {
                *cell = Action::Sanitize.min(*cell);
            }
        }
        // A person approved the definition, so the tool must not be hidden again.
        for cell in self.row_mut(Rule::ToolPoison, direction) {
            *cell = Action::Log.min(*cell);
        }
    }

    /// Returns true if JSON-RPC is legitimate content, as in documentation.
    pub fn allows_jsonrpc(&self) -> bool {
        self.allows_jsonrpc
    }

    /// Returns true if `rule` is allowed at every severity in this direction, so that scanning for
    /// it is unnecessary.
    pub fn allows(&self, rule: Rule, direction: Direction) -> bool {
        let is_allowed = |it| self.action_at(rule, it, direction) == Action::Allow;
        Severity::ALL.into_iter().all(is_allowed)
    }

    /// Sets the action for all severities of `rule`.
    pub(super) fn set(&mut self, rule: Rule, direction: Direction, action: Action) {
        self.row_mut(rule, direction).fill(action);
    }

    /// Sets whether JSON-RPC is legitimate content. If it is, `rules` are logged at most.
    pub(super) fn set_allows_jsonrpc(&mut self, allows: bool) {
        self.allows_jsonrpc = allows;
        if !allows {
            return;
        }
        for &rule in Rule::ALL.iter().filter(|rule| rule.has(Trait::Jsonrpc)) {
            for direction in [Direction::ServerToClient, Direction::ClientToServer] {
                for cell in self.row_mut(rule, direction) {
                    *cell = Action::Log.min(*cell);
                }
            }
        }
    }

    fn row_mut(&mut self, rule: Rule, direction: Direction) -> &mut [Action] {
        let rows = match direction {
            Direction::ServerToClient => &mut self.from_server,
            Direction::ClientToServer => &mut self.from_client,
        };
        rows.get_mut(rule as usize).map_or(&mut [], |row| row)
    }
}
