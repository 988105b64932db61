//! draft
pub mod batch;
pub mod encode;
pub mod frame;
pub mod id;
pub mod json;
pub mod limits;
pub mod line;
pub mod message;
pub mod recover;
pub mod version;
