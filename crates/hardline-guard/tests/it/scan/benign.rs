//! Harmless texts: no finding of severity high or critical.

use std::collections::BTreeMap;

use hardline_guard::Severity;
use hardline_guard::sanitize;
use hardline_guard::scan::{ScanSettings, Scanner};

use super::{show, worst};

const CORPUS: &str = include_str!("../../data/benign.ndjson");

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    text: String,
}

fn cases() -> Vec<Case> {
    CORPUS.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn finds_nothing_bad_in_ordinary_texts() {
    let mut table: BTreeMap<String, [usize; 5]> = BTreeMap::new();
    let mut alarms = Vec::new();
    for Case { name, text } in cases() {
        let group = name.trim_end_matches(|it: char| it.is_ascii_digit()).trim();
        let group = group.split(" of ").next().unwrap_or(group);
        let group = if group.starts_with("prose") { "prose" } else { group };
        let worst = worst(&text);
        let column =
            worst.map_or(0, |it| 1 + Severity::ALL.iter().position(|at| *at == it).unwrap());
        table.entry(group.to_owned()).or_default()[column] += 1;
        if worst >= Some(Severity::High) {
            alarms.push(format!("{name}: {:?}\n  {}", show(&text), text.escape_debug()));
        }
    }
    let all: usize = table.values().flatten().sum();
    println!(
        "{:<22} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "benign", "nothing", "low", "medium", "high", "critical"
    );
    for (group, [nothing, low, medium, high, critical]) in table {
        println!("{group:<22} {nothing:>7} {low:>7} {medium:>7} {high:>7} {critical:>7}");
    }
    assert!(alarms.is_empty(), "{} false alarms\n{}", alarms.len(), alarms.join("\n"));
    assert!(all >= 300, "{all}");
}

#[test]
fn leaves_ordinary_texts_as_they_are() {
    let mut scanner = Scanner::new(ScanSettings::default());
    for Case { name, text } in cases() {
        let is_bad = |it: &hardline_guard::scan::Hit| it.severity >= Severity::High;
        let cleaned = sanitize::clean(&mut scanner, &text, is_bad).unwrap();
        assert_eq!(cleaned.text, text, "{name}");
        assert_eq!(cleaned.edits, 0, "{name}");
    }
}

/// All texts in one, so that no result depends on a text being alone.
#[test]
fn finds_nothing_bad_in_all_of_them_together() {
    let all: Vec<String> = cases().into_iter().map(|it| it.text).collect();
    let text = all.join("\n\n");
    let hits = super::scan(&text);
    let bad = hits.iter().filter(|it| it.severity >= Severity::High);
    let bad: Vec<_> = bad.map(|it| (it.rule, &it.detail, &text[it.range.clone()])).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}
