//! What Hardline's tests and benchmarks share. A development dependency only, never published.
//!
//! - [`sample`]: frames as servers send them, of any size.
//! - [`measure`]: timing several candidates in one run, as ratios.

pub mod measure;
pub mod sample;
