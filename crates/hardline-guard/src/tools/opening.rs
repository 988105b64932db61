//! Compares the instructions of a server with their pin.

use super::INSTRUCTIONS;
use super::keeper::PinKeeper;
use super::roster::Roster;
use crate::pin::Instructions;
use crate::rule::{Action, Rule};

/// An objection to a server's instructions.
#[derive(Debug)]
pub(crate) struct Objection {
    pub(crate) rule: Rule,
    pub(crate) action: Action,
    pub(crate) detail: String,
    /// Set if it was not reported yet in this session.
    pub(crate) is_news: bool,
}

impl Objection {
    /// Returns true if the client must not see the instructions.
    pub(crate) fn hides(&self) -> bool {
        self.action >= Action::Block
    }
}

impl Roster {
    /// Passes the name with which the client identifies itself to the keeper.
    pub(crate) fn meet_client(&mut self, server: &str, client: &str) {
        if let Some(keeper) = self.keeper.as_mut() {
            keeper.meet_client(server, client);
        }
        self.has_met_client = true;
    }

    /// Returns true if the keeper needs the name of the client and does not have it yet.
    pub(crate) fn wants_client(&self) -> bool {
        self.keeper.is_some() && !self.has_met_client
    }

    /// Returns true if instructions are pinned and compared.
    pub(crate) fn pins_instructions(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| keeper.pins_instructions())
    }

    /// Reviews the instructions of a server: pins them at first use, and compares them afterwards.
    /// Instructions with planted text are not pinned; the server then counts as one without
    /// instructions.
    pub(crate) fn review_instructions(
        &mut self,
        server: &str,
        instructions: &Instructions,
        is_poisoned: bool,
        decide: impl Fn(Rule) -> Action,
    ) -> Option<Objection> {
        let keeper = self.keeper.as_mut()?;
        let is_first = keeper.lock().instructions(server).is_none();
        if is_first {
            let none = Instructions::none();
            keeper.pin_instructions(server, if is_poisoned { &none } else { instructions });
        }
        keeper.list_instructions(server, instructions);
        let lock = keeper.lock();
        let (rule, mut detail) = if lock.instructions(server).is_none() {
            let detail = "the server's instructions cannot be pinned".to_owned();
            (Rule::ToolNew, detail)
        } else {
            // The content rules have already reported the planted text.
            let difference = lock.compare_instructions(server, instructions);
            let difference = difference.filter(|_| !is_first)?;
            (difference.rule()?, difference.summary(&keeper.comparison(server)))
        };
        let action = decide(rule);
        if action >= Action::Block {
            detail.push_str(&remedy(&**keeper, server, "left out"));
        }
        let fingerprint = Some(instructions.fingerprint());
        let is_news = self.take_news(rule, INSTRUCTIONS, fingerprint) && action != Action::Allow;
        Some(Objection { rule, action, detail, is_news })
    }
}

/// Returns a sentence with the command that approves the hidden part.
pub(super) fn remedy(keeper: &dyn PinKeeper, server: &str, what: &str) -> String {
    format!("\n{what} until a person runs `{}`", keeper.approval(server))
}
