//! OAuth: logging in to servers that want it, keeping and refreshing tokens.
//!
//! An [`Auth`] holds the credentials for the server at one URL. It is a
//! [`HeaderSource`](hardline_transport::http::HeaderSource): attached to a connection it adds the token to
//! every request, refreshes it before it expires or when the server refuses it, and has what was refused
//! sent once more.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use hardline_client::auth::{Auth, AuthSettings, SystemBrowser, default_store};
//! use hardline_client::{Connection, Settings};
//! use hardline_transport::http::Config;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "https://mcp.example/mcp";
//! let settings = AuthSettings::new()
//!     .with_store(default_store("/home/me/.local/state/my-agent/tokens"))
//!     .with_browser(Arc::new(SystemBrowser::new()))
//!     .on_authorization_url(|url| eprintln!("open {}", url.as_str()));
//! let auth = Auth::new(url, settings)?;
//! if !auth.status().await?.is_logged_in {
//!     auth.login().await?;
//! }
//! let config = Config::new(url)?.with_header_source(Arc::new(auth));
//! let server = Connection::connect_with(config, Settings::default()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Without a browser nothing is ever opened: a request that needs a login fails with what to do about it.
//! Other ways to a token than a person in front of a browser are a [`Grant`]. A token is bound to a key of
//! our own (DPoP, RFC 9449) if both servers can do that.
//!
//! | what | by |
//! |---|---|
//! | finding the authorization server | RFC 9728 by the challenge or at the well-known places, RFC 8414, OpenID Connect discovery, the root of the server as in 2025-03-26 |
//! | being known to it | an id given beforehand, a client metadata document, dynamic registration (RFC 7591) |
//! | logging in | authorization code, PKCE with S256, `resource` (RFC 8707), `state`, `iss` (RFC 9207), a loopback address |
//! | scopes | those that are set, or that the challenge names, or that the server's metadata names; a further one when a call needs it |
//!
//! Invariants:
//! - One refresh at a time, for all requests and, with a store that has a lock, for all processes. Whoever
//!   waits gets its outcome, and a refresh that was begun is finished and kept even if nobody waits.
//! - A token, a code, a key or a secret is in no `Debug`, no error, no log, no command line, and in no
//!   file that others can read.
//! - What was given out by one authorization server is never shown to another.
//! - A server cannot make us speak to addresses of our own network, unless it is there itself.
//! - What is opened in a browser is a plain web address, and no shell sees it.
//! - Every answer, every wait and every number of attempts has a limit.

mod address;
mod browser;
mod callback;
mod challenge;
mod client;
mod clock;
mod credentials;
mod discovery;
mod dpop;
mod error;
mod fetch;
mod form;
mod grant;
mod jwt;
mod lock;
mod login;
mod random;
mod renewal;
mod secret;
mod settings;
mod source;
mod state;
mod store;
mod token;

pub use browser::{AuthorizationUrl, Browser, NoBrowser, SystemBrowser};
pub use error::AuthError;
pub use grant::{Assertion, Enterprise, Grant};
pub use jwt::SigningKey;
pub use login::Status;
pub use secret::Secret;
pub use settings::AuthSettings;
pub use state::Auth;
#[cfg(feature = "keyring")]
pub use store::KeyringStore;
pub use store::{FileStore, Key, MemoryStore, TokenStore, default_store};
