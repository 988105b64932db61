//! Pins: stored definitions of tools that later ones are compared with, so that no change goes
//! unnoticed.
//!
//! A [`Definition`] is a tool as its server lists it, with a [`Fingerprint`] over its canonical
//! JSON (see [`Definition`] for the parts that count). [`Instructions`] are the same for the text
//! with which a server instructs the model. A [`Lock`] stores those that were seen first or
//! approved since, by server; its text is the content of a lock file. Comparing a list with it
//! returns [`Difference`]s, each with a readable [`Diff`]. A [`ToolNames`] finds tools of two servers
//! with the same name, or with names that look alike, and [`Twins`] finds such names within one
//! server.
//!
//! ```
//! use hardline_guard::Rule;
//! use hardline_guard::pin::{Definition, Lock};
//! use hardline_wire::json::Checker;
//! use hardline_wire::limits::Limits;
//!
//! let definition = |text: &str| {
//!     let mut checker = Checker::new(&Limits::default());
//!     Definition::new(checker.check(text.as_bytes()).unwrap().value).unwrap()
//! };
//!
//! let mut lock = Lock::new();
//! lock.pin("shop", [&definition(r#"{"name":"buy","annotations":{"readOnlyHint":true}}"#)])?;
//!
//! let text = lock.to_string(); // what a lock file holds
//! assert_eq!(Lock::parse(&text).unwrap(), lock);
//!
//! let now = definition(r#"{"annotations": {"readOnlyHint": false}, "name": "buy"}"#);
//! let found = lock.compare("shop", &[now]);
//! assert_eq!(found[0].rule(), Some(Rule::ToolChanged));
//! assert_eq!(
//!     found[0].to_string(),
//!     "tool `buy` differs from its pin:\n  annotations.readOnlyHint: true → false"
//! );
//! # Ok::<_, hardline_guard::pin::LockFull>(())
//! ```
//!
//! The caller reads and writes the file, and decides about changed tools.

mod canonical;
mod catalog;
mod compare;
mod definition;
mod diff;
mod fingerprint;
mod instructions;
mod layout;
mod lock;
mod outline;
mod rank;
mod read;
mod skeleton;
mod write;

pub(crate) use catalog::Newcomers;
pub use catalog::{Shadow, ToolNames, Twins};
pub use compare::Difference;
pub use definition::{Definition, DefinitionError};
pub use diff::{Change, ChangeKind, Diff};
pub use fingerprint::Fingerprint;
pub use instructions::Instructions;
pub use lock::{Lock, LockFull};
pub use read::LockError;
pub use skeleton::skeleton;
