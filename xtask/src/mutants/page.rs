//! The tables of mutants, printed and in `docs/simulation.md`.

use super::table::ATTACKS;
use super::{Attack, Found, Mutant, Outcome};
use crate::page;

/// Lines of the page between which the tables stand.
const START: &str = "<!-- mutants: written by `cargo xtask mutants --save` -->";
const END: &str = "<!-- end of mutants -->";
const HEADER: &str = "\
| mutant | defense taken back | class | sessions | broken promise |
|---|---|---|---|---|";

/// Writes the row of one class on one mutant.
pub(super) fn row(outcome: &Outcome) -> String {
    let start = row_start(&outcome.mutant, outcome.class);
    match &outcome.found {
        Some(Found { seed, fault }) => format!("{start} {} | `{fault}` |", seed + 1),
        None => format!("{start} – | none: **survived** |"),
    }
}

/// Writes the part of a row that does not depend on the outcome.
pub(super) fn row_start(mutant: &Mutant, class: &str) -> String {
    format!("| `{}` | {} | `{class}` |", mutant.name, mutant.defense)
}

/// Replaces the tables of the page.
pub(super) fn save(outcomes: &[Outcome]) -> Result<(), String> {
    let tables: String = ATTACKS.iter().map(|attack| table(attack, outcomes)).collect();
    page::save("docs/simulation.md", START, END, &tables)
}

/// Writes the table of one attack, under a heading that leads to its description.
fn table(attack: &Attack, outcomes: &[Outcome]) -> String {
    let title = attack.title;
    let anchor = title.to_lowercase().replace(' ', "-");
    let is_here = |it: &&Outcome| attack.mutants.iter().any(|mutant| mutant.name == it.mutant.name);
    let rows: Vec<_> = outcomes.iter().filter(is_here).map(row).collect();
    format!("### [{title}](threats.md#{anchor})\n\n{HEADER}\n{}\n\n", rows.join("\n"))
}
