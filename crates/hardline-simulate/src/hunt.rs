//! Plays one seed after another, and stops at the first that breaks a promise.

use std::fmt;

use hardline_guard::policy::Profile;

use crate::oracle::Failure;
use crate::plan::Plan;
use crate::scene::{Family, plan};
use crate::shrink::shrink;
use crate::world::play;

/// A seed that breaks a promise.
#[derive(Debug)]
pub struct Catch {
    /// The seed.
    pub seed: u64,
    /// The plan of the seed.
    pub plan: Plan,
    /// The broken promise.
    pub failure: Failure,
}

impl Catch {
    /// Shrinks the plan.
    #[must_use]
    pub fn shrunk(self) -> Self {
        let plan = shrink(&self.plan, self.failure.fault);
        let failure = play(&plan).failure.unwrap_or(self.failure);
        Self { seed: self.seed, plan, failure }
    }
}

impl fmt::Display for Catch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, plan, failure } = self;
        writeln!(out, "seed {seed}: {failure}")?;
        write!(out, "{}for the corpus:\n{plan}", plan.describe())
    }
}

/// Selection of the seeds to play.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hunt {
    /// Plays only this family.
    pub family: Option<Family>,
    /// Plays only this profile.
    pub profile: Option<Profile>,
}

impl Hunt {
    /// Plays one seed. Returns the number of events, and the failure if there is one.
    pub fn play(&self, seed: u64) -> (u64, Option<Catch>) {
        let plan = plan(seed, self.family, self.profile);
        let report = play(&plan);
        (report.events, report.failure.map(|failure| Catch { seed, plan, failure }))
    }
}
