//! What a review of a list is about, and what comes of it.

use hardline_wire::json::Value;

use super::filter::{Denial, ToolFilter};
use crate::pin::{Definition, DefinitionError};
use crate::rule::{Action, Rule};

/// A tool that a server lists.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Empty if it has none: nobody can call it.
    pub(crate) name: String,
    pub(crate) definition: Result<Definition, DefinitionError>,
    /// Whether its server says that it only reads.
    pub(crate) only_reads: bool,
    /// Why it is not for the client, if somebody said so.
    pub(crate) denial: Option<Denial>,
    /// Whether something is planted in its definition.
    pub(crate) is_poisoned: bool,
    /// Set if the same tool stands before it on the list.
    pub(crate) is_copy: bool,
    /// The rule that hides it, if one does.
    pub(crate) hidden: Option<Rule>,
}

impl Listed {
    /// Takes an element of a list.
    pub(crate) fn new(tool: Value<'_>, filter: &ToolFilter) -> Self {
        let name = tool.get("name").and_then(|name| name.as_str()).unwrap_or_default().into_owned();
        let annotations = tool.get("annotations");
        let hint = annotations.and_then(|it| it.get("readOnlyHint")).and_then(|it| it.as_bool());
        let only_reads = hint == Some(true);
        let denial = filter.denial(&name, only_reads);
        let definition = Definition::new(tool);
        Self {
            name,
            definition,
            only_reads,
            denial,
            is_poisoned: false,
            is_copy: false,
            hidden: None,
        }
    }

    /// Whether the client does not see it.
    pub(crate) fn is_gone(&self) -> bool {
        self.denial.is_some() || self.hidden.is_some()
    }
}

/// Something found about a tool of a list.
#[derive(Debug)]
pub(crate) struct Notice {
    /// Which one.
    pub(crate) index: usize,
    pub(crate) rule: Rule,
    pub(crate) action: Action,
    pub(crate) detail: String,
}
