//! The pages of a list, put together.

use std::collections::HashSet;

use hardline_guard::pin::{Definition, Lock};
use hardline_guard::tools::Page;

/// Most tools of one list that are kept, as many as can be pinned. A longer one never counts as whole.
const MAX_TOOLS: usize = Lock::MAX_TOOLS;

/// The pages of one list so far.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) tools: Vec<Definition>,
    /// Whether all pages from the first on are there.
    is_unbroken: bool,
}

impl Pages {
    /// Adds a page. Returns whether the list is whole now.
    pub(super) fn add(&mut self, tools: &[Definition], page: Page) -> bool {
        if page.is_first {
            self.tools.clear();
        }
        let room = MAX_TOOLS.saturating_sub(self.tools.len());
        self.is_unbroken = page.is_first || self.is_unbroken && page.is_next;
        self.is_unbroken &= tools.len() <= room;
        self.tools.extend(tools.iter().take(room).cloned());
        self.is_unbroken && page.is_last
    }

    /// The tools on these pages, and those of `known` that are not on them.
    pub(super) fn over<'a>(&self, known: impl Iterator<Item = &'a Definition>) -> Vec<Definition> {
        let names: HashSet<&str> = self.tools.iter().map(Definition::name).collect();
        let others = known.filter(|tool| !names.contains(tool.name())).cloned();
        self.tools.iter().cloned().chain(others).collect()
    }
}
