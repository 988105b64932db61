//! draft
pub mod json;
pub mod limits;
