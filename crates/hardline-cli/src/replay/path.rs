//! Paths inside a message, and patterns for paths to ignore: `$.result.content[*].text`.
//!
//! `.name` and `['name']` are members, `[0]` is an element, `*` matches any of them, and `..`
//! matches any number of levels. `$` is the whole message.

use std::fmt;
use std::str::FromStr;

/// One step from a value to one inside it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Member(String),
    Element(usize),
}

/// Path of a value inside a message.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Path(pub(super) Vec<Step>);

/// Pattern for paths.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Pattern(Vec<Part>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    Step(Step),
    Any,
    /// Any number of steps, including none.
    Deep,
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("$")?;
        for step in &self.0 {
            match step {
                Step::Element(index) => write!(formatter, "[{index}]")?,
                // Other names need quotes, so that the path can be pasted into --ignore.
                Step::Member(name) if is_word(name) => write!(formatter, ".{name}")?,
                Step::Member(name) => {
                    let name = name.replace('\\', "\\\\").replace('\'', "\\'");
                    write!(formatter, "['{name}']")?;
                }
            }
        }
        Ok(())
    }
}

fn is_word(name: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '$');
    !name.is_empty() && name.chars().all(is_part)
}

impl Pattern {
    /// Returns true if the pattern matches exactly this path.
    pub(super) fn matches(&self, path: &Path) -> bool {
        let (mut part, mut step) = (0, 0);
        // Position of the last `..`, and the number of steps that it has consumed, for
        // backtracking.
        let mut deep: Option<(usize, usize)> = None;
        loop {
            let fits = match (self.0.get(part), path.0.get(step)) {
                (None, None) => return true,
                // Tried first without consuming a step; a mismatch below backtracks to it.
                (Some(Part::Deep), _) => {
                    deep = Some((part, step));
                    part += 1;
                    continue;
                }
                (Some(Part::Any), Some(_)) => true,
                (Some(Part::Step(wanted)), Some(there)) => wanted == there,
                (None, Some(_)) | (Some(_), None) => false,
            };
            if fits {
                (part, step) = (part + 1, step + 1);
                continue;
            }
            match deep {
                // Let the last `..` consume one step more, and try again.
                Some((at, taken)) if taken < path.0.len() => {
                    deep = Some((at, taken + 1));
                    (part, step) = (at + 1, taken + 1);
                }
                _ => return false,
            }
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "expected a path such as $.result.content[*].text or $..timestamp".to_owned();
        let mut rest = text.trim().strip_prefix('$').ok_or_else(wrong)?;
        let mut parts = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("..") {
                parts.push(Part::Deep);
                // `..[0]` is valid too.
                if after.starts_with('[') {
                    rest = after;
                    continue;
                }
                rest = push_name(after, &mut parts).ok_or_else(wrong)?;
            } else if let Some(after) = rest.strip_prefix('.') {
                rest = push_name(after, &mut parts).ok_or_else(wrong)?;
            } else {
                let after = rest.strip_prefix('[').ok_or_else(wrong)?;
                rest = push_bracket(after, &mut parts).ok_or_else(wrong)?;
            }
        }
        Ok(Self(parts))
    }
}

/// Parses a name up to the next `.` or `[`. Returns the rest.
fn push_name<'a>(text: &'a str, parts: &mut Vec<Part>) -> Option<&'a str> {
    let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    parts.push(match name {
        "" => return None,
        "*" => Part::Any,
        name => Part::Step(Step::Member(name.to_owned())),
    });
    Some(rest)
}

/// Parses the content of brackets. Returns the rest.
fn push_bracket<'a>(text: &'a str, parts: &mut Vec<Part>) -> Option<&'a str> {
    let Some(quote) = text.chars().next().filter(|char| matches!(char, '\'' | '"')) else {
        let (inside, rest) = text.split_once(']')?;
        parts.push(match inside.trim() {
            "*" => Part::Any,
            index => Part::Step(Step::Element(index.parse().ok()?)),
        });
        return Some(rest);
    };
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            // A backslash escapes the quote and itself.
            '\\' => name.push(chars.next()?.1),
            _ if char == quote => {
                parts.push(Part::Step(Step::Member(name)));
                return text.get(at + 1..)?.strip_prefix(']');
            }
            _ => name.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(steps: &str) -> Path {
        let steps = steps.split_whitespace().map(|step| match step.parse() {
            Ok(index) => Step::Element(index),
            Err(_) => Step::Member(step.to_owned()),
        });
        Path(steps.collect())
    }

    #[track_caller]
    fn check(pattern: &str, steps: &str, expected: bool) {
        let pattern: Pattern = pattern.parse().unwrap();
        assert_eq!(pattern.matches(&path(steps)), expected, "{pattern:?} {steps}");
    }

    #[test]
    fn patterns_match_the_place_and_no_other() {
        check("$", "", true);
        check("$", "result", false);
        check("$.result.serverInfo.version", "result serverInfo version", true);
        check("$.result.serverInfo.version", "result serverInfo", false);
        check("$.result.serverInfo.version", "result serverInfo version x", false);
        check("$.result.content[*].text", "result content 7 text", true);
        check("$.result.content[1].text", "result content 7 text", false);
        check("$['result']['content'][*][\"text\"]", "result content 7 text", true);
        check("$.result.*", "result x", true);
        check("$.result.*", "result", false);
    }

    #[test]
    fn two_dots_stand_for_any_depth() {
        check("$..time", "time", true);
        check("$..time", "result a 3 time", true);
        check("$..time", "result time a", false);
        check("$..a.b", "a a b", true);
        check("$..a..b", "x a y b z b", true);
        check("$..a..b", "x b y a", false);
        check("$..[0]", "result content 0", true);
        check("$..*", "result content 0", true);
        check("$..*", "", false);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in [
            "", "result", "$.", "$result", "$[", "$['a'", "$[a]", "$['a]", "$...a", "$.a..",
            "$[-1]",
        ] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_is_written_so_that_it_can_be_given_back() {
        for steps in [vec!["result", "a b", "x'y\\"], vec!["", "é", "-"]] {
            let steps = steps.into_iter().map(|it| Step::Member(it.to_owned()));
            let path = Path(steps.chain([Step::Element(3)]).collect());
            let written = path.to_string();
            assert!(written.parse::<Pattern>().unwrap().matches(&path), "{written}");
        }
        assert_eq!(path("result content 0 text").to_string(), "$.result.content[0].text");
    }
}
