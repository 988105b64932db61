//! How a manager comes to a connection.

use std::fmt;

use hardline_transport::client::BoxFuture;

use crate::{Connection, Error, Settings};

/// A way to a server, which a manager goes again whenever the connection is lost.
pub trait Connect: fmt::Debug + Send + Sync + 'static {
    /// Opens a connection. Whatever it needs, credentials and variables, is looked up anew each time.
    fn connect(&self, settings: Settings) -> BoxFuture<'_, Result<Connection, Error>>;

    /// Whether the server is somewhere else, so that it may come back by itself.
    fn is_remote(&self) -> bool;

    /// What the list of its tools is kept under from one run to the next: the same for as long as it is the
    /// same server. Letters and digits. `None`: it is not kept.
    fn fingerprint(&self) -> Option<String> {
        None
    }

    /// A text that only servers share which are one program under two names. `None` if that is not known.
    fn program(&self) -> Option<String> {
        None
    }
}
