//! Tokens in the keyring of the system: the Secret Service on Linux, the keychain on macOS, the credential
//! manager on Windows.
//!
//! A keyring may not be there, may take its time, and may hold short texts only. Whether it is there is
//! found out once, in bounded time; what it does not take goes into a file as without one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use keyring_core::{CredentialStore, Entry, Error};

use super::file::{FileStore, lock_file};
use super::{Key, TokenStore};
use crate::auth::secret::Secret;

/// What our entries belong to.
const SERVICE: &str = "hardline";
/// How long is waited for a keyring to show that it is there.
const WAIT: Duration = Duration::from_secs(2);

/// Keeps tokens in the keyring of the system.
#[derive(Debug)]
pub struct KeyringStore {
    store: Arc<CredentialStore>,
    /// For what the keyring does not take, and for locks.
    files: FileStore,
    directory: PathBuf,
}

impl KeyringStore {
    /// The keyring, if there is one that answers within two seconds. What it does not take is kept in
    /// files in `directory`.
    pub fn open(directory: &Path) -> Option<Self> {
        let (sender, receiver) = sync_channel(1);
        // A thread of its own: a keyring that hangs is left to itself.
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

    fn entry(&self, key: &Key) -> Result<Entry, String> {
        let entry = self.store.build(SERVICE, key.digest(), None);
        entry.map_err(|error| described(&error))
    }
}

impl TokenStore for KeyringStore {
    fn load(&self, key: &Key) -> Result<Option<Secret>, String> {
        match self.entry(key)?.get_password() {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(Error::NoEntry) => self.files.load(key),
            Err(error) => Err(described(&error)),
        }
    }

    fn save(&self, key: &Key, text: &Secret) -> Result<(), String> {
        let entry = self.entry(key)?;
        if entry.set_password(text.reveal()).is_ok() {
            self.files.remove(key)?;
            return Ok(());
        }
        // Too long for it, or locked. An older one there would be found before the file.
        self.files.save(key, text)?;
        match entry.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(described(&error)),
        }
    }

    fn remove(&self, key: &Key) -> Result<bool, String> {
        let was_in_file = self.files.remove(key)?;
        match self.entry(key)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(was_in_file),
            Err(error) => Err(described(&error)),
        }
    }

    fn is_damaged(&self, key: &Key) -> bool {
        match self.entry(key).map(|it| it.get_password()) {
            Ok(Err(Error::BadEncoding(_))) => true,
            Ok(Err(Error::NoEntry)) => self.files.is_damaged(key),
            _ => false,
        }
    }

    fn lock_file(&self, key: &Key) -> Option<PathBuf> {
        lock_file(&self.directory, key)
    }
}

/// Whether a keyring answers at all.
fn answers(store: &Arc<CredentialStore>) -> bool {
    let entry = store.build(SERVICE, "is there anybody", None);
    entry.is_ok_and(|it| matches!(it.get_password(), Ok(_) | Err(Error::NoEntry)))
}

/// An error in words, without what it may quote.
fn described(error: &Error) -> String {
    let reason = match error {
        Error::NoStorageAccess(_) => "it is locked, or does not let us in",
        Error::TooLong(..) => "the tokens are too long for it",
        Error::Ambiguous(_) => "it has more than one entry for the server",
        Error::BadEncoding(_) => "what it holds is no text",
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
    fn what_is_kept_is_found_and_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyringStore::with(mock::Store::new().unwrap(), dir.path());
        let key = Key::new(&Url::parse("https://a.example/mcp").unwrap());
        assert_eq!(store.load(&key).unwrap(), None);
        store.save(&key, &Secret::new("one")).unwrap();
        store.save(&key, &Secret::new("two")).unwrap();
        assert_eq!(store.load(&key).unwrap(), Some(Secret::new("two")));
        let other = Key::new(&Url::parse("https://b.example/mcp").unwrap());
        assert_eq!(store.load(&other).unwrap(), None);
        assert!(store.remove(&key).unwrap());
        assert!(!store.remove(&key).unwrap());
        assert_eq!(store.load(&key).unwrap(), None);
        // Nothing went into a file.
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn what_the_keyring_does_not_take_goes_into_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let store = KeyringStore::with(mock::Store::new().unwrap(), dir.path());
        let key = Key::new(&Url::parse("https://a.example/mcp").unwrap());
        let entry = store.entry(&key).unwrap();
        let refuse = entry.as_any().downcast_ref::<mock::Cred>().unwrap();
        refuse.set_error(Error::TooLong("password".to_owned(), 2560));
        store.save(&key, &Secret::new("long")).unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 1);
        assert_eq!(store.load(&key).unwrap(), Some(Secret::new("long")));
        // Once it takes it, the file is gone.
        store.save(&key, &Secret::new("short")).unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
        assert_eq!(store.load(&key).unwrap(), Some(Secret::new("short")));
    }
}
