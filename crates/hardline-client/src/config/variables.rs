//! Sources of variable values.

use std::collections::BTreeMap;
use std::env;
use std::fmt;

/// Looks up the values of variables. Each lookup sees the current value.
///
/// A VS Code file may refer to user input as `${input:api-key}`. It is looked up under the name
/// `input:api-key`, so that an implementation can prompt the user for it.
pub trait Variables: Send + Sync {
    /// Returns the value of a variable, if it is set.
    fn find(&self, name: &str) -> Option<String>;
}

/// The environment of this process. Looks up the input `api-key` as the variable `INPUT_API_KEY`.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ProcessVariables;

impl ProcessVariables {
    /// Creates the source.
    pub fn new() -> Self {
        Self
    }
}

impl Variables for ProcessVariables {
    fn find(&self, name: &str) -> Option<String> {
        let own;
        let name = match name.strip_prefix("input:") {
            Some(id) => {
                own = input_variable(id);
                &own
            }
            None => name,
        };
        // `env::var` may panic for names with `=` or NUL on some platforms.
        if name.is_empty() || name.contains(['=', '\0']) {
            return None;
        }
        env::var(name).ok()
    }
}

/// A fixed set of variables, for example in tests. `Debug` does not show their values.
#[derive(Clone, Default)]
pub struct FixedVariables(BTreeMap<String, String>);

impl FixedVariables {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a variable, replacing one with the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }
}

impl Variables for FixedVariables {
    fn find(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

impl fmt::Debug for FixedVariables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Returns the environment variable that provides the value of an input.
pub(super) fn input_variable(id: &str) -> String {
    let part =
        |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
    format!("INPUT_{}", id.chars().map(part).collect::<String>())
}
