//! OAuth: login, token refresh and token storage for servers that require authorization.
//!
//! The crate knows HTTP headers, not MCP connections: any user of
//! [`hardline_transport::http`] can attach it.
//!
//! An [`Auth`] holds the credentials for the server at one URL. It is a
//! [`HeaderSource`](hardline_transport::http::HeaderSource): attached to a connection, it adds the token to
//! every request, and refreshes the token before it expires. If the server rejects the token, `Auth`
//! refreshes it and has the request sent once more.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use hardline_auth::{Auth, AuthSettings, SystemBrowser, default_store};
//! use hardline_client::{Connection, ConnectionSettings};
//! use hardline_transport::http::HttpSettings;
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
//! let config = HttpSettings::new(url)?.with_header_source(Arc::new(auth));
//! let server = Connection::connect_with(config, ConnectionSettings::default()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Without a browser, no page is ever opened: a request that needs a login fails, and the error says how to
//! log in. A [`Grant`] obtains tokens without a person in front of a browser. If both servers support it,
//! tokens are bound to a key of our own (DPoP, RFC 9449).
//!
//! | step | standards |
//! |---|---|
//! | finding the authorization server | RFC 9728 by the challenge or at the well-known locations, RFC 8414, OpenID Connect discovery, the root of the server as in 2025-03-26 |
//! | identifying the client | a preregistered id, a client metadata document, dynamic registration (RFC 7591) |
//! | login | authorization code, PKCE with S256, `resource` (RFC 8707), `state`, `iss` (RFC 9207), a loopback address |
//! | scopes | those in the settings, or in the challenge, or in the server's metadata; a further scope when a call needs it |
//!
//! Invariants:
//! - Only one refresh runs at a time, across all requests and, if the store provides a lock file, across all
//!   processes. Waiting requests share its outcome. A refresh that has started is completed and saved even
//!   if its requests are dropped.
//! - Tokens, codes, keys and secrets never appear in `Debug` output, errors, logs or command lines, nor in a
//!   file that other users can read.
//! - Credentials of one authorization server are never sent to another.
//! - A server cannot make the client connect to addresses in the local network, unless the server itself is
//!   there.
//! - Only plain web addresses are opened in a browser, and never through a shell.
//! - Every response, every wait and every number of attempts is limited.

#![cfg_attr(docsrs, feature(doc_cfg))]

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
pub use login::LoginStatus;
pub use secret::Secret;
pub use settings::AuthSettings;
pub use state::Auth;
#[cfg(feature = "keyring")]
pub use store::KeyringStore;
pub use store::{FileStore, MemoryStore, TokenKey, TokenStore, default_store};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
