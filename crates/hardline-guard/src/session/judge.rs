//! Creates the findings about one message, as far as the policy wants them.

use hardline_wire::excerpt::Excerpt;
use hardline_wire::id::Id;

use super::embedded::Embedded;
use crate::finding::{Direction, Finding, Severity};
use crate::rule::{Action, Rule};

/// Creates the findings of one message and asks the policy about them.
pub(super) struct Judge<'a, F> {
    pub(super) direction: Direction,
    pub(super) decide: &'a F,
}

/// Limit on the bytes of an id or a method that a finding shows.
const EXCERPT_BYTES: usize = 96;

/// Subject of a finding.
#[derive(Clone, Copy, Debug)]
pub(super) enum About<'a> {
    Id(&'a Id<'a>),
    Method(&'a str),
    Embedded(&'a Embedded),
}

impl<F: Fn(Rule) -> Action> Judge<'_, F> {
    pub(super) fn blocks(&self, rule: Rule) -> bool {
        (self.decide)(rule) >= Action::Block
    }

    /// Adds a finding, unless the policy allows the rule.
    pub(super) fn find(
        &self,
        out: &mut Vec<Finding>,
        rule: Rule,
        severity: Severity,
        about: About<'_>,
        detail: &str,
    ) {
        if (self.decide)(rule) == Action::Allow {
            return;
        }
        let (path, excerpt) = match about {
            About::Id(id) => ("$.id", Excerpt::of_json(&id.to_string(), EXCERPT_BYTES).to_string()),
            About::Method(name) => {
                ("$.method", Excerpt::new(name.as_bytes(), EXCERPT_BYTES).to_string())
            }
            About::Embedded(_) => ("$.result.inputRequests", String::new()),
        };
        let (offset, length) = match about {
            About::Embedded(embedded) => (embedded.offset, embedded.length),
            About::Id(_) | About::Method(_) => (0, 0),
        };
        out.push(Finding {
            rule,
            severity,
            direction: self.direction,
            path: Some(path.to_owned()),
            offset,
            length,
            excerpt,
            detail: detail.to_owned(),
        });
    }
}
