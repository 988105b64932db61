//! MCP client connections that agents can rely on.
//!
//! A [`Connection`] is a session with one server, over its standard streams, over Streamable HTTP, over
//! the HTTP+SSE of 2024-11-05, or over whatever else is a [`Transport`]. It speaks all five versions of
//! the protocol and finds out by itself which the server speaks.
//!
//! ```no_run
//! use hardline_client::{Connection, Settings};
//! use hardline_transport::process::{Command, Environment};
//!
//! # async fn run() -> Result<(), hardline_client::Error> {
//! let command = Command::new("my-server", Environment::Base).arg("--quiet");
//! let server = Connection::spawn(&command, Settings::default()).await?;
//! for tool in server.list_tools().await? {
//!     println!("{}", tool.name);
//! }
//! let result = server.call_tool("echo", serde_json::json!({ "text": "hello" })).await?;
//! server.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Every request ends: with the answer, with what the server or the transport says is wrong, or when its
//! deadline is over. Giving up on a request, by a deadline or by dropping its future, tells the server.
//! A request that may have been taken is never sent twice.
//!
//! | module | holds |
//! |---|---|
//! | [`connection`] | opening, ids, deadlines, cancelling, renewing, requests of the server, typed calls |
//! | [`settings`] | what a client is and can do, how long it waits |
//! | [`guard`] | the guard on a connection |
//! | [`once`] | a single call to a URL without a session |
//! | [`manager`] | many servers as one, each connected again when it goes away |
//! | [`config`] | servers as configuration files have them |
//! | [`auth`] | OAuth: logging in, refreshing, keeping tokens |

#![expect(deprecated, reason = "rmcp marks what 2026-07-28 gives up; the older versions have it")]

pub mod auth;
mod board;
pub mod config;
pub mod connection;
mod error;
pub mod guard;
pub mod manager;
pub mod once;
pub mod settings;

pub use board::EventReceiver;
pub use connection::{Connection, Options, ServerEvent, ServerInfo};
pub use error::{Error, RpcError};
pub use hardline_transport::Secrets;
pub use hardline_transport::client::{Transport, TransportError};
pub use hardline_wire::version::Version;
pub use rmcp::model;
pub use settings::{Settings, Versions};
