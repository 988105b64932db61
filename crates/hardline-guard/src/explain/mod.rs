//! The documentation of each rule: what it finds, why that matters, the action of each profile, and
//! how to allow it narrowly.
//!
//! The prose of each rule is a file in this directory. The actions and the policy that allows the
//! rule are generated from the tables that the guard itself uses, so they cannot be wrong.
//!
//! Invariants:
//! - Each rule has a text with all its parts (checked by a test).
//! - The page of rules in the repository equals the output of [`page`] (checked by a test).
//! - The policy in each text is valid, and allows that rule and nothing else (checked by a test).

use std::fmt::Write;

use crate::finding::{Direction, Severity};
use crate::policy::Profile;
use crate::rule::{Action, Rule};

/// Heading before which the table of profiles is inserted.
const ALLOWING: &str = "### Allow it narrowly\n";

/// Returns the documentation of a rule as Markdown: one section of [`page`].
///
/// ```
/// use hardline_guard::Rule;
/// use hardline_guard::explain::explain;
///
/// assert!(explain(Rule::ContentFrame).starts_with("## `content.frame`\n"));
/// ```
pub fn explain(rule: Rule) -> String {
    let (before, hint) = rule.prose().split_once(ALLOWING).unwrap_or((rule.prose(), ""));
    let mut text = format!("## `{rule}`\n\nSeverity `{}`: {}.\n\n", rule.severity(), rule.title());
    text.push_str(before);
    text.push_str("### What the profiles do\n\n");
    text.push_str(&profiles(rule));
    text.push('\n');
    text.push_str(ALLOWING);
    text.push_str(hint);
    text.push_str("\n```toml\n");
    text.push_str(&narrow_allow(rule));
    text.push_str("```\n");
    text
}

/// Returns the narrowest policy that allows a rule, for a server `docs` with a tool `read_page`.
pub fn narrow_allow(rule: Rule) -> String {
    let mut text = format!("[[allow]]\nrule = \"{rule}\"\nserver = \"docs\"\n");
    // Findings in bytes, sessions and starts belong to no tool, so a tool would never match.
    if !rule.is_without_tool() {
        text.push_str("tool = \"read_page\"\n");
    }
    text.push_str("reason = \"why this is safe here\"\n");
    text
}

/// Returns the documentation of all rules as Markdown.
pub fn page() -> String {
    let mut text = String::from(include_str!("intro.md"));
    text.push_str("\n| rule | severity | balanced | strict | finds |\n|---|---|---|---|---|\n");
    for &rule in Rule::ALL {
        let (balanced, strict) = (rule.balanced().name(), rule.strict().name());
        // GitHub drops dots from the anchors of headings.
        let anchor = rule.name().replace('.', "");
        let (severity, title) = (rule.severity(), rule.title());
        let row =
            format!("| [`{rule}`](#{anchor}) | {severity} | {balanced} | {strict} | {title} |");
        text.push_str(&row);
        text.push('\n');
    }
    for &rule in Rule::ALL {
        text.push('\n');
        text.push_str(&explain(rule));
    }
    text
}

/// Returns a table with the action of each profile for a rule.
fn profiles(rule: Rule) -> String {
    let row = |severity, direction| Profile::ALL.map(|it| it.action(rule, severity, direction));
    let mut text = String::from("| from | observe | balanced | strict |\n|---|---|---|---|\n");
    let mut add = |from: &str, actions: [Action; 3]| {
        let [observe, balanced, strict] = actions.map(Action::name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {from} | {observe} | {balanced} | {strict} |");
    };
    let usual = row(rule.severity(), Direction::ServerToClient);
    add("the server", usual);
    // Some actions depend on the severity of the finding; only severities that differ get a row.
    let others = Severity::ALL.map(|severity| (severity, row(severity, Direction::ServerToClient)));
    let others: Vec<_> = others.into_iter().filter(|(_, actions)| *actions != usual).collect();
    for group in others.chunk_by(|(_, one), (_, other)| one == other) {
        let names: Vec<_> = group.iter().map(|(severity, _)| format!("`{severity}`")).collect();
        if let Some((_, actions)) = group.first() {
            add(&format!("the server, if it is {}", names.join(" or ")), *actions);
        }
    }
    add("the client", row(rule.severity(), Direction::ClientToServer));
    text
}
