//! The trait through which a manager opens connections.

use std::fmt;
use std::time::Duration;

use hardline_transport::client::BoxFuture;

use crate::{Connection, ConnectionSettings, Error};

/// Opens connections to one server. The manager calls it again whenever the connection is lost.
pub trait Connect: fmt::Debug + Send + Sync + 'static {
    /// Opens a connection. Implementations look up credentials and variables anew for each call.
    fn connect(&self, settings: ConnectionSettings) -> BoxFuture<'_, Result<Connection, Error>>;

    /// Returns the request timeout of this server, which replaces the one in the settings.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns true if the server runs elsewhere, so that it may come back without being restarted.
    fn is_remote(&self) -> bool;

    /// Returns the key under which the server's tool list is cached between runs, made of ASCII letters and
    /// digits. It must change if the server does. `None` disables the cache.
    fn fingerprint(&self) -> Option<String> {
        None
    }

    /// Returns a key that two servers share only if both names run the same program. `None` if unknown.
    fn program(&self) -> Option<String> {
        None
    }
}
