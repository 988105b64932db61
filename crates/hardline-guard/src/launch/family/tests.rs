//! Properties of every row of the table.

use super::super::{CodeKind, inspect};
use super::table::table;
use super::{Family, Operand, has, words};

#[test]
fn every_line_of_the_table_means_something() {
    assert_eq!(table().faults, [""; 0]);
    for set in ["many", "shims", "builtins", "runners", "anything"] {
        assert!(table().sets.iter().any(|(name, names)| *name == set && !names.is_empty()));
    }
    assert!(programs().count() > 150);
}

#[test]
fn no_program_has_two_rows() {
    for (name, _) in programs() {
        assert_eq!(programs().filter(|(it, _)| *it == name).count(), 1, "{name}");
    }
}

/// Returns all programs, each with its family.
fn programs() -> impl Iterator<Item = (&'static str, &'static Family)> {
    let rows = table().rows.iter();
    rows.flat_map(|(names, family)| words(names).map(move |name| (name, family)))
}

/// Returns an option of a list as it is written on a command line.
fn written(option: &str) -> String {
    let option = option.trim_end_matches('*');
    if option.starts_with('-') { option.to_owned() } else { format!("-{option}") }
}

/// Returns true if the inspection finds code at or after an index.
fn is_seen(command: &[&str], from: usize) -> bool {
    let command: Vec<String> = command.iter().map(|it| (*it).to_owned()).collect();
    let look = inspect(&command);
    look.code.iter().any(|code| code.kind == CodeKind::Inline && from <= code.index)
}

#[test]
fn code_is_seen_behind_every_option_that_has_a_value() {
    let mut count = 0;
    for (program, family) in programs() {
        let ends = |it: &&str| has(family.ends, it) || has(family.begins, it);
        // Some options that name code take no value.
        let is_alone = |it: &&str| has(family.plain, it) || has(family.glued, it);
        let named = words(family.named).filter(|it| !is_alone(it));
        let options = named.chain(family.options().filter(|it| family.takes(it) > 0));
        for option in options.filter(|it| !ends(it) && !has(family.inline, it)) {
            let takes = family.takes(option);
            let is_main = has(family.mains, option);
            let option = written(option);
            for value in ["value", "/a/value", ".", "a.b", "x@1"] {
                let mut start = vec![program, &*option];
                start.extend(vec![value; takes.max(1)]);
                let inline = words(family.inline).map(written);
                let verbs = words(family.verbs).map(String::from);
                for word in inline.chain(verbs) {
                    let command = [&start[..], &[&*word, "CODE"]].concat();
                    assert!(is_seen(&command, start.len()), "{command:?}");
                    count += 1;
                }
                if family.operand == Operand::Code && !is_main {
                    let command = [&start[..], &["CODE"]].concat();
                    assert!(is_seen(&command, start.len()), "{command:?}");
                }
            }
        }
    }
    assert!(count > 5_000, "{count}");
}

#[test]
fn code_is_seen_behind_options_that_nobody_knows() {
    for (program, family) in programs() {
        for inline in words(family.inline).map(written) {
            for before in [&["--zzz", "/a/value"][..], &["--zzz", "a.b", "c"], &["--zzz"]] {
                // A greedy family takes the first word as the value and the next as a package.
                if family.is_greedy && before.len() == 3 {
                    continue;
                }
                let command = [&[program], before, &[&*inline, "CODE"]].concat();
                assert!(is_seen(&command, before.len() + 1), "{command:?}");
            }
        }
    }
}

#[test]
fn what_is_behind_the_end_of_the_options_is_no_code() {
    for (program, family) in programs() {
        for option in words(family.ends).map(written) {
            for inline in words(family.inline).map(written) {
                let command = [program, &option, "value", &inline, "value"];
                assert!(!is_seen(&command, 1), "{command:?}");
            }
        }
    }
}

#[test]
fn no_option_is_both_code_and_something_else() {
    for (program, family) in programs() {
        for option in words(family.inline) {
            let others = [family.named, family.ends, family.begins, family.plain, family.glued];
            assert!(!others.iter().any(|it| has(it, option)), "{program} {option}");
        }
    }
}
