//! Headers that change, such as an access token that is refreshed.
//!
//! A [`HeaderSource`] is asked before every HTTP request, and told when the server does not let one in.
//! It never sends anything itself on that connection: whether a request is sent once more is its
//! decision, how often at most is the transport's.

use std::fmt;

use tokio::time::Instant;

use super::config::Headers;
use crate::client::{AuthHints, BoxFuture, TransportError};

/// How often one request is sent again because its source says so, whatever the source says.
pub(super) const MAX_REFUSALS: u32 = 4;

/// Gives headers for every request, shortly before it is sent.
///
/// It is asked again for each message, each stream that is opened, each redirect and the end of the
/// session, so that it should answer from memory as long as it can.
pub trait HeaderSource: fmt::Debug + Send + Sync + 'static {
    /// The headers for the next request. They replace configured ones with the same name.
    fn headers<'a>(&'a self, target: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>>;

    /// What is to be done about a request that was answered with 401 or 403, which means that the
    /// server has not taken it.
    ///
    /// An error is what the request ends with, in place of what the server said. The default gives up.
    fn refused<'a>(&'a self, refusal: Refusal<'a>) -> BoxFuture<'a, Result<Next, TransportError>> {
        let _ = refusal;
        Box::pin(std::future::ready(Ok(Next::GiveUp)))
    }
}

/// Which HTTP request headers are for.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Target<'a> {
    /// Its method, such as `POST`.
    pub method: &'a str,
    /// Its address, whole: the query may hold a secret.
    pub url: &'a str,
}

impl<'a> Target<'a> {
    /// A request with this method, to this address.
    pub fn new(method: &'a str, url: &'a str) -> Self {
        Self { method, url }
    }
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.url.split(['?', '#']).next().unwrap_or_default();
        write!(formatter, "{} {shown}", self.method)
    }
}

/// A request that was not let in.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refusal<'a> {
    /// What was sent.
    pub target: Target<'a>,
    /// The status of the answer, 401 or 403.
    pub status: u16,
    /// What the server says about how to be let in.
    pub hints: &'a AuthHints,
    /// The headers that the source gave for it: another request may have got newer ones since.
    pub sent: &'a Headers,
    /// When the message was sent for the first time.
    pub since: Instant,
    /// How often it was refused before.
    pub attempt: u32,
}

impl<'a> Refusal<'a> {
    /// The first refusal of a request that was sent a moment ago.
    pub fn new(target: Target<'a>, status: u16, hints: &'a AuthHints, sent: &'a Headers) -> Self {
        Self { target, status, hints, sent, since: Instant::now(), attempt: 0 }
    }
}

/// What becomes of a request that was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Next {
    /// What the server said is its outcome.
    GiveUp,
    /// It is sent once more, with headers that are asked for again.
    SendAgain,
}
