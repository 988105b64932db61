//! Glob patterns for names: `*` matches any number of characters, `?` matches one.

use std::fmt;

/// A glob pattern for names. All characters except `*` and `?` match themselves.
///
/// ```
/// use hardline_guard::tools::Glob;
///
/// assert!(Glob::new("read_*").matches("read_file"));
/// assert!(!Glob::new("read_*").matches("reread_file"));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Glob {
    pattern: String,
}

impl Glob {
    /// Creates a pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into() }
    }

    /// Returns true if the pattern can match more than one name.
    pub fn has_wildcard(&self) -> bool {
        self.pattern.contains(['*', '?'])
    }

    /// Returns true if the pattern matches the whole name.
    pub fn matches(&self, name: &str) -> bool {
        fits(self.pattern.chars().collect(), name.chars().collect())
    }

    /// Returns true if the pattern matches the whole name, ignoring case.
    pub fn matches_any_case(&self, name: &str) -> bool {
        let lower = |text: &str| text.chars().flat_map(char::to_lowercase).collect();
        fits(lower(&self.pattern), lower(name))
    }
}

/// Matches with backtracking to the last `*` only, so the number of steps is at most the product of
/// both lengths.
fn fits(pattern: Vec<char>, name: Vec<char>) -> bool {
    let (mut at, mut done, mut last) = (0, 0, None);
    while let Some(char) = name.get(done) {
        match pattern.get(at) {
            Some('*') => {
                // Only the last `*` needs to be retried: an earlier one cannot help where it
                // failed.
                last = Some((at + 1, done));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || wanted == char => (at, done) = (at + 1, done + 1),
            _ => {
                // The last `*` takes one character more.
                let Some((after, taken)) = last else { return false };
                (at, done) = (after, taken + 1);
                last = Some((after, taken + 1));
            }
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|char| *char == '*')
}

impl fmt::Display for Glob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, fitting: &[&str], others: &[&str]) {
        let glob = Glob::new(pattern);
        for name in fitting {
            assert!(glob.matches(name), "{pattern} {name}");
        }
        for name in others {
            assert!(!glob.matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_star_is_any_run_and_a_question_mark_is_one_character() {
        check("read", &["read"], &["", "Read", "reads", "thread"]);
        check("*", &["", "a", "übung"], &[]);
        check("a*b*c", &["abc", "axxbyybzzc", "abbc"], &["ab", "acb", "abcd"]);
        check("?ile", &["file", "öile"], &["ile", "ffile"]);
        check("**x", &["x", "xx", "yx"], &["", "xy"]);
        check("[a-z]", &["[a-z]"], &["a"]);
        check("", &[""], &["a"]);
    }

    #[test]
    fn the_case_counts_only_where_it_should() {
        assert!(Glob::new("Delete_*").matches_any_case("dELETE_all"));
        assert!(!Glob::new("delete_*").matches("DELETE_all"));
    }

    #[test]
    fn a_hostile_name_takes_no_more_than_the_product_of_the_lengths() {
        assert!(!Glob::new("*a".repeat(20) + "b").matches(&"a".repeat(5_000)));
    }
}
