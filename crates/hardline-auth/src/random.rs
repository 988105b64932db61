//! Random tokens, and the hash and encoding that PKCE and DPoP use.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::error::AuthError;

/// Returns 256 random bits as 43 characters.
///
/// # Errors
///
/// Returns [`AuthError::Settings`] if the system provides no randomness.
pub(crate) fn token() -> Result<String, AuthError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| AuthError::Settings("the system provides no random numbers".to_owned()))?;
    Ok(encode(&bytes))
}

/// Returns the SHA-256 of a text, encoded as PKCE and DPoP require.
pub(crate) fn hash(text: &str) -> String {
    encode(digest(&SHA256, text.as_bytes()).as_ref())
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_the_example_of_rfc_7636_does() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(hash(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn tokens_differ() {
        let (a, b) = (token().unwrap(), token().unwrap());
        assert_eq!(a.len(), 43);
        assert_ne!(a, b);
    }
}
