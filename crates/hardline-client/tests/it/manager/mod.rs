//! A manager with servers that are played.

mod away;
mod calls;
mod listing;
mod secrecy;
mod stage;
