//! Steps of a longer run. Each succeeds, fails, or says why it was skipped.

use std::time::{Duration, Instant};

/// Outcome of a step.
#[derive(Debug)]
pub(crate) enum StepOutcome {
    Passed,
    /// Succeeded, with a note for the summary.
    PassedWithNote(String),
    Failed(String),
    /// Skipped, with the reason.
    Skipped(String),
}

impl From<Result<(), String>> for StepOutcome {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Passed)
    }
}

/// Completed steps.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<(String, StepOutcome, Duration)>,
}

impl Steps {
    /// Runs a step, even if earlier ones failed.
    pub(crate) fn take(&mut self, name: &str, step: impl FnOnce() -> StepOutcome) {
        println!("\n=== {name}");
        let start = Instant::now();
        let outcome = step();
        self.done.push((name.to_owned(), outcome, start.elapsed()));
    }

    /// Prints the outcome of each step. Returns an error if one failed.
    pub(crate) fn summarize(self) -> Result<(), String> {
        println!("\n=== summary");
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for (name, outcome, time) in &self.done {
            let (word, note) = match outcome {
                StepOutcome::Passed => ("passed", ""),
                StepOutcome::PassedWithNote(note) => ("passed", &**note),
                StepOutcome::Failed(reason) => ("FAILED", &**reason),
                StepOutcome::Skipped(reason) => ("NOT DONE", &**reason),
            };
            match outcome {
                StepOutcome::Passed | StepOutcome::PassedWithNote(_) => passed += 1,
                StepOutcome::Failed(_) => failed += 1,
                StepOutcome::Skipped(_) => skipped += 1,
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
