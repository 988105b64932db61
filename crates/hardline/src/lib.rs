//! Keeps MCP connections alive and honest.
//!
//! This crate is the entry point for library users:
//!
//! | you write | feature | start with |
//! |---|---|---|
//! | a server with [rmcp](https://docs.rs/rmcp) | `server` (default) | [`serve_stdio`] |
//! | a client with rmcp | `rmcp-client` | [`spawn()`] |
//! | a host, an agent or a gateway | `client` | [`client::Connection`], [`client::manager`] |
//! | checks of messages, tools or texts | `guard` | [`guard::Guard`] |
//! | a transport or a proxy of your own | – | [`transport`], [`wire`] |
//!
//! # A server
//!
//! ```no_run
//! # #[cfg(feature = "server")] mod example {
//! # use rmcp::ServerHandler;
//! # struct Greeter;
//! # impl ServerHandler for Greeter {}
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), hardline::ServeError> {
//!     hardline::serve_stdio(Greeter).await?;
//!     Ok(())
//! }
//! # }
//! ```
//!
//! Every request that has an id gets exactly one answer: also after a line that is no message, after
//! a handler that panicked, and after the client has closed its end. For a socket, or any other
//! stream that tokio can read and write, use [`serve`] with [`over()`]. [`EndpointSettings`] has the
//! limits, the timeouts and an observer for events.
//!
//! An [`Endpoint`] is also a `Transport` of rmcp, for programs that need its `RunningService`:
//! `service.serve(hardline::stdio())`.
//!
//! # A client
//!
//! [`client`] has connections for a host or an agent, over stdio and HTTP:
//!
//! ```no_run
//! # #[cfg(feature = "client")]
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
//! # #[cfg(all(unix, feature = "rmcp-client"))]
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
//!
//! # Checks
//!
//! [`guard`] inspects lines, messages and texts. It has no I/O:
//!
//! ```
//! # #[cfg(feature = "guard")] {
//! use hardline::guard::scan::{ScanSettings, Scanner};
//!
//! let mut scanner = Scanner::new(ScanSettings::default());
//! let report = scanner.scan("A text with a hidden\u{200b}\u{200b}\u{200b}\u{e0041} part.");
//! assert!(!report.hits.is_empty());
//! # }
//! ```
//!
//! # Versions
//!
//! The minimum supported Rust version is the `rust-version` of the package; raising it is a minor
//! release. Types of other crates in this API: `rmcp` (features `server`, `rmcp-client` and
//! `client`), `tokio`'s I/O traits and channels, `serde_json::Value`, `reqwest::Client` and
//! `futures_core::Stream` (feature `client`), `serde`'s traits (features `client` and `serde`). A
//! new major version of one of them is a breaking release of this crate. All other dependencies are
//! private.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
#[doc(no_inline)]
pub use hardline_client as client;
#[cfg(feature = "guard")]
#[doc(no_inline)]
pub use hardline_guard as guard;
#[doc(no_inline)]
pub use hardline_transport as transport;
#[doc(no_inline)]
pub use hardline_wire as wire;

pub use hardline_transport::event::EndpointEvent;
#[cfg(any(feature = "server", feature = "rmcp-client"))]
pub use hardline_transport::{CatchPanics, catch_panics};
#[cfg(unix)]
pub use hardline_transport::{ChildEndpoint, process, spawn, spawn_with};
pub use hardline_transport::{Endpoint, EndpointSettings, over, over_with, stdio, stdio_with};
#[cfg(feature = "server")]
pub use hardline_transport::{ServeError, serve, serve_stdio, serve_stdio_with};
pub use hardline_wire::limits::Limits;

/// Compiles the examples of the client page as doctests.
#[cfg(all(doctest, unix, feature = "client"))]
#[doc = include_str!("../../../docs/client.md")]
struct ClientPage;
