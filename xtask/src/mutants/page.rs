//! The table of mutants, printed and in `docs/simulation.md`.

use std::fs;

use super::{Found, Outcome};
use crate::process::root;

/// Lines of the page between which the table stands.
const START: &str = "<!-- mutants: written by `cargo xtask mutants --save` -->";
const END: &str = "<!-- end of mutants -->";
const HEADER: &str = "\
| mutant | attack | defense taken back | class | sessions | broken promise |
|---|---|---|---|---|---|
";

/// Writes the row of one class on one mutant.
pub(super) fn row(outcome: &Outcome) -> String {
    let Outcome { mutant, class, found } = outcome;
    let (sessions, fault) = match found {
        Some(Found { seed, fault }) => ((seed + 1).to_string(), format!("`{fault}`")),
        None => ("–".to_owned(), "none: **survived**".to_owned()),
    };
    let (name, attack, mend) = (mutant.name, mutant.attack, mutant.mend);
    format!("| `{name}` | {attack} | {mend} | `{class}` | {sessions} | {fault} |")
}

/// Replaces the table of the page.
pub(super) fn save(outcomes: &[Outcome]) -> Result<(), String> {
    let path = root().join("docs/simulation.md");
    let told = |error| format!("{}: {error}", path.display());
    let page = fs::read_to_string(&path).map_err(told)?;
    let parts = page.split_once(START).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or_else(|| format!("{} has no table", path.display()))?;
    let rows: Vec<_> = outcomes.iter().map(row).collect();
    let page = format!("{before}{START}\n\n{HEADER}{}\n\n{END}{after}", rows.join("\n"));
    fs::write(&path, page).map_err(told)?;
    println!("written to {}", path.display());
    Ok(())
}
