//! The statements of a policy, from the general to the specific.
//!
//! Invariants:
//! - The table used on the hot path and the explanation shown to people apply the same statements
//!   with the same function, so they cannot disagree.
//! - A scope has at most one statement per rule and direction, so no two of them contradict each
//!   other.

use std::collections::HashMap;

use super::table::Actions;
use super::{Origin, Profile};
use crate::finding::Direction;
use crate::rule::{Action, Rule, Trait};

/// One statement and its place in the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Statement {
    pub(super) says: Says,
    pub(super) origin: Origin,
}

/// Content of a statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Says {
    /// Resets all actions to those of this profile.
    Profile(Profile),
    /// If true, JSON-RPC in content is logged at most; if false, that exception ends.
    AllowJsonrpc(bool),
    /// Sets the action for a rule, in one direction or in both.
    Rule(Rule, Option<Direction>, Action),
}

impl Says {
    /// Returns true if the statement affects `rule` in `direction`.
    pub(super) fn is_about(&self, rule: Rule, direction: Direction) -> bool {
        match self {
            Self::Profile(_) => true,
            Self::AllowJsonrpc(_) => rule.has(Trait::Jsonrpc),
            Self::Rule(it, way, _) => *it == rule && way.is_none_or(|way| way == direction),
        }
    }

    /// Applies the statement to `actions`.
    pub(super) fn apply(&self, actions: &mut Actions) {
        match *self {
            // A profile replaces everything that more general statements said.
            Self::Profile(profile) => *actions = Actions::of(profile),
            Self::AllowJsonrpc(allows) => actions.set_allows_jsonrpc(allows),
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

/// The statements of one scope: all servers, one server, or one tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Statements {
    /// In the order of application: profile, `allow_jsonrpc`, rules.
    list: Vec<Statement>,
}

impl Statements {
    /// Adds a statement that overrides the earlier ones.
    pub(super) fn push(&mut self, statement: Statement) {
        self.list.push(statement);
    }

    /// Adds a statement, unless it contradicts an earlier one. Returns the earlier one in that
    /// case.
    pub(super) fn add(&mut self, statement: Statement) -> Option<&Statement> {
        let contradicts = |it: &Statement| match (&it.says, &statement.says) {
            // A statement for both directions contradicts one for either.
            (Says::Rule(one, one_way, _), Says::Rule(other, other_way, _)) => {
                one == other && (one_way == other_way || one_way.is_none() || other_way.is_none())
            }
            _ => false,
        };
        match self.list.iter().position(contradicts) {
            Some(index) => self.list.get(index),
            None => {
                self.list.push(statement);
                None
            }
        }
    }
}

/// All statements of a policy about actions.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct AllStatements {
    pub(super) global: Statements,
    pub(super) servers: HashMap<String, ServerStatements>,
}

/// The statements about one server and about its tools.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ServerStatements {
    pub(super) own: Statements,
    pub(super) tools: HashMap<String, Statements>,
}

impl AllStatements {
    /// Returns the statements that apply to a tool, from the general to the specific.
    ///
    /// Of several `allow_jsonrpc` statements only the most specific one applies.
    pub(super) fn chain(&self, server: Option<&str>, tool: Option<&str>) -> Vec<&Statement> {
        let server = server.and_then(|server| self.servers.get(server));
        let tool = server.zip(tool).and_then(|(server, tool)| server.tools.get(tool));
        let scopes = [Some(&self.global), server.map(|it| &it.own), tool];
        let mut chain: Vec<_> = scopes.into_iter().flatten().flat_map(|it| &it.list).collect();
        let is_jsonrpc = |it: &&Statement| matches!(it.says, Says::AllowJsonrpc(_));
        // A general `allow_jsonrpc` lowers actions, and a specific `false` could not raise them
        // again.
        if let Some(last) = chain.iter().rposition(is_jsonrpc) {
            let mut index = 0;
            chain.retain(|it| {
                index += 1;
                !is_jsonrpc(it) || index - 1 == last
            });
        }
        chain
    }

    /// Returns the action table for a tool.
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
