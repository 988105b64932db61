//! Connections with scripted peers, in memory and with a clock that tests move.

mod end;
mod peer;
mod pressure;
mod rules;
mod traps;
mod typed;
