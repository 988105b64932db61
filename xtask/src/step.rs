//! Steps of a longer run: each is done, fails, or says why it could not be done.

use std::time::{Duration, Instant};

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed,
    /// Done, with something that should be known.
    PassedWithNote(String),
    Failed(String),
    /// Not done, with the reason.
    Skipped(String),
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Passed)
    }
}

/// Steps that were taken.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(String, Outcome, Duration)>,
}

impl Steps {
    /// Takes a step, whatever became of those before it.
    pub(crate) fn take(&mut self, name: &str, step: impl FnOnce() -> Outcome) {
        println!("\n=== {name}");
        let start = Instant::now();
        let outcome = step();
        self.done.push((name.to_owned(), outcome, start.elapsed()));
    }

    /// Prints what became of each step. Fails if one did.
    pub(crate) fn summarize(self) -> Result<(), String> {
        println!("\n=== summary");
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for (name, outcome, time) in &self.done {
            let (word, note) = match outcome {
                Outcome::Passed => ("passed", ""),
                Outcome::PassedWithNote(note) => ("passed", &**note),
                Outcome::Failed(reason) => ("FAILED", &**reason),
                Outcome::Skipped(reason) => ("NOT DONE", &**reason),
            };
            match outcome {
                Outcome::Passed | Outcome::PassedWithNote(_) => passed += 1,
                Outcome::Failed(_) => failed += 1,
                Outcome::Skipped(_) => skipped += 1,
            }
            let note = if note.is_empty() { String::new() } else { format!("  {note}") };
            println!("{name:<12} {word:<9} {:>6.1} s{note}", time.as_secs_f64());
        }
        println!("steps: {passed} passed, {failed} failed, {skipped} skipped");
        if failed == 0 {
            Ok(())
        } else {
            Err(format!("{failed} of {} steps failed", self.done.len()))
        }
    }
}
