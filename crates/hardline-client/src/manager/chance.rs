//! Chance, for delays that are not to be the same everywhere. Not for secrets.

use std::hash::{BuildHasher, RandomState};

/// A number from 0 to 1.
pub(super) fn chance() -> f64 {
    // Each is seeded anew by the standard library.
    let bits = RandomState::new().hash_one(()) >> 12;
    bits as f64 / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_spread_over_all_of_it() {
        let drawn: Vec<f64> = (0..1000).map(|_| chance()).collect();
        assert!(drawn.iter().all(|it| (0.0..1.0).contains(it)));
        assert!(drawn.iter().any(|it| *it < 0.2) && drawn.iter().any(|it| 0.8 < *it));
    }
}
