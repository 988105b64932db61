//! Runs the fuzz targets on choices from a seed, so that they are also tried where no fuzzer runs.

use std::panic;

use hardline_testkit::fuzz;
use hardline_testkit::generate::Rng;

#[track_caller]
fn check(count: u64, body: fn(&[u8])) {
    for seed in 0..count {
        let mut rng = Rng::new(seed);
        let length = 1 + rng.below(200);
        let byte = |_| u8::try_from(rng.below(256)).unwrap();
        let data: Vec<u8> = (0..length).map(byte).collect();
        let outcome = panic::catch_unwind(|| body(&data));
        assert!(outcome.is_ok(), "seed {seed}: {data:?}");
    }
}

#[test]
fn any_frame_is_judged_well() {
    check(6_000, fuzz::guard);
}

#[test]
fn any_text_is_judged_well() {
    check(6_000, fuzz::text);
}

#[test]
fn any_lines_are_joined_well() {
    check(20_000, fuzz::joiner);
}

#[test]
fn any_policy_is_read_well() {
    check(4_000, fuzz::policy);
}

#[test]
fn any_lock_is_written_well() {
    check(2_000, fuzz::lock);
}

#[test]
fn any_session_is_judged_well() {
    check(20_000, fuzz::session);
}
