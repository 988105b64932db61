//! A deterministic simulation of whole sessions, and the oracles that judge each of them.
//!
//! A client, a relay and a server play one session in virtual time. The server answers, delays, dies,
//! tears its frames, prefixes them with noise, repeats and reorders them, and lies. Every choice comes
//! from one seed, and the choices are written down as a plan before the session starts. A plan that
//! fails is shrunk and printed, and can be kept in a corpus.
//!
//! - [`reader`]: models of the readers that clients and servers use, for lines and for JSON.
//! - [`document`] and [`template`]: texts of an attacker, and the servers that put them into
//!   answers.
//! - [`hidden`]: text that people do not see.
//! - [`script`] and [`scene`]: plans from a seed, in families.
//! - [`plan`]: a session as data.
//! - [`world`]: plays a plan on a relay.
//! - [`oracle`]: judges the messages that both sides received.
//! - [`fuzz`]: the bodies of the fuzz targets.
//! - [`hunt`] and [`shrink`]: search for a seed that fails, and make its plan small.

#![expect(
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    reason = "the crate is never published, and its callers live in this workspace"
)]

pub mod document;
pub mod fuzz;
pub mod hidden;
pub mod hunt;
pub mod oracle;
pub mod plan;
pub mod reader;
pub mod scene;
pub mod script;
pub mod shrink;
pub mod template;
pub mod world;
