//! What Hardline's tests, fuzz targets and benchmarks share. A development dependency only, never
//! published; it panics where a test would.
//!
//! - [`generate`]: JSON texts of all kinds, sound and damaged, from a seed.
//! - [`hostile`]: inputs made to cost more than they should.
//! - [`http`]: a server that answers as a script says, and misbehaves where it does.
//! - [`oauth`]: such a server behind a login.
//! - [`sample`]: frames as servers send them.
//! - [`plant`]: what attackers put into texts, and all the places where a string can stand.
//! - [`outline`]: the strings of a JSON text, found in the simplest way there is.
//! - [`oracle`]: what another parser makes of a text.
//! - [`fuzz`]: the bodies of the fuzz targets, which also run on their corpus as plain tests.
//! - [`measure`]: timing several candidates in one run, as ratios.
//! - [`work`]: counting instructions, to see how the work grows with the input.

#![expect(clippy::missing_panics_doc, clippy::panic, reason = "to panic is how a test speaks")]

pub mod fuzz;
pub mod generate;
pub mod hostile;
pub mod http;
pub mod measure;
pub mod oauth;
pub mod oracle;
pub mod outline;
pub mod plant;
pub mod sample;
pub mod work;
