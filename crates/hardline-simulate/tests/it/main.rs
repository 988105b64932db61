//! The simulation as CI runs it: fixed seeds, the plans that failed once, and the fuzz corpora.

use std::fs;
use std::path::Path;

use hardline_guard::policy::Profile;
use hardline_simulate::fuzz::TARGETS;
use hardline_simulate::hunt::{Catch, Hunt};
use hardline_simulate::plan::Plan;
use hardline_simulate::world::play;

/// Sessions of each profile.
const SESSIONS: u64 = 60_000;

/// Plays the seeds of CI, and shows the first that fails.
fn check_seeds(profile: Profile) {
    let hunt = Hunt { profile: Some(profile), ..Hunt::default() };
    let caught = (0..SESSIONS).find_map(|seed| hunt.play(seed).1).map(Catch::shrunk);
    assert!(caught.is_none(), "{}", caught.map(|it| it.to_string()).unwrap_or_default());
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
