//! DPoP (RFC 9449): tokens bound to a key, which are useless to a thief without that key.
//!
//! Every request carries a proof, signed with the key, that names the method, the address and, for requests
//! to the server, the token. A server may require a nonce in the proof.

use reqwest::Url;
use serde_json::json;

use crate::error::AuthError;
use crate::jwt::SigningKey;
use crate::{clock, random};

/// Limit on the length of a nonce.
const MAX_NONCE_BYTES: usize = 512;

/// Creates the proof for one request.
pub(crate) fn proof(
    key: &SigningKey,
    method: &str,
    url: &str,
    nonce: Option<&str>,
    token: Option<&str>,
) -> Result<String, AuthError> {
    let unbound = || AuthError::Settings("a key for DPoP must be one for ES256".to_owned());
    let header = json!({ "typ": "dpop+jwt", "jwk": key.public().ok_or_else(unbound)? });
    let mut claims = json!({
        "jti": random::token()?,
        "htm": method,
        // RFC 9449, section 4.2: without query and fragment.
        "htu": bare(url),
        "iat": clock::now(),
    });
    if let Some(claims) = claims.as_object_mut() {
        if let Some(nonce) = nonce {
            claims.insert("nonce".to_owned(), nonce.into());
        }
        if let Some(token) = token {
            // The hash ties the proof to this token, so that it cannot be reused with another.
            claims.insert("ath".to_owned(), random::hash(token).into());
        }
    }
    key.sign(&header, &claims)
}

/// Returns the nonce from a header, if it is valid.
pub(crate) fn nonce(text: Option<&str>) -> Option<String> {
    let is_nonce = |it: &&str| {
        !it.is_empty() && it.len() <= MAX_NONCE_BYTES && it.bytes().all(|it| it.is_ascii_graphic())
    };
    text.filter(is_nonce).map(str::to_owned)
}

/// Returns an address without query and fragment.
fn bare(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return String::new() };
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_proof_names_the_request_and_no_secret() {
        let key = SigningKey::generate().unwrap();
        let url = "https://a.example/mcp?key=secret#x";
        let made = |()| proof(&key, "POST", url, Some("n"), Some("token")).unwrap();
        let (one, other) = (made(()), made(()));
        assert_ne!(one, other);
        let part = |at: usize| -> Value {
            let bytes = URL_SAFE_NO_PAD.decode(one.split('.').nth(at).unwrap()).unwrap();
            serde_json::from_slice(&bytes).unwrap()
        };
        let (header, claims) = (part(0), part(1));
        assert_eq!(header["typ"], "dpop+jwt");
        assert_eq!(header["jwk"].get("d"), None);
        assert_eq!(claims["htm"], "POST");
        assert_eq!(claims["htu"], "https://a.example/mcp");
        assert_eq!(claims["nonce"], "n");
        assert_eq!(claims["ath"], random::hash("token"));
    }

    #[test]
    fn a_nonce_is_short_and_plain() {
        assert_eq!(nonce(Some("abc")).as_deref(), Some("abc"));
        assert_eq!(nonce(Some("")), None);
        assert_eq!(nonce(Some("a b")), None);
        assert_eq!(nonce(Some(&"a".repeat(600))), None);
        assert_eq!(nonce(None), None);
    }
}
