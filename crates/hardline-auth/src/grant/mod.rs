//! Grants: the ways to obtain a token.
//!
//! | grant | subject |
//! |---|---|
//! | [`Grant::person`] | a person in a browser: authorization code with PKCE |
//! | [`Grant::client_secret`], [`Grant::private_key`] | a program on its own behalf: client credentials |
//! | [`Grant::enterprise`] | a program on behalf of a person who is logged in to a company's identity provider |
//! | [`Grant::workload`] | a program that its platform vouches for: workload identity |

mod code;
mod enterprise;
mod machine;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::AuthError;
use crate::jwt::SigningKey;
use crate::secret::Secret;

pub(crate) use code::{login, scopes};
pub(crate) use machine::fetch;

pub use enterprise::Enterprise;

/// The way in which tokens are obtained.
#[derive(Clone, Debug)]
pub struct Grant(pub(crate) GrantKind);

#[derive(Clone, Debug)]
pub(crate) enum GrantKind {
    Person,
    ClientSecret { id: String, secret: Secret },
    PrivateKey { id: String, key: Arc<SigningKey> },
    Enterprise(Enterprise),
    Workload { id: Option<String>, assertion: Assertion },
}

impl Grant {
    /// Authorization code: a person logs in, in a browser. The default.
    pub fn person() -> Self {
        Self(GrantKind::Person)
    }

    /// Client credentials: a program logs in with an id and a secret.
    pub fn client_secret(id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        Self(GrantKind::ClientSecret { id: id.into(), secret: secret.into() })
    }

    /// Client credentials with `private_key_jwt`: a program logs in with an id and a private key.
    pub fn private_key(id: impl Into<String>, key: SigningKey) -> Self {
        Self(GrantKind::PrivateKey { id: id.into(), key: Arc::new(key) })
    }

    /// Enterprise-managed authorization: a program acts for a person who is logged in to an identity provider.
    pub fn enterprise(enterprise: Enterprise) -> Self {
        Self(GrantKind::Enterprise(enterprise))
    }

    /// Workload identity (RFC 7523): a program logs in with an assertion from its platform. Some authorization
    /// servers also require a client id.
    pub fn workload(id: Option<String>, assertion: Assertion) -> Self {
        Self(GrantKind::Workload { id, assertion })
    }

    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self.0, GrantKind::Person)
    }
}

/// A signed assertion of another party about this program. It is read anew each time, because it expires.
#[derive(Clone)]
pub struct Assertion(Source);

#[derive(Clone)]
enum Source {
    Text(Secret),
    File(PathBuf),
    Call(Arc<dyn Fn() -> Result<Secret, String> + Send + Sync>),
}

impl Assertion {
    /// Uses a fixed text.
    pub fn text(text: impl Into<Secret>) -> Self {
        Self(Source::Text(text.into()))
    }

    /// Reads the file each time. Platforms update such a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Source::File(path.into()))
    }

    /// Calls the function each time. It returns the assertion, or the reason for its absence.
    pub fn from_fn(call: impl Fn() -> Result<Secret, String> + Send + Sync + 'static) -> Self {
        Self(Source::Call(Arc::new(call)))
    }

    pub(crate) fn read(&self) -> Result<Secret, AuthError> {
        match &self.0 {
            Source::Text(text) => Ok(text.clone()),
            Source::Call(call) => call().map_err(AuthError::Settings),
            Source::File(path) => {
                let text = crate::store::read_bounded(path).map_err(|error| {
                    AuthError::Settings(format!("cannot read {}: {error}", path.display()))
                })?;
                // Platforms end the file with a newline, which would make the token invalid.
                Ok(Secret::new(text.unwrap_or_default().trim()))
            }
        }
    }
}

impl fmt::Debug for Assertion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Text(_) => formatter.write_str("Assertion(text)"),
            Source::Call(_) => formatter.write_str("Assertion(function)"),
            Source::File(path) => write!(formatter, "Assertion({})", path.display()),
        }
    }
}
