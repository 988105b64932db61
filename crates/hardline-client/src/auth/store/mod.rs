//! Where tokens are kept from one session to the next.
//!
//! A [`TokenStore`] keeps one text for each server, which is a secret as a whole. The text names the
//! authorization server that its tokens come from, so that those of two servers, or of two authorization
//! servers, are never mixed.

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

use super::secret::Secret;

pub use file::FileStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringStore;
pub use memory::MemoryStore;

/// How much is kept for one server at most.
const MAX_BYTES: u64 = 256 << 10;

/// Keeps secrets. Its methods may block, for a while: they are called where that does no harm.
pub trait TokenStore: fmt::Debug + Send + Sync + 'static {
    /// What is kept for a server, if anything is.
    ///
    /// # Errors
    ///
    /// Why it cannot be found out, in words.
    fn load(&self, key: &Key) -> Result<Option<Secret>, String>;

    /// Keeps something for a server, in place of what was kept before.
    ///
    /// # Errors
    ///
    /// Why it cannot be kept, in words.
    fn save(&self, key: &Key, text: &Secret) -> Result<(), String>;

    /// Forgets what is kept for a server. Returns whether anything was.
    ///
    /// # Errors
    ///
    /// Why it cannot be forgotten, in words.
    fn remove(&self, key: &Key) -> Result<bool, String>;

    /// Whether what is kept for a server is ours and cannot be read any more, so that a login may replace it
    /// and a logout remove it.
    fn is_damaged(&self, key: &Key) -> bool {
        let _ = key;
        false
    }

    /// A file to lock while tokens are refreshed, so that two processes do not do it at once.
    fn lock_file(&self, key: &Key) -> Option<PathBuf> {
        let _ = key;
        None
    }
}

/// Which server something is kept for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Key {
    shown: String,
    digest: String,
}

impl Key {
    pub(super) fn new(server: &Url) -> Self {
        let mut url = server.clone();
        url.set_fragment(None);
        let digest = digest(&SHA256, url.as_str().as_bytes());
        let digest = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        url.set_query(None);
        Self { shown: url.into(), digest }
    }

    /// The server's address, without its query.
    pub fn server(&self) -> &str {
        &self.shown
    }

    /// A name that belongs to the whole address alone: 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// The system's keyring if it answers, or else a file for each server in `directory`.
///
/// Where there is no keyring that is known after two seconds at most. This blocks for that long.
pub fn default_store(directory: impl Into<PathBuf>) -> Arc<dyn TokenStore> {
    let directory = directory.into();
    #[cfg(feature = "keyring")]
    if let Some(store) = KeyringStore::open(&directory) {
        return Arc::new(store);
    }
    Arc::new(FileStore::new(directory))
}

/// Reads a small file. `None` if there is none.
pub(super) fn read_bounded(path: &Path) -> io::Result<Option<String>> {
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
    if MAX_BYTES < count as u64 {
        return Err(io::Error::other(format!("it is longer than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_a_key_of_its_own_that_shows_no_secret() {
        let key = |text: &str| Key::new(&Url::parse(text).unwrap());
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
