//! Analyzes a command line: the code that it would run besides the program that it names.
//!
//! An allow list of programs is worth nothing if one of them runs any code that its arguments name:
//! `npx -c`, `env sh -c`, `python -m`, `node --require`. [`inspect`] knows the interpreters,
//! runners and wrappers of this field. It reports which argument is code, which one names code, and
//! which commands another command starts. [`Entry`] is one entry of such an allow list.
//!
//! This module reads no files. The caller resolves names to files and passes the result as
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
pub use local::{Local, can_import_directory, can_import_file, local_sources};
