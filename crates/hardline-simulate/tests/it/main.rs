//! The simulation as CI runs it: fixed seeds, the plans that failed once, and the fuzz corpora.

use std::fs;
use std::path::Path;

use hardline_guard::policy::Profile;
use hardline_simulate::fuzz::TARGETS;
use hardline_simulate::hunt::Hunt;
use hardline_simulate::plan::Plan;
use hardline_simulate::scene::Family;
use hardline_simulate::world::play;

/// Sessions of each class and profile.
const SESSIONS: u64 = 1000;

/// Plays sessions of each class, and shows the first that breaks a promise.
fn check_seeds(profile: Profile) {
    for family in Family::all() {
        let hunt = Hunt { profile: Some(profile), family: Some(family) };
        let caught: Vec<_> = (0..SESSIONS).filter_map(|seed| hunt.play(seed).1).collect();
        let count = caught.len();
        let first = caught.into_iter().next().map(|it| it.shrunk().to_string());
        assert_eq!(
            count,
            0,
            "{}: {count} of {SESSIONS}\n{}",
            family.name,
            first.unwrap_or_default()
        );
    }
}

#[test]
fn no_seed_breaks_a_promise_under_balanced() {
    check_seeds(Profile::Balanced);
}

#[test]
fn no_seed_breaks_a_promise_under_strict() {
    check_seeds(Profile::Strict);
}

#[test]
fn no_plan_that_failed_once_fails_again() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/simulate.txt");
    let text = fs::read_to_string(path).unwrap();
    let plans =
        text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (mut count, mut failures) = (0, Vec::new());
    for (number, line) in plans {
        count += 1;
        let plan: Plan = line.parse().unwrap();
        if let Some(failure) = play(&plan).failure {
            failures.push(format!("line {}: {failure}\n{}", number + 1, plan.describe()));
        }
    }
    assert!(count >= 50, "the corpus has {count} plans");
    let shown: Vec<_> = failures.iter().take(3).cloned().collect();
    assert!(failures.is_empty(), "{} of {count} fail:\n{}", failures.len(), shown.join("\n"));
}

#[test]
fn every_fuzz_target_passes_on_its_corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, body) in TARGETS {
        let mut inputs = 0;
        for entry in fs::read_dir(root.join(name)).unwrap() {
            let path = entry.unwrap().path();
            eprintln!("{}", path.display());
            body(&fs::read(&path).unwrap());
            inputs += 1;
        }
        assert!(inputs >= 10, "{name} has a corpus of {inputs}");
    }
}
