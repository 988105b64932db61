//! Timing several candidates in one run, so that they meet the same noise.
//!
//! The candidates take turns in short rounds and each keeps its best round: on a shared machine
//! interruptions only ever add time, so the least is what the code costs. What is compared is the
//! ratio of two candidates of one run, never a number of seconds from another.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    rounds: u32,
    round: Duration,
}

impl Effort {
    /// Enough for ratios that repeat within a few percent.
    pub const FULL: Self = Self { rounds: 30, round: Duration::from_millis(10) };
    /// One call each: shows that everything runs.
    pub const ONCE: Self = Self { rounds: 1, round: Duration::ZERO };
}

/// One thing to be timed.
pub struct Candidate<'a> {
    name: &'static str,
    call: Box<dyn FnMut() -> usize + 'a>,
}

impl<'a> Candidate<'a> {
    /// Names a call. What it returns is kept from the optimizer.
    pub fn new(name: &'static str, call: impl FnMut() -> usize + 'a) -> Self {
        Self { name, call: Box::new(call) }
    }
}

impl std::fmt::Debug for Candidate<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Candidate").field(&self.name).finish()
    }
}

/// The least time that one call of each candidate took.
#[derive(Clone, Debug)]
pub struct Outcome(Vec<(&'static str, Duration, u32)>);

impl Outcome {
    /// Seconds for one call.
    ///
    /// # Panics
    ///
    /// If there is no candidate of that name.
    pub fn seconds(&self, name: &str) -> f64 {
        let (_, time, calls) =
            self.0.iter().find(|(it, ..)| *it == name).expect("candidates are named by the caller");
        time.as_secs_f64() / f64::from(*calls)
    }

    /// How many times as fast `name` is as `other`.
    pub fn speed(&self, name: &str, other: &str) -> f64 {
        self.seconds(other) / self.seconds(name)
    }

    /// Gigabytes a second, if one call works on `bytes`.
    pub fn gigabytes(&self, name: &str, bytes: usize) -> f64 {
        bytes as f64 / self.seconds(name) / 1e9
    }
}

/// Times the candidates, taking turns.
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
    while time(calls, call) < effort.round {
        calls *= 2;
    }
    calls
}

#[expect(clippy::disallowed_methods, reason = "measuring is asking the time")]
fn time(calls: u32, call: &mut dyn FnMut() -> usize) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed()
}
