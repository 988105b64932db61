//! Signs JSON web tokens (RFC 7515) with a private key.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

use crate::error::AuthError;
use crate::random::encode;
use crate::secret::Secret;

/// A private key for signing: ES256, ES384, EdDSA or RS256, depending on its type.
pub struct SigningKey {
    kind: Kind,
    /// The key as stored: PKCS #8 in base64.
    text: Secret,
}

enum Kind {
    Es256(EcdsaKeyPair),
    Es384(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

impl SigningKey {
    /// Parses a PKCS #8 key in PEM format (`-----BEGIN PRIVATE KEY-----`).
    ///
    /// # Errors
    ///
    /// Returns [`AuthError::Settings`] if the key is invalid or of an unknown type.
    pub fn from_pem(pem: &str) -> Result<Self, AuthError> {
        let lines = pem.lines().map(str::trim);
        // Text around the key, such as a comment or a certificate, is allowed.
        let mut inside = lines.skip_while(|line| *line != "-----BEGIN PRIVATE KEY-----").skip(1);
        let text: String =
            inside.by_ref().take_while(|line| *line != "-----END PRIVATE KEY-----").collect();
        Self::from_base64(&text)
    }

    /// Generates a key for ES256.
    pub(crate) fn generate() -> Result<Self, AuthError> {
        let made =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let made = made.map_err(|_| AuthError::Settings("cannot make a key".to_owned()))?;
        Self::from_base64(&STANDARD.encode(made))
    }

    pub(crate) fn from_base64(text: &str) -> Result<Self, AuthError> {
        let unknown = || {
            AuthError::Settings(
                "not a private key that can be used: it must be PEM with BEGIN PRIVATE KEY (PKCS #8), for ES256, ES384, EdDSA or RS256".to_owned(),
            )
        };
        let bytes = STANDARD.decode(text).map_err(|_| unknown())?;
        let random = SystemRandom::new();
        let es256 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &bytes, &random);
        let es384 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &bytes, &random);
        // PKCS #8 names the algorithm, so only one of these attempts can succeed.
        let kind = if let Ok(pair) = es256() {
            Kind::Es256(pair)
        } else if let Ok(pair) = es384() {
            Kind::Es384(pair)
        // OpenSSL writes PKCS #8 v1 without the public key, which the strict parser rejects.
        } else if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&bytes) {
            Kind::EdDsa(pair)
        } else {
            Kind::Rs256(RsaKeyPair::from_pkcs8(&bytes).map_err(|_| unknown())?)
        };
        Ok(Self { kind, text: Secret::new(text) })
    }

    /// Returns the key in the format of [`from_base64`](Self::from_base64).
    pub(crate) fn to_base64(&self) -> &Secret {
        &self.text
    }

    /// Signs claims. Adds the algorithm to `header`.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> Result<String, AuthError> {
        let mut header = header.clone();
        if let Some(header) = header.as_object_mut() {
            // The algorithm belongs to the key, so the caller cannot name a wrong one.
            header.insert("alg".to_owned(), self.algorithm().into());
        }
        let text = format!(
            "{}.{}",
            encode(header.to_string().as_bytes()),
            encode(claims.to_string().as_bytes())
        );
        let failed = |_| AuthError::Settings("cannot sign with the private key".to_owned());
        let random = SystemRandom::new();
        let signature = match &self.kind {
            Kind::Es256(pair) | Kind::Es384(pair) => {
                encode(pair.sign(&random, text.as_bytes()).map_err(failed)?.as_ref())
            }
            Kind::EdDsa(pair) => encode(pair.sign(text.as_bytes()).as_ref()),
            Kind::Rs256(pair) => {
                // ring writes RSA signatures into a buffer of exactly this length.
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature)
                    .map_err(failed)?;
                encode(&signature)
            }
        };
        Ok(format!("{text}.{signature}"))
    }

    fn algorithm(&self) -> &'static str {
        match self.kind {
            Kind::Es256(_) => "ES256",
            Kind::Es384(_) => "ES384",
            Kind::EdDsa(_) => "EdDSA",
            Kind::Rs256(_) => "RS256",
        }
    }

    /// Returns the public half of an ES256 key as a JWK.
    pub(crate) fn public(&self) -> Option<Value> {
        let Kind::Es256(pair) = &self.kind else { return None };
        // An uncompressed point: the byte 4, then both coordinates.
        let point = pair.public_key().as_ref().get(1..)?;
        let (x, y) = point.split_at_checked(32)?;
        Some(json!({ "crv": "P-256", "kty": "EC", "x": encode(x), "y": encode(y) }))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SigningKey({})", self.algorithm())
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn signatures_can_be_verified() {
        let key = SigningKey::generate().unwrap();
        let token = key.sign(&json!({ "typ": "x" }), &json!({ "a": 1 })).unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let decode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text);
        let jwk = key.public().unwrap();
        let point = [
            vec![4],
            decode(jwk["x"].as_str().unwrap()).unwrap(),
            decode(jwk["y"].as_str().unwrap()).unwrap(),
        ];
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point.concat());
        public.verify(text.as_bytes(), &decode(signature).unwrap()).unwrap();
        let header = decode(text.split('.').next().unwrap()).unwrap();
        assert_eq!(String::from_utf8(header).unwrap(), r#"{"alg":"ES256","typ":"x"}"#);
    }

    #[test]
    fn a_key_survives_storage_and_debug_hides_it() {
        let key = SigningKey::generate().unwrap();
        let again = SigningKey::from_base64(key.to_base64().reveal()).unwrap();
        assert_eq!(key.public(), again.public());
        assert_eq!(format!("{key:?}"), "SigningKey(ES256)");
        let text = key.to_base64().reveal();
        let pem =
            format!("x\n-----BEGIN PRIVATE KEY-----\r\n{text}\r\n-----END PRIVATE KEY-----\n");
        assert_eq!(SigningKey::from_pem(&pem).unwrap().public(), key.public());
    }

    #[test]
    fn an_invalid_key_is_rejected_with_a_clear_error() {
        for pem in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "secret"] {
            let error = SigningKey::from_pem(pem).unwrap_err().to_string();
            assert!(error.contains("BEGIN PRIVATE KEY (PKCS #8)"), "{error}");
            assert!(!error.contains("AAAA") && !error.contains("secret"), "{error}");
        }
    }
}
