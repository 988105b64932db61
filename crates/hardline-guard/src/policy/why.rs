//! Explanations of a decision: the deciding statement of a policy, and those that it overrides.

use std::fmt;

use hardline_wire::excerpt::Excerpt;

use super::statement::{AllStatements, Says};
use super::table::Actions;
use super::{Origin, Place, Profile};
use crate::finding::Direction;
use crate::rule::{Action, Rule};

/// The action for a rule, and the statements that lead to it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The rule.
    pub rule: Rule,
    /// Direction of the frame.
    pub direction: Direction,
    /// The resulting action.
    pub action: Action,
    /// The deciding statement.
    pub decided_by: Origin,
    /// The overridden statements with their actions, the most general first.
    pub overridden: Vec<(Origin, Action)>,
}

impl Explanation {
    pub(super) fn new(
        statements: &AllStatements,
        base: Profile,
        (rule, direction): (Rule, Direction),
        server: Option<&str>,
        tool: Option<&str>,
    ) -> Self {
        let mut actions = Actions::of(base);
        let mut decided_by = Origin::of_profile(base);
        let mut overridden = Vec::new();
        for statement in statements.chain(server, tool) {
            if !statement.says.is_about(rule, direction) {
                continue;
            }
            // The text names the base profile: its line is a better origin than the built-in name.
            if decided_by.place == Place::Builtin && statement.says == Says::Profile(base) {
                decided_by = statement.origin.clone();
                continue;
            }
            let before = actions.action(rule, direction);
            statement.says.apply(&mut actions);
            let after = actions.action(rule, direction);
            // `allow_jsonrpc` changes nothing if the action was mild enough already.
            if before == after && matches!(statement.says, Says::AllowJsonrpc(_)) {
                continue;
            }
            overridden.push((decided_by, before));
            decided_by = statement.origin.clone();
        }
        let action = actions.action(rule, direction);
        Self { rule, direction, action, decided_by, overridden }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, direction, action, decided_by, overridden } = self;
        write!(formatter, "{rule} ({}): {}, by {decided_by}", direction.name(), action.name())?;
        for (origin, action) in overridden.iter().rev() {
            write!(formatter, "\n  overrides {}, by {origin}", action.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Builtin => write!(formatter, "{}", self.key)?,
            Place::Line(line) => write!(formatter, "line {line}, {}", self.key)?,
        }
        match &self.reason {
            Some(reason) => write!(formatter, " ({})", Excerpt::new(reason.as_bytes(), 200)),
            None => Ok(()),
        }
    }
}
