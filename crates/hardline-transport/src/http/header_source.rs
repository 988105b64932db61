//! Headers that change, such as an access token that is refreshed.

use std::fmt;

use super::config::Headers;
use crate::client::{BoxFuture, TransportError};

/// Gives headers for every request, shortly before it is sent.
///
/// It is asked again for each message, each stream that is opened and the end of the session, so that
/// it should answer from memory as long as it can.
pub trait HeaderSource: fmt::Debug + Send + Sync + 'static {
    /// The headers for the next request. They replace configured ones with the same name.
    fn headers(&self) -> BoxFuture<'_, Result<Headers, TransportError>>;
}
