//! The text of a configuration file, and where in it everything stands.

pub(crate) use hardline_client::config::document::{Document, Format, Member, Node, Value};
