//! The input and output of a review of a tool list.

use hardline_wire::json::Value;

use super::filter::{Denial, ToolFilter};
use crate::pin::{Definition, DefinitionError};
use crate::rule::{Action, Rule};

/// A tool of a list.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Empty if the tool has none: no client can call it.
    pub(crate) name: String,
    pub(crate) definition: Result<Definition, DefinitionError>,
    /// Set if its server annotates it as read-only.
    pub(crate) only_reads: bool,
    /// The reason for which the filter removes it, if it does.
    pub(crate) denial: Option<Denial>,
    /// Set if its definition contains planted text.
    pub(crate) is_poisoned: bool,
    /// Set if an identical tool stands before it on the list.
    pub(crate) is_copy: bool,
    /// The rule that hides it, if any.
    pub(crate) hidden: Option<Rule>,
}

impl Listed {
    /// Reads an element of a list.
    pub(crate) fn new(tool: Value<'_>, filter: &ToolFilter) -> Self {
        let name = tool.get("name").and_then(|name| name.as_str()).unwrap_or_default().into_owned();
        let annotations = tool.get("annotations");
        let hint = annotations.and_then(|it| it.get("readOnlyHint")).and_then(|it| it.as_bool());
        // A hint that is missing or not a boolean does not count as read-only.
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

    /// Returns true if the client does not see the tool.
    pub(crate) fn is_gone(&self) -> bool {
        self.denial.is_some() || self.hidden.is_some()
    }
}

/// A match of a rule in a tool of a list.
#[derive(Debug)]
pub(crate) struct ToolHit {
    /// Index of the tool on the page.
    pub(crate) index: usize,
    pub(crate) rule: Rule,
    pub(crate) action: Action,
    pub(crate) detail: String,
}
