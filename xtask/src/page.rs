//! Generated parts of pages in `docs`, each between two comments.

use std::fs;

use crate::process::root;

/// Replaces the part of a page between the lines `start` and `end`.
pub(crate) fn save(path: &str, start: &str, end: &str, part: &str) -> Result<(), String> {
    let path = root().join(path);
    let with_path = |error| format!("{}: {error}", path.display());
    let page = fs::read_to_string(&path).map_err(with_path)?;
    let page = replace(&page, start, end, part)
        .ok_or_else(|| format!("{} has no place for it: {start}", path.display()))?;
    fs::write(&path, page).map_err(with_path)?;
    println!("written to {}", path.display());
    Ok(())
}

/// Returns the page with another part, or `None` if `start` or `end` is missing.
fn replace(page: &str, start: &str, end: &str, part: &str) -> Option<String> {
    let (before, rest) = page.split_once(start)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{start}\n\n{}\n\n{end}{after}", part.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n\n<!-- a -->\n\nold\n\n<!-- end of a -->\n\n<!-- b -->\n\nb\n";

    #[test]
    fn replaces_one_part_and_keeps_the_rest() {
        let page =
            replace(PAGE, "<!-- a -->", "<!-- end of a -->", "\nnew\n\n| table |\n").unwrap();
        assert_eq!(page, PAGE.replace("old", "new\n\n| table |"));
        assert_eq!(replace(&page, "<!-- a -->", "<!-- end of a -->", "old").as_deref(), Some(PAGE));
    }

    #[test]
    fn a_page_without_both_ends_stays_as_it_is() {
        assert_eq!(replace(PAGE, "<!-- b -->", "<!-- end of b -->", "new"), None);
        assert_eq!(replace(PAGE, "<!-- c -->", "<!-- end of a -->", "new"), None);
    }
}
