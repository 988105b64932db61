//! What a policy says, statement by statement, from the general to the particular.
//!
//! Invariants:
//! - The table used on the hot path and the explanation given to people come from the same
//!   statements, applied by the same function, so they cannot disagree.
//! - A layer has at most one statement for each rule and direction: no two contradict each other.

use std::collections::HashMap;

use super::table::Actions;
use super::{Origin, Profile};
use crate::finding::Direction;
use crate::rule::{Action, Rule};

/// The rules that find JSON-RPC in content: `allow_jsonrpc` is about these.
const JSONRPC_RULES: [Rule; 3] =
    [Rule::ContentJsonrpc, Rule::ContentFrame, Rule::ContentEncodedFrame];

/// One statement and where it stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Statement {
    pub(super) says: Says,
    pub(super) origin: Origin,
}

/// What a statement says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Says {
    /// Everything is as in this profile.
    Profile(Profile),
    /// JSON-RPC in content is at most logged, or no longer.
    AllowJsonrpc(bool),
    /// What is done about a rule, in one direction or both.
    Rule(Rule, Option<Direction>, Action),
}

impl Says {
    /// Whether it says anything about `rule` in `direction`.
    pub(super) fn is_about(&self, rule: Rule, direction: Direction) -> bool {
        match self {
            Self::Profile(_) => true,
            Self::AllowJsonrpc(_) => JSONRPC_RULES.contains(&rule),
            Self::Rule(it, way, _) => *it == rule && way.is_none_or(|way| way == direction),
        }
    }

    /// Does what it says.
    pub(super) fn apply(&self, actions: &mut Actions) {
        match *self {
            Self::Profile(profile) => *actions = Actions::of(profile),
            Self::AllowJsonrpc(allows) => actions.set_allows_jsonrpc(allows, &JSONRPC_RULES),
            Self::Rule(rule, way, action) => {
                for direction in [Direction::ServerToClient, Direction::ClientToServer] {
                    if way.is_none_or(|way| way == direction) {
                        actions.set(rule, direction, action);
                    }
                }
            }
        }
    }
}

/// What is said at one place: of all servers, of one server, or of one tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Layer {
    /// In the order in which they apply: profile, `allow_jsonrpc`, rules.
    statements: Vec<Statement>,
}

impl Layer {
    /// Adds a statement that overrides those before it.
    pub(super) fn push(&mut self, statement: Statement) {
        self.statements.push(statement);
    }

    /// Adds a statement. Returns the one that it would contradict, if there is one.
    pub(super) fn add(&mut self, statement: Statement) -> Option<&Statement> {
        let contradicts = |it: &Statement| match (&it.says, &statement.says) {
            (Says::Rule(one, one_way, _), Says::Rule(other, other_way, _)) => {
                one == other && (one_way == other_way || one_way.is_none() || other_way.is_none())
            }
            _ => false,
        };
        match self.statements.iter().position(contradicts) {
            Some(index) => self.statements.get(index),
            None => {
                self.statements.push(statement);
                None
            }
        }
    }
}

/// Everything that a policy says of actions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Layers {
    pub(super) global: Layer,
    pub(super) servers: HashMap<String, ServerLayer>,
}

/// What is said of a server and of its tools.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ServerLayer {
    pub(super) own: Layer,
    pub(super) tools: HashMap<String, Layer>,
}

impl Layers {
    /// The statements that hold for a tool, the general ones first.
    ///
    /// Of several `allow_jsonrpc` only the most particular one holds.
    pub(super) fn chain(&self, server: Option<&str>, tool: Option<&str>) -> Vec<&Statement> {
        let server = server.and_then(|server| self.servers.get(server));
        let tool = server.zip(tool).and_then(|(server, tool)| server.tools.get(tool));
        let layers = [Some(&self.global), server.map(|it| &it.own), tool];
        let mut chain: Vec<_> =
            layers.into_iter().flatten().flat_map(|layer| &layer.statements).collect();
        let is_jsonrpc = |it: &&Statement| matches!(it.says, Says::AllowJsonrpc(_));
        if let Some(last) = chain.iter().rposition(is_jsonrpc) {
            let mut index = 0;
            chain.retain(|it| {
                index += 1;
                !is_jsonrpc(it) || index - 1 == last
            });
        }
        chain
    }

    /// The table for a tool.
    pub(super) fn actions(
        &self,
        base: Profile,
        server: Option<&str>,
        tool: Option<&str>,
    ) -> Actions {
        let mut actions = Actions::of(base);
        for statement in self.chain(server, tool) {
            statement.says.apply(&mut actions);
        }
        actions
    }
}
