//! The pages of a list, put together.

use std::collections::HashSet;

use hardline_guard::pin::{Definition, Lock};
use hardline_guard::tools::Page;

/// Most tools of one list that are kept, as many as can be pinned. A longer one never counts as whole.
const MAX_TOOLS: usize = Lock::MAX_TOOLS;
/// Most bytes of their definitions: a server can name one page after another.
const MAX_BYTES: usize = 2 * Lock::MAX_SERVER_BYTES;

/// The pages of one list so far.
#[derive(Debug, Default)]
pub(super) struct Pages {
    pub(super) tools: Vec<Definition>,
    /// Bytes of their definitions, at most [`MAX_BYTES`].
    bytes: usize,
    /// Whether all pages from the first on are there.
    is_unbroken: bool,
}

impl Pages {
    /// Adds a page. Returns whether the list is whole now.
    pub(super) fn add(&mut self, tools: &[Definition], page: Page) -> bool {
        if page.is_first {
            *self = Self::default();
        }
        self.is_unbroken = page.is_first || self.is_unbroken && page.is_next;
        for tool in tools {
            let bytes = self.bytes + tool.name().len() + tool.canonical().len();
            if MAX_TOOLS <= self.tools.len() || MAX_BYTES < bytes {
                self.is_unbroken = false;
                break;
            }
            self.bytes = bytes;
            self.tools.push(tool.clone());
        }
        self.is_unbroken && page.is_last
    }

    /// The tools on these pages, and those of `known` that are not on them.
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
