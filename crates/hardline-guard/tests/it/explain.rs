//! The explanations of the rules: complete, true, and the same in `docs/rules.md`.

use std::fs;
use std::path::Path;

use hardline_guard::explain::{explain, narrow_allow, page};
use hardline_guard::policy::{Policy, Profile};
use hardline_guard::{Action, Direction, Rule};

#[test]
fn every_rule_has_a_text_with_all_its_parts() {
    for &rule in Rule::ALL {
        let text = explain(rule);
        let headings: Vec<_> = text.lines().filter(|line| line.starts_with('#')).collect();
        let expected = [
            &*format!("## `{rule}`"),
            "### Example",
            "### Why it matters",
            "### What the profiles do",
            "### Allow it narrowly",
        ];
        assert_eq!(headings, expected, "{rule}");
        assert!(!text.contains("\n\n\n"), "{rule} has a hole in its text");
        for part in text.split("\n#") {
            let words = part.split_whitespace().count();
            assert!(2 < words, "{rule} has little to say: {part}");
        }
        assert!(text.chars().all(|char| char == '\n' || !char.is_control()), "{rule}");
    }
}

#[test]
fn what_a_text_says_of_allowing_allows_that_rule_there_and_nothing_else() {
    for &rule in Rule::ALL {
        let text = explain(rule);
        let snippet = text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        assert_eq!(snippet, Some(&*narrow_allow(rule)), "{rule}");
        for profile in Profile::ALL {
            let plain = Policy::profile(profile);
            let policy = Policy::parse_with_profile(&narrow_allow(rule), profile).unwrap();
            for &other in Rule::ALL {
                for direction in [Direction::ServerToClient, Direction::ClientToServer] {
                    let at = |server, tool| policy.action(other, Some(server), tool, direction);
                    let usual = plain.action(other, None, None, direction);
                    let expected = if other == rule { Action::Allow } else { usual };
                    assert_eq!(at("docs", Some("read_page")), expected, "{rule} {other}");
                    assert_eq!(at("mail", Some("read_page")), usual, "{rule} {other}");
                    let has_tool = !rule.is_without_tool();
                    let elsewhere = if has_tool { usual } else { expected };
                    assert_eq!(at("docs", Some("search")), elsewhere, "{rule} {other}");
                }
            }
        }
    }
}

#[test]
fn what_a_text_says_of_profiles_is_what_they_do() {
    for &rule in Rule::ALL {
        let text = explain(rule);
        let row = text.lines().find(|line| line.starts_with("| the server |")).unwrap();
        let actions: Vec<_> = row.split('|').map(str::trim).filter(|it| !it.is_empty()).collect();
        let expected = Profile::ALL.map(|profile| {
            Policy::profile(profile).action(rule, None, None, Direction::ServerToClient).name()
        });
        assert_eq!(actions[1..], expected, "{rule}");
    }
}

#[test]
fn the_page_in_docs_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    if std::env::var_os("HARDLINE_BLESS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written.replace("\r\n", "\n") == page(),
        "docs/rules.md is out of date: HARDLINE_BLESS=1 cargo test -p hardline-guard --test it explain"
    );
}
