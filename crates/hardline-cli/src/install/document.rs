//! The text of a configuration file with the position of each value.

pub(crate) use hardline_client::config::document::{Document, Format, Member, Node, Value};
