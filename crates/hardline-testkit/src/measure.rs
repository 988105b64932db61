//! Times several candidates in one run, so that they meet the same noise.
//!
//! The candidates take turns in short rounds, and the best round of each counts: on a shared
//! machine interruptions only add time, so the shortest time is what the code costs. Only the ratio
//! of two candidates of one run is compared, never a number of seconds from another run.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Duration of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    rounds: u32,
    round: Duration,
}

impl Effort {
    /// Enough rounds for ratios that repeat within a few percent.
    pub const FULL: Self = Self { rounds: 30, round: Duration::from_millis(10) };
    /// One call of each candidate, to check that everything runs.
    pub const ONCE: Self = Self { rounds: 1, round: Duration::ZERO };
}

/// A function to be timed.
pub struct Candidate<'a> {
    name: &'static str,
    call: Box<dyn FnMut() -> usize + 'a>,
}

impl<'a> Candidate<'a> {
    /// Names a function. Its result is hidden from the optimizer.
    pub fn new(name: &'static str, call: impl FnMut() -> usize + 'a) -> Self {
        Self { name, call: Box::new(call) }
    }
}

impl std::fmt::Debug for Candidate<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Candidate").field(&self.name).finish()
    }
}

/// Shortest time of one call of each candidate.
#[derive(Clone, Debug)]
pub struct Outcome(Vec<(&'static str, Duration, u32)>);

impl Outcome {
    /// Returns the seconds for one call.
    ///
    /// # Panics
    ///
    /// If there is no candidate of that name.
    pub fn seconds(&self, name: &str) -> f64 {
        let (_, time, calls) =
            self.0.iter().find(|(it, ..)| *it == name).expect("candidates are named by the caller");
        time.as_secs_f64() / f64::from(*calls)
    }

    /// Returns how many times faster `name` is than `other`.
    pub fn speed(&self, name: &str, other: &str) -> f64 {
        self.seconds(other) / self.seconds(name)
    }

    /// Returns gigabytes per second, if one call processes `bytes`.
    pub fn gigabytes(&self, name: &str, bytes: usize) -> f64 {
        bytes as f64 / self.seconds(name) / 1e9
    }
}

/// Times the candidates in turns.
pub fn run(effort: Effort, mut candidates: Vec<Candidate<'_>>) -> Outcome {
    let calls: Vec<u32> =
        candidates.iter_mut().map(|it| calls_per_round(effort, &mut it.call)).collect();
    let mut best: Vec<_> =
        candidates.iter().zip(&calls).map(|(it, calls)| (it.name, Duration::MAX, *calls)).collect();
    for _ in 0..effort.rounds {
        for (candidate, (_, least, calls)) in candidates.iter_mut().zip(&mut best) {
            *least = time(*calls, &mut candidate.call).min(*least);
        }
    }
    Outcome(best)
}

fn calls_per_round(effort: Effort, call: &mut dyn FnMut() -> usize) -> u32 {
    let mut calls = 1;
    // A single call may be shorter than the resolution of the clock.
    while time(calls, call) < effort.round {
        calls *= 2;
    }
    calls
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn time(calls: u32, call: &mut dyn FnMut() -> usize) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed()
}
