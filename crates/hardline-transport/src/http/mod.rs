//! Client transports over HTTP.
//!
//! [`Streamable`] implements Streamable HTTP, 2025-03-26 and later. [`Sse`] implements the older
//! HTTP+SSE of 2024-11-05: an event stream and a separate address for messages. Both are a
//! [`Transport`](crate::client::Transport), created from [`HttpSettings`].
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use hardline_transport::client::{OutgoingRequest, Transport};
//! use hardline_transport::http::{HttpSettings, Headers, Streamable};
//!
//! let headers = Headers::new().with("Authorization", "Bearer …")?;
//! let settings = HttpSettings::new("https://example.com/mcp")?.with_headers(headers);
//! let server = Streamable::new(settings)?;
//! let text = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
//! let answer = server.request(OutgoingRequest::new(1, "ping", text)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - Every body, event, wait and number of attempts has a limit. Exceeding it fails the request
//!   that it belongs to, and no other.
//! - A message that the server may have processed is never sent again.
//! - Headers go only to the origin of the configured address (scheme, host and port).
//! - Bytes from a peer are escaped and shortened in every error; addresses are shown without user,
//!   password and query.
//! - No task keeps running after a transport is dropped.

mod body;
mod classify;
mod client;
mod doubt;
mod error;
mod event_queue;
mod event_stream;
mod exchange;
mod header_source;
mod link;
mod listener;
mod pending;
mod reconnect;
mod redirect;
mod resume;
mod retry_after;
mod session;
mod settings;
mod sse;
mod streamable;

pub use client::{client_builder, plain_client_builder};
pub use header_source::{HeaderRefusal, HeaderSource, Next, Target};
pub use settings::{Headers, HttpSettings, HttpSettingsError};
pub use sse::Sse;
pub use streamable::Streamable;
