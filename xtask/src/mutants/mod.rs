//! `cargo xtask mutants`: takes the guard's defenses back, one by one, and has the simulation find each.
//!
//! A mutant is an edit of a copy of the workspace in `target/mutants/tree`. The simulation plays seeds of
//! the classes that must notice, on the mutant and on the unchanged code. A mutant is found if a session
//! breaks a promise with it and none without it, so known failures of the unchanged code do not count.

mod page;
mod table;
mod tree;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{capture, command, target};
use table::ATTACKS;
use tree::Tree;

/// Most sessions of one class that are played to find a mutant.
const MAX_SESSIONS: u64 = 20_000;

/// An attack, and the mutants without a defense against it.
#[derive(Clone, Copy, Debug)]
struct Attack {
    /// Title of its section in docs/threats.md.
    title: &'static str,
    mutants: &'static [Mutant],
}

/// The code without one of its defenses.
#[derive(Clone, Copy, Debug)]
struct Mutant {
    name: &'static str,
    /// The defense that the edits take back.
    defense: &'static str,
    edits: &'static [Edit],
    /// Classes of the simulation, each of which must find the mutant.
    classes: &'static [&'static str],
}

/// A replacement in one file.
#[derive(Clone, Copy, Debug)]
struct Edit {
    /// Path from the root of the workspace.
    file: &'static str,
    /// Text that occurs once in the file.
    find: &'static str,
    replace: &'static str,
}

const fn edit(file: &'static str, find: &'static str, replace: &'static str) -> Edit {
    Edit { file, find, replace }
}

/// The outcome of one class on one mutant.
#[derive(Debug)]
struct Outcome {
    mutant: Mutant,
    class: &'static str,
    found: Option<Found>,
}

/// The first session that shows a mutant.
#[derive(Debug)]
struct Found {
    seed: u64,
    /// The promise that broke, as the simulation names it.
    fault: String,
}

/// Plays the mutants named, or all. `--save` writes their table to `docs/simulation.md`.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let is_saved = arguments.contains(&"--save");
    let names: Vec<_> = arguments.iter().copied().filter(|it| *it != "--save").collect();
    if let Some(unknown) = names.iter().find(|name| mutants().all(|it| it.name != **name)) {
        let known: Vec<_> = mutants().map(|it| it.name).collect();
        return Err(format!("no mutant is called {unknown}; there are {}", known.join(", ")));
    }
    if is_saved && !names.is_empty() {
        return Err("--save needs all mutants".into());
    }
    let tree = Tree::copy(&target().join("mutants/tree"))?;
    println!("building the unchanged simulation");
    let unchanged = keep_program(&build(&tree)?)?;
    let mut outcomes = Vec::new();
    for mutant in mutants().filter(|it| names.is_empty() || names.contains(&it.name)) {
        let played = tree.with(mutant.edits, || play(mutant, &build(&tree)?, &unchanged));
        let played = played.map_err(|reason| format!("{}: {reason}", mutant.name))?;
        played.iter().for_each(|outcome| println!("{}", page::row(outcome)));
        outcomes.extend(played);
    }
    let survivors = outcomes.iter().filter(|it| it.found.is_none());
    let survivors: Vec<_> =
        survivors.map(|it| format!("{} ({})", it.mutant.name, it.class)).collect();
    if is_saved {
        page::save(&outcomes)?;
    }
    match survivors.len() {
        0 => Ok(()),
        count => Err(format!("{count} survived: {}", survivors.join(", "))),
    }
}

fn mutants() -> impl Iterator<Item = Mutant> {
    ATTACKS.iter().flat_map(|it| it.mutants).copied()
}

/// Builds the simulation in the tree. Returns the path of the program.
fn build(tree: &Tree) -> Result<PathBuf, String> {
    let folder = target().join("mutants/target");
    let build = ["build", "--locked", "--package", "hardline-simulate", "--example", "simulate"];
    let mut cargo = command("cargo", &build);
    cargo.current_dir(tree.root()).env("CARGO_TARGET_DIR", &folder);
    match capture(&mut cargo) {
        (true, _) => Ok(folder.join("debug/examples").join(program_name("simulate"))),
        (false, printed) => Err(format!("the simulation cannot be built:\n{printed}")),
    }
}

/// Copies a program to a place where no later build replaces it.
fn keep_program(program: &Path) -> Result<PathBuf, String> {
    let kept = program.with_file_name(program_name("unchanged"));
    std::fs::copy(program, &kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(kept)
}

fn program_name(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

/// Plays each class of a mutant.
fn play(mutant: Mutant, program: &Path, unchanged: &Path) -> Result<Vec<Outcome>, String> {
    let outcome = |class: &&'static str| {
        Ok(Outcome { mutant, class, found: find(class, program, unchanged)? })
    };
    mutant.classes.iter().map(outcome).collect()
}

/// Looks for a session that breaks a promise with `program` and none with `unchanged`.
fn find(class: &str, program: &Path, unchanged: &Path) -> Result<Option<Found>, String> {
    let mut first = 0;
    while first < MAX_SESSIONS {
        let Some(found) = hunt(program, class, first, MAX_SESSIONS - first)? else {
            return Ok(None);
        };
        if hunt(unchanged, class, found.seed, 1)?.is_none() {
            return Ok(Some(found));
        }
        first = found.seed + 1;
    }
    Ok(None)
}

/// Plays `count` sessions from seed `first` on. Returns the first that breaks a promise.
fn hunt(program: &Path, class: &str, first: u64, count: u64) -> Result<Option<Found>, String> {
    let (first, count) = (first.to_string(), count.to_string());
    let arguments = ["--class", class, "--seed", &first, "--count", &count];
    let (is_fine, printed) = capture(Command::new(program).args(arguments));
    if is_fine {
        return Ok(None);
    }
    let found = printed.lines().find_map(read_failure);
    found.map(Some).ok_or_else(|| format!("the simulation failed:\n{printed}"))
}

/// Reads the line that names a failing session: `seed 7: Injected at step 5, 0.000 s: …`.
fn read_failure(line: &str) -> Option<Found> {
    let (seed, rest) = line.strip_prefix("seed ")?.split_once(": ")?;
    let fault = rest.split_whitespace().next()?.to_owned();
    Some(Found { seed: seed.parse().ok()?, fault })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs;

    use super::*;
    use crate::process::root;

    #[test]
    fn every_edit_of_a_mutant_fits_its_file() {
        let mut misfits = Vec::new();
        for mutant in mutants() {
            for edit in mutant.edits {
                let text = fs::read_to_string(root().join(edit.file)).unwrap();
                let count = text.matches(edit.find).count();
                if count != 1 {
                    misfits.push(format!(
                        "{}: {count} times {:?} in {}",
                        mutant.name, edit.find, edit.file
                    ));
                }
                assert_ne!(edit.find, edit.replace, "{}", mutant.name);
            }
        }
        assert!(misfits.is_empty(), "{}", misfits.join("\n"));
    }

    #[test]
    fn every_mutant_has_a_name_of_its_own_an_attack_classes_and_a_row_on_the_page() {
        let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
        let scenes = read("crates/hardline-simulate/src/scene/mod.rs");
        let (threats, page) = (read("docs/threats.md"), read("docs/simulation.md"));
        for Attack { title, .. } in ATTACKS {
            assert!(threats.contains(&format!("\n## {title}\n")), "{title}");
        }
        let mut names = HashSet::new();
        for mutant in mutants() {
            assert!(names.insert(mutant.name), "{}", mutant.name);
            assert!(!mutant.edits.is_empty() && !mutant.classes.is_empty(), "{}", mutant.name);
            for class in mutant.classes {
                assert!(scenes.contains(&format!("family(\"{class}\",")), "{class}");
                let row = page::row_start(&mutant, class);
                assert!(page.contains(&row), "run cargo xtask mutants --save: {row}");
            }
        }
    }

    #[test]
    fn the_page_names_tests_of_the_page_on_threats() {
        let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
        let (threats, page) = (read("docs/threats.md"), read("docs/simulation.md"));
        let (_, section) =
            page.split_once("\n## Attacks that the simulation does not see\n").unwrap();
        let names: Vec<_> =
            section.split('`').skip(1).step_by(2).filter(|it| it.contains('_')).collect();
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            assert!(threats.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn reads_the_line_of_a_failing_session() {
        let found =
            read_failure("seed 17: Injected at step 5, 0.000 s: PLANTED1. reached").unwrap();
        assert_eq!((found.seed, &*found.fault), (17, "Injected"));
        assert!(read_failure("1 s: 20000 sessions").is_none());
    }
}
