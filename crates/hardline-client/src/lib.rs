//! MCP client connections that agents can rely on.
//!
//! A [`Connection`] is a session with one server, over its standard streams, over Streamable HTTP, over
//! the HTTP+SSE of 2024-11-05, or over any other [`Transport`]. It speaks all versions of the
//! protocol and negotiates the version with the server.
//!
//! ```no_run
//! use hardline_client::{Connection, ConnectionSettings};
//! use hardline_transport::process::{Command, Environment};
//!
//! # async fn run() -> Result<(), hardline_client::Error> {
//! let command = Command::new("my-server", Environment::Base).arg("--quiet");
//! let server = Connection::spawn(&command, ConnectionSettings::default()).await?;
//! for tool in server.list_tools().await? {
//!     println!("{}", tool.name);
//! }
//! let result = server.call_tool("echo", serde_json::json!({ "text": "hello" })).await?;
//! server.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Manager`] holds connections to many servers, reopens them when they are lost, and joins their tools into
//! one [`Catalog`]. Events of both are [streams](EventReceiver).
//!
//! Every request ends: with the server's answer, with an error from the server or the transport, or at its
//! deadline. A caller cancels a request by letting it reach its deadline or by dropping its future; the
//! client then sends the server a cancellation. A request that the server may already have received is
//! never sent a second time. An [`Error`] tells what to do about it: [`is_timeout`](Error::is_timeout),
//! [`is_connect`](Error::is_connect), [`is_auth`](Error::is_auth), [`may_have_run`](Error::may_have_run).
//!
//! | module | contents |
//! |---|---|
//! | [`connection`] | opening a session, request ids, deadlines, cancellation, renewal, requests from the server, typed calls |
//! | [`settings`] | client identity, capabilities, handlers and timeouts |
//! | [`guard`] | inspection of a connection's traffic by a policy |
//! | [`once`] | a single request to a URL without a session |
//! | [`manager`] | many servers behind one handle, with reconnection and a joint tool catalog |
//! | [`config`] | server entries in the configuration files of MCP clients |
//! | [`auth`] | OAuth: login, token refresh, token storage |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(
    deprecated,
    reason = "rmcp deprecates what 2026-07-28 removed; older versions still need it"
)]

mod broadcast;
pub mod config;
pub mod connection;
mod error;
pub mod guard;
mod handler;
pub mod manager;
pub mod once;
pub mod settings;

pub use broadcast::EventReceiver;
pub use connection::{
    Connection, Progress, RawResult, RequestOptions, ServerEvent, ServerInfo, ServerNotification,
};
pub use error::{Error, RpcError, StartError};
pub use guard::GuardSettings;
pub use handler::RequestContext;
pub use hardline_auth as auth;
pub use hardline_transport::Secrets;
pub use hardline_transport::client::{Transport, TransportError};
pub use hardline_wire::version::Version;
pub use manager::{
    AddServerError, Catalog, CatalogTool, ConfiguredServer, Connect, Manager, ManagerEvent,
    ManagerSettings, ServerState, ServerStatus,
};
#[doc(no_inline)]
pub use rmcp::model;
pub use settings::{ConnectionSettings, Versions};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
