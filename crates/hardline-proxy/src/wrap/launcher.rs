//! Who says what is started.

use std::time::Duration;

use hardline_transport::process::Command;

use super::WrapError;

/// Says what is started: asked before every start, so that what changed since is seen.
pub trait Launcher {
    /// The command to start, so long after the session's start.
    ///
    /// # Errors
    ///
    /// [`WrapError::Refused`], if it may not be started: the session goes on without a server, and it is
    /// asked again later. Any other error counts as a server that ended.
    fn launch(&mut self, now: Duration) -> Result<Command, WrapError>;
}

/// The same command every time.
impl Launcher for &Command {
    fn launch(&mut self, _: Duration) -> Result<Command, WrapError> {
        Ok((*self).clone())
    }
}
