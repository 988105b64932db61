//! Bodies of the fuzz targets that need a relay. Each takes any bytes and panics if a promise is
//! broken.

#![expect(clippy::panic, reason = "a fuzz target reports a failure by a panic")]

use hardline_guard::policy::Profile;
use hardline_testkit::fuzz::Target;
use hardline_testkit::generate::Rng;

use crate::plan::Plan;
use crate::scene::write;
use crate::script::Script;
use crate::shrink::shrink;
use crate::world::play;

/// Limit on the pieces that the bytes of a server are cut into.
const MAX_CHUNKS: usize = 24;

/// All fuzz targets of this crate.
pub const TARGETS: &[Target] = &[("simulate", simulate), ("relay", relay)];

/// Plays the session that `data` chooses.
///
/// # Panics
///
/// If a promise is broken.
pub fn simulate(data: &[u8]) {
    check(&write(&mut Rng::scripted(data), None, None));
}

/// Lets a server write `data` in pieces, while it owes three answers.
///
/// # Panics
///
/// If a promise is broken.
pub fn relay(data: &[u8]) {
    let (head, bytes) = data.split_at_checked(8).unwrap_or((data, &[]));
    let mut rng = Rng::scripted(head);
    let profile = if rng.one_in(2) { Profile::Balanced } else { Profile::Strict };
    let mut script = Script::new(&mut rng, profile);
    script.is_alone = true;
    let asked = [script.ask(), script.ask(), script.ask()];
    let size = bytes.len().div_ceil(MAX_CHUNKS).max(1 + script.rng.below(64));
    for chunk in bytes.chunks(size) {
        script.write(chunk, &[]);
        script.hesitate();
    }
    // Ends the last line and lets all timers run, so that the answers below stand alone.
    script.write(b"\n", &[]);
    script.pause(1000);
    for asked in &asked {
        script.answer(asked);
    }
    check(&script.finish(false));
}

/// Plays a plan. Panics with a shrunk plan if it breaks a promise.
fn check(plan: &Plan) {
    if let Some(failure) = play(plan).failure {
        let small = shrink(plan, failure.fault);
        panic!("{failure}\n{}for the corpus:\n{small}", small.describe());
    }
}
