//! The ways to a token.
//!
//! | grant | who asks |
//! |---|---|
//! | [`Grant::person`] | a person, in a browser: authorization code with PKCE |
//! | [`Grant::client_secret`], [`Grant::private_key`] | a program of its own accord: client credentials |
//! | [`Grant::enterprise`] | a program for a person who has logged in to a company's identity provider |
//! | [`Grant::workload`] | a program that the platform it runs on vouches for: workload identity |

mod code;
mod enterprise;
mod machine;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::AuthError;
use super::jwt::SigningKey;
use super::secret::Secret;

pub(super) use code::{login, scopes};
pub(super) use machine::fetch;

pub use enterprise::Enterprise;

/// How tokens are got.
#[derive(Clone, Debug)]
pub struct Grant(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Person,
    ClientSecret { id: String, secret: Secret },
    PrivateKey { id: String, key: Arc<SigningKey> },
    Enterprise(Enterprise),
    Workload { id: Option<String>, assertion: Assertion },
}

impl Grant {
    /// A person logs in, in a browser. The default.
    pub fn person() -> Self {
        Self(Kind::Person)
    }

    /// A program logs in by its own id and secret (`client_credentials`).
    pub fn client_secret(id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        Self(Kind::ClientSecret { id: id.into(), secret: secret.into() })
    }

    /// A program logs in by its own id and a private key (`client_credentials`, `private_key_jwt`).
    pub fn private_key(id: impl Into<String>, key: SigningKey) -> Self {
        Self(Kind::PrivateKey { id: id.into(), key: Arc::new(key) })
    }

    /// A program acts for a person who has logged in to the company's identity provider.
    pub fn enterprise(enterprise: Enterprise) -> Self {
        Self(Kind::Enterprise(enterprise))
    }

    /// A program logs in by what the platform that it runs on says about it (RFC 7523). The
    /// authorization server may want an id of the client too.
    pub fn workload(id: Option<String>, assertion: Assertion) -> Self {
        Self(Kind::Workload { id, assertion })
    }

    pub(super) fn needs_a_person(&self) -> bool {
        matches!(self.0, Kind::Person)
    }
}

/// A signed statement of somebody else's about who we are. It is read anew each time, as it expires.
#[derive(Clone)]
pub struct Assertion(Source);

#[derive(Clone)]
enum Source {
    Text(Secret),
    File(PathBuf),
    Call(Arc<dyn Fn() -> Result<Secret, String> + Send + Sync>),
}

impl Assertion {
    /// This text.
    pub fn text(text: impl Into<Secret>) -> Self {
        Self(Source::Text(text.into()))
    }

    /// What is in this file at the time, as platforms put it there.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Source::File(path.into()))
    }

    /// What this gives at the time, or why it cannot.
    pub fn from_fn(call: impl Fn() -> Result<Secret, String> + Send + Sync + 'static) -> Self {
        Self(Source::Call(Arc::new(call)))
    }

    pub(super) fn read(&self) -> Result<Secret, AuthError> {
        match &self.0 {
            Source::Text(text) => Ok(text.clone()),
            Source::Call(call) => call().map_err(AuthError::Settings),
            Source::File(path) => {
                let text = super::store::read_bounded(path).map_err(|error| {
                    AuthError::Settings(format!("cannot read {}: {error}", path.display()))
                })?;
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
