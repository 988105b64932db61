//! Storage of tokens between sessions.
//!
//! A [`TokenStore`] stores one text per server, all of which is secret. The text names the authorization
//! server that issued the tokens, so tokens of different servers or authorization servers are never mixed.

mod file;
#[cfg(feature = "keyring")]
mod keyring;
mod memory;

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Url;
use ring::digest::{SHA256, digest};

use crate::secret::Secret;

pub use file::FileStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringStore;
pub use memory::MemoryStore;

/// Limit on the size of one server's entry.
const MAX_BYTES: u64 = 256 << 10;

/// Stores secrets. The methods may block for a short time; they are called on a blocking thread.
pub trait TokenStore: fmt::Debug + Send + Sync + 'static {
    /// Returns the text stored for a server, if there is any.
    ///
    /// # Errors
    ///
    /// Returns the reason as text.
    fn load(&self, key: &TokenKey) -> Result<Option<Secret>, String>;

    /// Stores a text for a server, replacing the previous one.
    ///
    /// # Errors
    ///
    /// Returns the reason as text.
    fn save(&self, key: &TokenKey, text: &Secret) -> Result<(), String>;

    /// Removes the text stored for a server. Returns false if there was none.
    ///
    /// # Errors
    ///
    /// Returns the reason as text.
    fn remove(&self, key: &TokenKey) -> Result<bool, String>;

    /// Returns true if the entry for a server is ours but unreadable, so that a login may replace it and a
    /// logout may remove it.
    fn is_damaged(&self, key: &TokenKey) -> bool {
        let _ = key;
        false
    }

    /// Returns a file to lock during a refresh, so that two processes do not refresh at the same time.
    fn lock_file(&self, key: &TokenKey) -> Option<PathBuf> {
        let _ = key;
        None
    }
}

/// Identifies the server that an entry belongs to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TokenKey {
    shown: String,
    digest: String,
}

impl TokenKey {
    pub(crate) fn new(server: &Url) -> Self {
        let mut url = server.clone();
        // Servers never see the fragment, so it cannot tell two of them apart.
        url.set_fragment(None);
        let digest = digest(&SHA256, url.as_str().as_bytes());
        let digest = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        // The query may contain a key, and this form is shown to users.
        url.set_query(None);
        Self { shown: url.into(), digest }
    }

    /// Returns the server's address, without its query.
    pub fn server(&self) -> &str {
        &self.shown
    }

    /// Returns the SHA-256 of the complete address: 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// Returns the system's keyring if it responds, or else a store with one file per server in `directory`.
///
/// Blocks for up to two seconds if there is no keyring.
pub fn default_store(directory: impl Into<PathBuf>) -> Arc<dyn TokenStore> {
    let directory = directory.into();
    #[cfg(feature = "keyring")]
    // The keyring encrypts at rest and asks the user; a file does neither.
    if let Some(store) = KeyringStore::open(&directory) {
        return Arc::new(store);
    }
    Arc::new(FileStore::new(directory))
}

/// Reads a small file. Returns `None` if it does not exist.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Option<String>> {
    match hardline_transport::file::open(path) {
        Ok(file) => read_file(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_file(file: std::fs::File) -> io::Result<String> {
    let mut text = String::new();
    #[expect(clippy::disallowed_methods, reason = "bounded by take()")]
    let count = file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if count as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is longer than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_a_key_of_its_own_that_shows_no_secret() {
        let key = |text: &str| TokenKey::new(&Url::parse(text).unwrap());
        let keys = [
            key("https://a.example/mcp"),
            key("https://a.example/mcp/"),
            key("https://a.example/mcp?key=secret"),
            key("https://a.example:8443/mcp"),
            key("http://a.example/mcp"),
        ];
        for (at, one) in keys.iter().enumerate() {
            assert!(keys.iter().skip(at + 1).all(|it| it.digest() != one.digest()), "{one:?}");
            assert!(!format!("{one:?}").contains("secret"));
        }
        assert_eq!(key("https://A.example/mcp#x"), keys[0]);
    }
}
