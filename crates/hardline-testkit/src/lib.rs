//! Shared code of Hardline's tests, fuzz targets and benchmarks. A development dependency only,
//! never published; it panics like a test.
//!
//! - [`chart`]: bars made of text.
//! - [`generate`]: JSON texts of all kinds, valid and damaged, from a seed.
//! - [`echo`]: a server in a child process, for benchmarks of round trips.
//! - [`hostile`]: inputs designed to cost more than they should.
//! - [`http`]: a scripted server, which misbehaves where the script does.
//! - [`oauth`]: such a server behind a login.
//! - [`sample`]: typical frames of servers.
//! - [`peers`]: the tables of a benchmark that compares programs of other authors.
//! - [`plant`]: texts that attackers write, and all places of a string in a frame.
//! - [`outline`]: finds the strings of a JSON text with a minimal lexer.
//! - [`oracle`]: the judgment of another parser on a text.
//! - [`fuzz`]: the bodies of the fuzz targets, which also run on their corpus as plain tests.
//! - [`measure`]: times several candidates in one run, as ratios.
//! - [`text`]: texts as tools return them, for benchmarks.
//! - [`work`]: counts instructions, to check how the work grows with the input.

#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a failed check panics, as in a test"
)]

pub mod chart;
pub mod echo;
pub mod fuzz;
pub mod generate;
pub mod hostile;
pub mod http;
pub mod measure;
pub mod oauth;
pub mod oracle;
pub mod outline;
pub mod peers;
pub mod plant;
pub mod sample;
pub mod text;
pub mod work;
