//! What a command line would run, besides the program that it names.
//!
//! A list of programs that may be started is worth nothing if one of them runs whatever its arguments
//! say: `npx -c`, `env sh -c`, `python -m`, `node --require`. [`inspect`] knows the interpreters,
//! runners and wrappers of this field, and says which argument is code, which one names code, and
//! which commands are started by another. [`Entry`] is one line of such a list.
//!
//! Nothing here looks at files: which file a name stands for is for others to find out, and to say with
//! [`Links`].

mod container;
mod entry;
mod environment;
mod family;
mod inspect;
mod local;
mod option;
mod package;
mod search;
mod source;
#[cfg(test)]
mod tests;
mod windows;

pub use entry::{Entry, EntryError};
pub use environment::{chooses_code, injects_code, is_variable};
pub use inspect::{Code, CodeKind, Links, Look, inspect, inspect_with};
pub use local::{Local, local_sources};
