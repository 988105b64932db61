//! Keeps MCP connections alive and honest.
//!
//! This is the front door for library users. The crates behind it can be used on their own:
//! [`transport`] (sessions over standard streams and sockets, child processes) and [`wire`] (framing,
//! strict JSON, messages: no I/O at all).
//!
//! # A server
//!
//! With [rmcp](https://docs.rs/rmcp) it is one line: [`stdio()`] in place of rmcp's own.
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

pub use hardline_transport as transport;
pub use hardline_wire as wire;

pub use hardline_transport::{Config, Connection, over, over_with, stdio, stdio_with};
