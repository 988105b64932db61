//! Headers that change, such as a refreshed access token.
//!
//! The transport asks a [`HeaderSource`] before every HTTP request, and reports refusals to it. The
//! source never sends anything on that connection itself. It decides whether a request is sent
//! again; the transport limits how often.

use std::fmt;

use tokio::time::Instant;

use super::settings::Headers;
use crate::client::{AuthHints, BoxFuture, TransportError};

/// Limit on repeats of one request that a source may ask for.
pub(super) const MAX_REFUSALS: u32 = 4;

/// Provides headers for every request, shortly before it is sent.
///
/// It is asked for each message, each opened stream, each redirect and the end of the session, so
/// it should answer from memory when possible.
pub trait HeaderSource: fmt::Debug + Send + Sync + 'static {
    /// Returns the headers for the next request. They replace configured ones with the same name.
    fn headers<'a>(&'a self, target: Target<'a>) -> BoxFuture<'a, Result<Headers, TransportError>>;

    /// Decides about a request that was answered with 401 or 403, which means that the server did
    /// not process it.
    ///
    /// If it returns an error, the request fails with that error instead of the server's. The
    /// default gives up.
    fn refused<'a>(
        &'a self,
        refusal: HeaderRefusal<'a>,
    ) -> BoxFuture<'a, Result<Next, TransportError>> {
        let _ = refusal;
        Box::pin(std::future::ready(Ok(Next::GiveUp)))
    }
}

/// The HTTP request that headers are for.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Target<'a> {
    /// HTTP method, such as `POST`.
    pub method: &'a str,
    /// The whole address; the query may hold a secret.
    pub url: &'a str,
}

impl<'a> Target<'a> {
    /// Creates a target with this method and address.
    pub fn new(method: &'a str, url: &'a str) -> Self {
        Self { method, url }
    }
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query may hold a secret.
        let shown = self.url.split(['?', '#']).next().unwrap_or_default();
        write!(formatter, "{} {shown}", self.method)
    }
}

/// A request that the server refused.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HeaderRefusal<'a> {
    /// The refused request.
    pub target: Target<'a>,
    /// Status of the response: 401 or 403.
    pub status: u16,
    /// Login hints from the server.
    pub hints: &'a AuthHints,
    /// The headers that the source provided for it. Other requests may have received newer ones
    /// since.
    pub sent: &'a Headers,
    /// Time of the first attempt to send the message.
    pub since: Instant,
    /// Number of earlier refusals of the same message.
    pub attempt: u32,
}

impl<'a> HeaderRefusal<'a> {
    /// Creates the first refusal of a request that was just sent.
    pub fn new(target: Target<'a>, status: u16, hints: &'a AuthHints, sent: &'a Headers) -> Self {
        Self { target, status, hints, sent, since: Instant::now(), attempt: 0 }
    }
}

/// Decision about a refused request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Next {
    /// The server's response is the outcome.
    GiveUp,
    /// The request is sent again, with newly requested headers.
    SendAgain,
}
