//! Tokens in the keyring of the system: the Secret Service on Linux, the keychain on macOS, the credential
//! manager on Windows.
//!
//! A keyring may be absent, slow, or limited to short texts. Its presence is checked once, in bounded time.
//! Texts that it rejects are stored in a file instead.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use keyring_core::{CredentialStore, Entry, Error};

use super::file::{FileStore, lock_file};
use super::{TokenKey, TokenStore};
use crate::secret::Secret;

/// Service name of our entries.
const SERVICE: &str = "hardline";
/// Time limit for the keyring to respond to the check.
const WAIT: Duration = Duration::from_secs(2);

/// Stores tokens in the system's keyring.
#[derive(Debug)]
pub struct KeyringStore {
    store: Arc<CredentialStore>,
    /// Store for texts that the keyring rejects, and for locks.
    files: FileStore,
    directory: PathBuf,
}

impl KeyringStore {
    /// Returns the keyring, if there is one that responds within two seconds. Texts that it rejects are stored
    /// in files in `directory`.
    pub fn open(directory: &Path) -> Option<Self> {
        let (sender, receiver) = sync_channel(1);
        // A separate thread, which is abandoned if the keyring hangs.
        let asking = std::thread::Builder::new().name("keyring".to_owned());
        let asked = asking.spawn(move || {
            let _ = sender.send(system().filter(answers));
        });
        asked.ok()?;
        Some(Self::with(receiver.recv_timeout(WAIT).ok()??, directory))
    }

    fn with(store: Arc<CredentialStore>, directory: &Path) -> Self {
        Self { store, files: FileStore::new(directory), directory: directory.to_owned() }
    }

    fn entry(&self, key: &TokenKey) -> Result<Entry, String> {
        let entry = self.store.build(SERVICE, key.digest(), None);
        entry.map_err(|error| described(&error))
    }
}

impl TokenStore for KeyringStore {
    fn load(&self, key: &TokenKey) -> Result<Option<Secret>, String> {
        match self.entry(key)?.get_password() {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(Error::NoEntry) => self.files.load(key),
            Err(error) => Err(described(&error)),
        }
    }

    fn save(&self, key: &TokenKey, text: &Secret) -> Result<(), String> {
        let entry = self.entry(key)?;
        if entry.set_password(text.reveal()).is_ok() {
            self.files.remove(key)?;
            return Ok(());
        }
        // The text is too long, or the keyring is locked. An older entry would be found before the file.
        self.files.save(key, text)?;
        match entry.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(described(&error)),
        }
    }

    fn remove(&self, key: &TokenKey) -> Result<bool, String> {
        let was_in_file = self.files.remove(key)?;
        match self.entry(key)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(was_in_file),
            Err(error) => Err(described(&error)),
        }
    }

    fn is_damaged(&self, key: &TokenKey) -> bool {
        match self.entry(key).map(|it| it.get_password()) {
            Ok(Err(Error::BadEncoding(_))) => true,
            Ok(Err(Error::NoEntry)) => self.files.is_damaged(key),
            _ => false,
        }
    }

    fn lock_file(&self, key: &TokenKey) -> Option<PathBuf> {
        lock_file(&self.directory, key)
    }
}

/// Returns true if the keyring responds at all.
fn answers(store: &Arc<CredentialStore>) -> bool {
    let entry = store.build(SERVICE, "probe", None);
    entry.is_ok_and(|it| matches!(it.get_password(), Ok(_) | Err(Error::NoEntry)))
}

/// Describes an error without the values that it may quote.
fn described(error: &Error) -> String {
    let reason = match error {
        Error::NoStorageAccess(_) => "it is locked, or denies access",
        Error::TooLong(..) => "the tokens are too long for it",
        Error::Ambiguous(_) => "it has more than one entry for the server",
        Error::BadEncoding(_) => "its entry is not text",
        _ => "it does not work",
    };
    format!("cannot use the system's keyring: {reason}")
}

#[cfg(target_os = "linux")]
fn system() -> Option<Arc<CredentialStore>> {
    zbus_secret_service_keyring_store::Store::new().ok().map(|store| store as Arc<CredentialStore>)
}

#[cfg(target_os = "macos")]
fn system() -> Option<Arc<CredentialStore>> {
    apple_native_keyring_store::keychain::Store::new()
        .ok()
        .map(|store| store as Arc<CredentialStore>)
}

#[cfg(windows)]
fn system() -> Option<Arc<CredentialStore>> {
    windows_native_keyring_store::Store::new().ok().map(|store| store as Arc<CredentialStore>)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
fn system() -> Option<Arc<CredentialStore>> {
    None
}

#[cfg(test)]
mod tests {
    use keyring_core::mock;
    use reqwest::Url;

    use super::*;

    #[test]
    fn stores_loads_and_removes_tokens() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyringStore::with(mock::Store::new().unwrap(), dir.path());
        let key = TokenKey::new(&Url::parse("https://a.example/mcp").unwrap());
        assert_eq!(store.load(&key).unwrap(), None);
        store.save(&key, &Secret::new("one")).unwrap();
        store.save(&key, &Secret::new("two")).unwrap();
        assert_eq!(store.load(&key).unwrap(), Some(Secret::new("two")));
        let other = TokenKey::new(&Url::parse("https://b.example/mcp").unwrap());
        assert_eq!(store.load(&other).unwrap(), None);
        assert!(store.remove(&key).unwrap());
        assert!(!store.remove(&key).unwrap());
        assert_eq!(store.load(&key).unwrap(), None);
        // No file was written.
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn texts_that_the_keyring_rejects_go_into_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyringStore::with(mock::Store::new().unwrap(), dir.path());
        let key = TokenKey::new(&Url::parse("https://a.example/mcp").unwrap());
        let entry = store.entry(&key).unwrap();
        let refuse = entry.as_any().downcast_ref::<mock::Cred>().unwrap();
        refuse.set_error(Error::TooLong("password".to_owned(), 2560));
        store.save(&key, &Secret::new("long")).unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 1);
        assert_eq!(store.load(&key).unwrap(), Some(Secret::new("long")));
        // Once the keyring accepts the text, the file is removed.
        store.save(&key, &Secret::new("short")).unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
        assert_eq!(store.load(&key).unwrap(), Some(Secret::new("short")));
    }
}
