//! Redirects, which must stay on the origin.

use reqwest::header::LOCATION;
use reqwest::{Method, Response};

use super::settings::{Address, Elsewhere};
use crate::client::{HttpError, TransportError};

/// Limit on redirects in a row.
pub(super) const MAX_REDIRECTS: usize = 5;

/// Returns the address that a response redirects to; `None` if it does not redirect.
///
/// # Errors
///
/// If it redirects to another origin, or in a way that would lose the message.
pub(super) fn target(
    from: &Address,
    method: &Method,
    response: &Response,
) -> Result<Option<Address>, TransportError> {
    let status = response.status().as_u16();
    let (301..=303 | 307 | 308, Some(location)) = (status, response.headers().get(LOCATION)) else {
        return Ok(None);
    };
    let refuse = |reason| Err(TransportError::Http(Box::new(HttpError::new(status, reason))));
    let target = match String::from_utf8_lossy(location.as_bytes()) {
        text if text.len() <= 8192 => from.join(&text),
        _ => Err(Elsewhere("an address that is too long".to_owned())),
    };
    match target {
        Err(Elsewhere(origin)) => refuse(format!(
            "it redirects to another origin, {origin}, which gets neither messages nor headers; if that is the server, use its URL"
        )),
        // Clients turn a POST into a GET for these statuses, and so drop the body.
        Ok(target) if *method != Method::GET && status < 307 => refuse(format!(
            "it redirects to {target:?}, but this kind of redirect loses the message: use that URL"
        )),
        Ok(target) => Ok(Some(target)),
    }
}

pub(super) fn too_many() -> TransportError {
    let reason = format!("it redirects more than {MAX_REDIRECTS} times");
    TransportError::Http(Box::new(HttpError::new(308, reason)))
}
