//! A bounded list of the problems in one file.

use super::error::Place;
use super::{ConfigError, Problem};

/// Limit on reported problems per file, so that a file with nothing but mistakes stays cheap to read.
const MAX_MISTAKES: usize = 100;

/// Problems in the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<ConfigError>);

impl Mistakes {
    /// Adds a problem. Returns true if it is fatal, even if the list is full.
    pub(super) fn add(&mut self, place: Place, problem: Problem) -> bool {
        let error = ConfigError::new(place, problem);
        let is_fatal = error.is_fatal();
        if self.0.len() < MAX_MISTAKES {
            self.0.push(error);
        } else if self.0.len() == MAX_MISTAKES {
            let place = Place { file: error.file().to_owned(), ..Place::default() };
            self.0.push(ConfigError::new(place, Problem::MoreMistakes));
        }
        is_fatal
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_MISTAKES
    }

    pub(super) fn into_vec(self) -> Vec<ConfigError> {
        self.0
    }
}
