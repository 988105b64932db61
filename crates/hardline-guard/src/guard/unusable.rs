//! Refuses lists of tools that cannot be compared, because they are no arrays.

use hardline_wire::json::Kind;
use hardline_wire::message::Message;

use super::Guard;
use super::tools::result_of;
use super::work::Work;
use crate::finding::{Direction, Finding};
use crate::rule::{Action, Rule};
use crate::session::Asked;

impl Guard {
    /// Reports a list of tools that is no array: some clients may read it, and nothing in it was
    /// compared. Returns the rule that blocks it, if one does.
    pub(super) fn refuse_unusable(
        &self,
        message: &Message<'_>,
        asked: Option<&Asked>,
        base: usize,
        work: &mut Work<'_>,
    ) -> Option<Rule> {
        let result = result_of(message, asked).filter(|_| self.judges_tools())?;
        let tools = result.get("tools").filter(|it| it.kind() != Kind::Array)?;
        let (rule, direction) = (Rule::ToolChanged, Direction::ServerToClient);
        let mut action = self.policy.actions(None).action(rule, direction);
        if !self.tools.filter().is_open() {
            // No filter can be applied to it.
            action = action.max(Action::Block);
        }
        if action == Action::Close {
            work.close(rule);
        }
        let detail =
            "a list of tools that is no array, so that it cannot be compared with the pins";
        work.findings.add(rule, action, || Finding {
            path: Some("$.result.tools".to_owned()),
            offset: base + tools.offset(),
            length: tools.text().len(),
            ..Finding::new(rule, direction, String::new(), detail)
        });
        (action >= Action::Block).then_some(rule)
    }
}
