//! Joins the pages of a tool list.

use std::collections::HashSet;

use hardline_guard::pin::{Definition, Lock};
use hardline_guard::tools::Page;

/// Limit on the tools of one list: as many as can be pinned. A longer list never counts as
/// complete.
const MAX_TOOLS: usize = Lock::MAX_TOOLS;
/// Limit on the bytes of their definitions, because a server can send pages without end.
const MAX_BYTES: usize = 2 * Lock::MAX_SERVER_BYTES;

/// Pages of one list so far.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) tools: Vec<Definition>,
    /// Bytes of their definitions, at most [`MAX_BYTES`].
    bytes: usize,
    /// True if all pages from the first on have arrived.
    is_unbroken: bool,
}

impl Pages {
    /// Adds a page. Returns true if the list is complete now.
    pub(super) fn add(&mut self, tools: &[Definition], page: Page) -> bool {
        if page.is_first {
            *self = Self::default();
        }
        self.is_unbroken = page.is_first || self.is_unbroken && page.is_next;
        for tool in tools {
            let bytes = self.bytes + tool.name().len() + tool.canonical().len();
            if self.tools.len() >= MAX_TOOLS || bytes > MAX_BYTES {
                // A truncated list must not make the missing tools look removed.
                self.is_unbroken = false;
                break;
            }
            self.bytes = bytes;
            self.tools.push(tool.clone());
        }
        self.is_unbroken && page.is_last
    }

    /// Returns the tools on these pages, and the tools of `known` that are not on them.
    pub(super) fn over<'a>(&self, known: impl Iterator<Item = &'a Definition>) -> Vec<Definition> {
        let names: HashSet<&str> = self.tools.iter().map(Definition::name).collect();
        let others = known.filter(|tool| !names.contains(tool.name())).cloned();
        self.tools.iter().cloned().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use hardline_wire::json::Checker;
    use hardline_wire::limits::Limits;

    use super::*;

    #[test]
    fn a_list_without_an_end_is_kept_up_to_a_limit() {
        let text = format!(r#"{{"name":"t","x":"{}"}}"#, "x".repeat(200_000));
        let mut checker = Checker::new(&Limits::default());
        let tool = Definition::new(checker.check(text.as_bytes()).unwrap().value).unwrap();
        let mut pages = Pages::default();
        let page = |number: usize| Page {
            is_first: number == 0,
            is_next: number > 0,
            is_last: number == 299,
        };
        for number in 0..300 {
            assert!(!pages.add(std::slice::from_ref(&tool), page(number)));
            assert!(pages.bytes <= MAX_BYTES);
        }
        assert!((100..200).contains(&pages.tools.len()), "{}", pages.tools.len());
        let whole = Page { is_first: true, is_next: false, is_last: true };
        assert!(pages.add(&[tool], whole), "the next list begins anew");
    }
}
