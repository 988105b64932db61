//! Keeps MCP connections alive and honest.
//!
//! This crate is the entry point for library users. The crates behind it can be used on their own:
//! [`client`] (sessions with servers), [`transport`] (standard streams, sockets, child processes,
//! HTTP) and [`wire`] (framing, strict JSON, messages; no I/O).
//!
//! # A server
//!
//! With [rmcp](https://docs.rs/rmcp), replace rmcp's `stdio()` by [`stdio()`]:
//!
//! ```no_run
//! # use rmcp::{ServerHandler, ServiceExt};
//! # struct Service;
//! # impl ServerHandler for Service {}
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! Service.serve(hardline::stdio()).await?.waiting().await?;
//! # Ok(())
//! # }
//! ```
//!
//! For a socket, or any other stream that tokio can read and write, use [`over()`]. [`Config`] sets
//! limits, timeouts and an observer for events.
//!
//! # A client
//!
//! [`client`] provides connections for a host or an agent, over stdio and HTTP:
//!
//! ```no_run
//! # async fn run() -> Result<(), hardline::client::Error> {
//! use hardline::client::{Connection, ConnectionSettings};
//!
//! let server = Connection::connect("https://example.com/mcp", ConnectionSettings::default()).await?;
//! let result = server.call_tool("echo", serde_json::json!({ "text": "hello" })).await?;
//! # Ok(())
//! # }
//! ```
//!
//! For rmcp's own client, [`spawn()`] starts a server and later ends it with all processes that it
//! started:
//!
//! ```no_run
//! # #[cfg(unix)]
//! # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
//! use hardline::process::{Command, Environment};
//! use rmcp::ServiceExt;
//!
//! let command = Command::new("my-server", Environment::Base).arg("--quiet");
//! let client = ().serve(hardline::spawn(&command)?).await?;
//! let tools = client.list_all_tools().await?;
//! client.cancel().await?;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "client")]
pub use hardline_client as client;
pub use hardline_transport as transport;
pub use hardline_wire as wire;

pub use hardline_transport::event::Event;
#[cfg(feature = "rmcp")]
pub use hardline_transport::{CatchPanics, catch_panics};
#[cfg(unix)]
pub use hardline_transport::{ChildConnection, process, spawn, spawn_with};
pub use hardline_transport::{Config, Connection, over, over_with, stdio, stdio_with};
pub use hardline_wire::limits::Limits;

/// Compiles the examples of the client page as doctests.
#[cfg(all(doctest, unix, feature = "client"))]
#[doc = include_str!("../../../docs/client.md")]
struct ClientPage;
