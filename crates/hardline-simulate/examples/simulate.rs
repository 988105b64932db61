//! `cargo xtask simulate`: plays sessions until a promise breaks or the time is up.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command-line tool reads the clock and prints"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hardline_guard::policy::Profile;
use hardline_simulate::hunt::{Catch, Hunt};
use hardline_simulate::plan::Plan;
use hardline_simulate::scene::{FAMILIES, Family};
use hardline_simulate::world::play;

const USAGE: &str = "\
Usage: cargo xtask simulate [--hours H | --count N] [--seed N] [--class NAME] [--profile NAME] [--survey]
       cargo xtask simulate --replay PLAN

Plays sessions of a client, the relay and a hostile server in virtual time, one seed after another,
and stops at the first that breaks a promise: with its seed, its plan, and exit code 1.

  --hours H      stop after H hours, fractions allowed [default: 0.1]
  --count N      stop after N sessions instead
  --seed N       start with this seed [default: from the time]
  --class NAME   play only sessions of this class
  --profile NAME play only with this profile: balanced or strict
  --survey       do not stop: count the broken promises of each class (10000 sessions each, or N)
  --examples N   print up to N examples per promise in a survey [default: 1]
  --replay PLAN  play one plan, given as a line of the corpus";

/// Default number of sessions of each class in a survey.
const SURVEY: u64 = 10_000;
/// Interval between two progress lines.
const PROGRESS: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct Options {
    hours: Option<f64>,
    count: Option<u64>,
    seed: Option<u64>,
    hunt: Hunt,
    is_survey: bool,
    examples: Option<u64>,
    replay: Option<String>,
}

fn main() -> ExitCode {
    let options = match read_options(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}\n\nClasses: {}", classes());
            return ExitCode::SUCCESS;
        }
        Err(reason) => {
            eprintln!("simulate: {reason}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let outcome = match &options.replay {
        Some(plan) => replay(plan),
        None if options.is_survey => survey(&options),
        None => hunt(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("simulate: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn classes() -> String {
    let names: Vec<_> = FAMILIES.iter().map(|it| it.name).collect();
    names.join(", ")
}

/// Reads the arguments. Returns `None` if help is requested.
fn read_options(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "--hours" => {
                let text = value()?;
                let hours = text.parse().ok().filter(|it: &f64| *it > 0.0 && *it < 1e5);
                options.hours = Some(hours.ok_or_else(|| format!("{text} is not a time"))?);
            }
            "--count" => options.count = Some(number(value()?)?),
            "--seed" => options.seed = Some(number(value()?)?),
            "--class" => {
                let name = value()?;
                let class = Family::find(&name);
                let unknown = || format!("there is no class {name}; the classes are {}", classes());
                options.hunt.family = Some(class.ok_or_else(unknown)?);
            }
            "--profile" => {
                options.hunt.profile = Some(match value()?.as_str() {
                    "balanced" => Profile::Balanced,
                    "strict" => Profile::Strict,
                    name => {
                        return Err(format!("there is no profile {name}; use balanced or strict"));
                    }
                });
            }
            "--examples" => options.examples = Some(number(value()?)?),
            "--survey" => options.is_survey = true,
            "--replay" => options.replay = Some(value()?),
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(Some(options))
}

fn replay(text: &str) -> Result<(), String> {
    let plan: Plan = text.parse().map_err(|error| format!("{error}"))?;
    match play(&plan).failure {
        None => {
            println!("no promise is broken");
            Ok(())
        }
        Some(failure) => Err(format!("{failure}\n{}", plan.describe())),
    }
}

/// Plays one seed after another until one fails or the time is up.
fn hunt(options: &Options) -> Result<(), String> {
    let start = Instant::now();
    // The usage text names the same default.
    let limit = Duration::from_secs_f64(options.hours.unwrap_or(0.1) * 3600.0);
    let first = options.seed.unwrap_or_else(seed_of_now);
    let (mut sessions, mut events, mut told) = (0_u64, 0_u64, start);
    println!("simulating from seed {first}");
    let is_over = |sessions| match options.count {
        Some(count) => sessions >= count,
        None => start.elapsed() >= limit,
    };
    while !is_over(sessions) {
        let (more, caught) = options.hunt.play(first.wrapping_add(sessions));
        sessions += 1;
        events += more;
        if let Some(caught) = caught {
            progress(start, sessions, events);
            return Err(format!("a promise is broken\n{}", caught.shrunk()));
        }
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            progress(start, sessions, events);
        }
    }
    progress(start, sessions, events);
    println!("no promise is broken");
    Ok(())
}

fn progress(start: Instant, sessions: u64, events: u64) {
    let seconds = start.elapsed().as_secs_f64();
    let millions = events as f64 / 1e6;
    let rate = millions / (seconds.max(0.001) / 60.0);
    println!(
        "{seconds:.0} s: {sessions} sessions, {millions:.1} million events ({rate:.1} a minute)"
    );
}

fn seed_of_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // Shifted, so that runs started a second apart do not play the same seeds.
    now.map_or(0, |it| it.as_secs() << 20)
}

/// Counts the broken promises of each class, with examples of each.
fn survey(options: &Options) -> Result<(), String> {
    let count = options.count.unwrap_or(SURVEY);
    // Zero and not the time, so that two surveys can be compared.
    let first = options.seed.unwrap_or(0);
    let mut total = 0;
    for family in FAMILIES {
        if options.hunt.family.is_some_and(|it| it.name != family.name) {
            continue;
        }
        let hunt = Hunt { family: Some(family), ..options.hunt };
        let mut found: BTreeMap<String, (u64, Vec<Catch>)> = BTreeMap::new();
        for seed in first..first.saturating_add(count) {
            if let (_, Some(caught)) = hunt.play(seed) {
                let (times, examples) =
                    found.entry(format!("{:?}", caught.failure.fault)).or_default();
                *times += 1;
                // Shrinking is slow, so only the examples to print are kept.
                if *times <= options.examples.unwrap_or(1) {
                    examples.push(caught);
                }
            }
        }
        println!("== {}: {count} sessions", family.name);
        for (fault, (times, examples)) in found {
            total += times;
            println!("{fault}: {times}");
            for example in examples {
                println!("{}", example.shrunk());
            }
        }
    }
    if total == 0 { Ok(()) } else { Err(format!("{total} sessions broke a promise")) }
}
