//! The sans-IO core of Hardline: framing, parsing and encoding of the Model Context Protocol. It
//! reads no pipe, never asks the time and makes no policy decision.
//!
//! Bytes go in, facts come out:
//!
//! | module | takes | gives |
//! |---|---|---|
//! | [`mod@line`] | chunks of a pipe | lines, overlong ones reported once |
//! | [`sse`] | chunks of an event stream | events; and back |
//! | [`json`] | a text | proof that every parser finds the same structure in it, and its envelope |
//! | [`message`], [`id`] | an envelope | a request, notification, response or error |
//! | [`batch`] | an array | its elements, each on its own |
//! | [`frame`] | a line | the message or batch on it, or the reason why there is none |
//! | [`recover`] | a line that is not a message | the ids that wait for an answer |
//! | [`encode`] | an id and an outcome | a reply on one line |
//! | [`header`] | a 2026-07-28 request | its HTTP headers, created or compared |
//! | [`version`], [`method`] | a name | its senders, versions and capabilities |
//! | [`mistyped`] | an answer whose id has the wrong type | the id that was probably meant |
//! | [`limits`] | – | every bound, with its reason |
//! | [`token_bucket`], [`backoff`] | a time, a number of failures | a rate limit, a delay |
//! | [`excerpt`] | bytes from a peer | the same, safe for a terminal |
//!
//! No input makes this crate panic, recurse, block or grow without a bound. Cost is linear in the
//! bytes.
//!
//! ```
//! use hardline_wire::frame::{Decoder, Frame};
//! use hardline_wire::limits::Limits;
//! use hardline_wire::line::LineFramer;
//! use hardline_wire::recover::recover;
//!
//! let limits = Limits::default();
//! let mut framer = LineFramer::new(&limits);
//! let mut decoder = Decoder::new(&limits);
//! let mut chunk: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\
//!     {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",}\n";
//!
//! let first = framer.next_line(&mut chunk).unwrap();
//! let Ok(Frame::Message(message, _)) = decoder.decode(first.whole().unwrap()) else { panic!() };
//! assert_eq!(message.method(), Some("ping"));
//!
//! // The second line is broken, and still its caller gets an answer.
//! let second = framer.next_line(&mut chunk).unwrap();
//! let text = second.whole().unwrap();
//! let refusal = decoder.decode(text).unwrap_err();
//! assert_eq!(refusal.to_string(), "expected a key in double quotes at byte 40");
//! let lost = recover(text, second.ending(), &limits).next().unwrap();
//! assert_eq!(lost.id.unwrap().as_i64(), Some(2));
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backoff;
pub mod batch;
pub mod encode;
pub mod excerpt;
pub mod frame;
pub mod header;
pub mod id;
pub mod json;
pub mod limits;
pub mod line;
pub mod message;
pub mod method;
pub mod mistyped;
pub mod recover;
pub mod single_line;
pub mod splice;
pub mod sse;
pub mod token_bucket;
pub mod version;

/// The examples of the page for library users, compiled and run with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
