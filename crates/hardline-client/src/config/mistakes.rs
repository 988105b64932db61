//! The mistakes of one file, no more than are worth telling.

use super::error::Place;
use super::{ConfigError, Problem};

/// Most mistakes that are told of a file: nobody reads more, and a file of nothing else stays cheap.
const MAX_MISTAKES: usize = 100;

/// Mistakes in the order they were found.
#[derive(Debug, Default)]
pub(super) struct Mistakes(Vec<ConfigError>);

impl Mistakes {
    /// Adds one. Returns whether it is fatal, also if there is no room for it.
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
        MAX_MISTAKES <= self.0.len()
    }

    pub(super) fn into_vec(self) -> Vec<ConfigError> {
        self.0
    }
}
