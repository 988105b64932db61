//! `cargo xtask mutants`: takes each mend of the guard back, one by one, and has the simulation find it.
//!
//! A mutant is an edit of a copy of the workspace in `target/mutants/tree`. The simulation plays seeds of
//! the classes that must notice, on the mutant and on the unchanged code. A mutant is found if a session
//! breaks a promise that the unchanged code keeps in the same session.

mod page;
mod table;
mod tree;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{capture, command, target};
use table::MUTANTS;
use tree::Tree;

/// Sessions of one class in which a mutant must be found.
const MAX_SESSIONS: u64 = 20_000;

/// A mend, taken back.
#[derive(Clone, Copy, Debug)]
struct Mutant {
    name: &'static str,
    /// Section of docs/threats.md that describes the attack.
    attack: &'static str,
    /// The mend that the edits take back.
    mend: &'static str,
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
    if let Some(unknown) = names.iter().find(|name| MUTANTS.iter().all(|it| it.name != **name)) {
        let known: Vec<_> = MUTANTS.iter().map(|it| it.name).collect();
        return Err(format!("no mutant is called {unknown}; there are {}", known.join(", ")));
    }
    if is_saved && !names.is_empty() {
        return Err("--save needs all mutants".into());
    }
    let tree = Tree::copy(&target().join("mutants/tree"))?;
    println!("building the unchanged simulation");
    let original = keep_program(&build(&tree)?)?;
    let mut outcomes = Vec::new();
    for mutant in MUTANTS.iter().filter(|it| names.is_empty() || names.contains(&it.name)) {
        let played = tree.with(mutant.edits, || play(*mutant, &build(&tree)?, &original))?;
        for outcome in &played {
            println!("{}", page::row(outcome));
        }
        outcomes.extend(played);
    }
    if is_saved {
        page::save(&outcomes)?;
    }
    let survivors: Vec<_> = outcomes.iter().filter(|it| it.found.is_none()).collect();
    if survivors.is_empty() {
        return Ok(());
    }
    let names: Vec<_> =
        survivors.iter().map(|it| format!("{} ({})", it.mutant.name, it.class)).collect();
    Err(format!("{} survived: {}", survivors.len(), names.join(", ")))
}

/// Builds the simulation in the tree. Returns the path of the program.
fn build(tree: &Tree) -> Result<PathBuf, String> {
    let folder = target().join("mutants/target");
    let build = ["build", "--locked", "--package", "hardline-simulate", "--example", "simulate"];
    let mut cargo = command("cargo", &build);
    cargo.current_dir(tree.root()).env("CARGO_TARGET_DIR", &folder);
    match capture(&mut cargo) {
        (true, _) => {
            Ok(folder.join(format!("debug/examples/simulate{}", std::env::consts::EXE_SUFFIX)))
        }
        (false, printed) => Err(format!("a mutant does not compile:\n{printed}")),
    }
}

/// Copies a program to a place where no later build replaces it.
fn keep_program(program: &Path) -> Result<PathBuf, String> {
    let kept = program.with_file_name(format!("unchanged{}", std::env::consts::EXE_SUFFIX));
    std::fs::copy(program, &kept).map_err(|error| format!("{}: {error}", kept.display()))?;
    Ok(kept)
}

/// Plays each class of a mutant.
fn play(mutant: Mutant, program: &Path, original: &Path) -> Result<Vec<Outcome>, String> {
    let outcome = |class: &&'static str| {
        Ok(Outcome { mutant, class, found: find(class, program, original)? })
    };
    mutant.classes.iter().map(outcome).collect()
}

/// Looks for a session that breaks a promise with `program` and none with `original`.
fn find(class: &str, program: &Path, original: &Path) -> Result<Option<Found>, String> {
    let mut first = 0;
    while first < MAX_SESSIONS {
        let Some(found) = hunt(program, class, first, MAX_SESSIONS - first)? else {
            return Ok(None);
        };
        if hunt(original, class, found.seed, 1)?.is_none() {
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
        for mutant in MUTANTS {
            for edit in mutant.edits {
                let text = fs::read_to_string(root().join(edit.file)).unwrap();
                let count = text.matches(edit.find).count();
                assert_eq!(count, 1, "{}: {:?} in {}", mutant.name, edit.find, edit.file);
                assert_ne!(edit.find, edit.replace, "{}", mutant.name);
            }
        }
    }

    #[test]
    fn every_mutant_has_a_name_of_its_own_an_attack_and_classes() {
        let scenes = root().join("crates/hardline-simulate/src/scene/mod.rs");
        let scenes = fs::read_to_string(scenes).unwrap();
        let threats = fs::read_to_string(root().join("docs/threats.md")).unwrap();
        let mut names = HashSet::new();
        for mutant in MUTANTS {
            assert!(names.insert(mutant.name), "{}", mutant.name);
            assert!(threats.contains(&format!("\n## {}\n", mutant.attack)), "{}", mutant.attack);
            assert!(!mutant.edits.is_empty() && !mutant.classes.is_empty(), "{}", mutant.name);
            for class in mutant.classes {
                assert!(scenes.contains(&format!("family(\"{class}\",")), "{class}");
            }
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
