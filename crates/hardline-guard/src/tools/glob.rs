//! Patterns for names: `*` is any run of characters, `?` is one.

use std::fmt;

/// A pattern for names. Everything but `*` and `?` stands for itself.
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
    /// A pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into() }
    }

    /// Whether it fits more than one name.
    pub fn has_wildcard(&self) -> bool {
        self.pattern.contains(['*', '?'])
    }

    /// Whether all of `name` fits.
    pub fn matches(&self, name: &str) -> bool {
        fits(self.pattern.chars().collect(), name.chars().collect())
    }

    /// The same, whatever the case.
    pub fn matches_any_case(&self, name: &str) -> bool {
        let lower = |text: &str| text.chars().flat_map(char::to_lowercase).collect();
        fits(lower(&self.pattern), lower(name))
    }
}

/// Goes back to the last `*` where it does not fit: no more than the product of both lengths in steps.
fn fits(pattern: Vec<char>, name: Vec<char>) -> bool {
    let (mut at, mut done, mut last) = (0, 0, None);
    while let Some(char) = name.get(done) {
        match pattern.get(at) {
            Some('*') => {
                last = Some((at + 1, done));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || wanted == char => (at, done) = (at + 1, done + 1),
            _ => {
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
