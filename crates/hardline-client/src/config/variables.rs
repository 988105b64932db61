//! Where the values of variables come from.

use std::collections::BTreeMap;
use std::env;
use std::fmt;

/// Finds the values of variables, each time anew.
///
/// A file of VS Code may ask for input, as `${input:api-key}`. The name of that is `input:api-key`, so
/// that whoever can ask a person does.
pub trait Variables: Send + Sync {
    /// The value of a variable, if it is set.
    fn find(&self, name: &str) -> Option<String>;
}

/// The environment of this process. An input `api-key` is the variable `INPUT_API_KEY` in it.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Process;

impl Process {
    /// The one there is.
    pub fn new() -> Self {
        Self
    }
}

impl Variables for Process {
    fn find(&self, name: &str) -> Option<String> {
        let own;
        let name = match name.strip_prefix("input:") {
            Some(id) => {
                own = input_variable(id);
                &own
            }
            None => name,
        };
        // Asking for a name that none can have would panic on some platforms.
        if name.is_empty() || name.contains(['=', '\0']) {
            return None;
        }
        env::var(name).ok()
    }
}

/// Variables that were put in beforehand, as for tests. Their values are never shown.
#[derive(Clone, Default)]
pub struct Fixed(BTreeMap<String, String>);

impl Fixed {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one, in place of one with the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }
}

impl Variables for Fixed {
    fn find(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }
}

impl fmt::Debug for Fixed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// The variable that stands for an input in the environment.
pub(super) fn input_variable(id: &str) -> String {
    let part =
        |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
    format!("INPUT_{}", id.chars().map(part).collect::<String>())
}
