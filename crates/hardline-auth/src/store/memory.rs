//! Tokens in memory, which are lost when the process exits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{TokenKey, TokenStore};
use crate::secret::Secret;

/// Stores tokens in memory only.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<String, Secret>>);

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl TokenStore for MemoryStore {
    fn load(&self, key: &TokenKey) -> Result<Option<Secret>, String> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key.digest()).cloned())
    }

    fn save(&self, key: &TokenKey, text: &Secret) -> Result<(), String> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stored.insert(key.digest().to_owned(), text.clone());
        Ok(())
    }

    fn remove(&self, key: &TokenKey) -> Result<bool, String> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(stored.remove(key.digest()).is_some())
    }
}
