//! Randomness for jitter. Not suitable for secrets.

use std::hash::{BuildHasher, RandomState};

/// Returns a random number from 0 (inclusive) to 1 (exclusive).
pub(super) fn random_fraction() -> f64 {
    // The standard library seeds every `RandomState` differently.
    let bits = RandomState::new().hash_one(()) >> 12;
    bits as f64 / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_cover_the_whole_range() {
        let drawn: Vec<f64> = (0..1000).map(|_| random_fraction()).collect();
        assert!(drawn.iter().all(|it| (0.0..1.0).contains(it)));
        assert!(drawn.iter().any(|it| *it < 0.2) && drawn.iter().any(|it| *it > 0.8));
    }
}
