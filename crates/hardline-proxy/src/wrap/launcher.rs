//! Source of the command for each start of the server.

use std::time::Duration;

use hardline_transport::process::Command;

use super::WrapError;

/// Decides what is started. Called before every start, so that changes since the last one are seen.
pub trait Launcher {
    /// Returns the command to start. `now` is the time since the start of the session.
    ///
    /// # Errors
    ///
    /// [`WrapError::Refused`] if the server may not be started. The session continues without a
    /// server, and the launcher is called again later. Any other error is handled like the end of a
    /// server.
    fn launch(&mut self, now: Duration) -> Result<Command, WrapError>;
}

/// Returns the same command every time.
impl Launcher for &Command {
    fn launch(&mut self, _: Duration) -> Result<Command, WrapError> {
        Ok((*self).clone())
    }
}
