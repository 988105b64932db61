//! Frames on their way out: proof that the guard inspected each one, or that Hardline wrote it.
//!
//! A [`Sink`](super::Sink) and the outlets of `wrap` accept an [`Outgoing`] and nothing else. Only
//! two constructors are public: from a [`Delivery`], which only the guard creates, and from a
//! [`RelayReply`], which encodes its own text.

use std::borrow::Cow;

use hardline_guard::{Delivery, Direction};
use hardline_wire::encode::{code, push_id, push_json_string, refusal};
use hardline_wire::id::Id;
use hardline_wire::json::{Checker, Value};
use hardline_wire::limits::Limits;

use super::server_ids::Rename;

/// A frame that may be sent: the guard inspected it, or it is a reply of Hardline.
///
/// Bytes that skipped the guard cannot become one:
///
/// ```compile_fail,E0277
/// use hardline_proxy::relay::Sink;
///
/// fn forward(sink: &mut impl Sink, bytes: &[u8]) {
///     sink.send(bytes.into());
/// }
/// ```
///
/// The same with a reply compiles:
///
/// ```
/// use hardline_guard::Direction;
/// use hardline_proxy::Notice;
/// use hardline_proxy::relay::{Outgoing, RelayReply, Sink};
/// use hardline_wire::id::Id;
///
/// fn forward(sink: &mut impl Sink, reply: RelayReply<'_>) {
///     sink.send((Direction::ServerToClient, reply).into());
/// }
///
/// struct Lines(Vec<Vec<u8>>);
///
/// impl Sink for Lines {
///     fn send(&mut self, outgoing: Outgoing<'_>) {
///         self.0.push(outgoing.frame().to_vec());
///     }
///
///     fn notify(&mut self, _: &Notice<'_>) {}
/// }
///
/// let mut sink = Lines(Vec::new());
/// let id = Id::from_integer(7);
/// forward(&mut sink, RelayReply::Cancelled { id: &id, reason: "timeout" });
/// assert!(sink.0[0].starts_with(br#"{"jsonrpc":"2.0","method":"notifications/cancelled""#));
/// ```
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    direction: Direction,
    frame: Cow<'a, [u8]>,
    is_own: bool,
}

/// A message that the relay writes itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RelayReply<'a> {
    /// The error response to a request that gets no answer from its receiver.
    Failure {
        /// Id of the request.
        id: &'a Id<'a>,
        /// Name of the rule, for programs.
        rule: &'a str,
        /// Reason, for people and models.
        reason: &'a str,
    },
    /// The cancellation of a request.
    Cancelled {
        /// Id of the request.
        id: &'a Id<'a>,
        /// Reason, for people.
        reason: &'a str,
    },
    /// The notification that a list has changed.
    ListChanged {
        /// Name of the list's capability, such as `tools`.
        capability: &'a str,
    },
}

/// A frame that the guard inspected, or a reply that it wrote itself.
impl<'a> From<Delivery<'a>> for Outgoing<'a> {
    fn from(delivery: Delivery<'a>) -> Self {
        let is_own = delivery.is_reply();
        Self { direction: delivery.direction, frame: delivery.frame.into_inner(), is_own }
    }
}

/// A reply, with its direction.
impl From<(Direction, RelayReply<'_>)> for Outgoing<'static> {
    fn from((direction, reply): (Direction, RelayReply<'_>)) -> Self {
        Self { direction, frame: Cow::Owned(reply.encode()), is_own: true }
    }
}

impl<'a> Outgoing<'a> {
    /// Returns the direction of the frame.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the frame, without a line end.
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// Returns true if Hardline sends the frame on its own account: a reply, or a message that the
    /// peer did not send just now. Such a frame may flow against the stream that caused it.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Marks the frame as one that the relay sends on its own account.
    pub(super) fn into_own(self) -> Self {
        Self { is_own: true, ..self }
    }

    /// Replaces the id. A frame without one stays as it is.
    pub(super) fn renamed(mut self, rename: &Rename, limits: &Limits) -> Self {
        let find_request = |message: Value<'_>| place(message.get("params")?.get("requestId")?);
        let renamed = match rename {
            Rename::Id(id) => replace_id(&self.frame, id, limits),
            Rename::RequestId(id) => replace(&self.frame, id, limits, find_request),
        };
        if let Some(renamed) = renamed {
            self.frame = Cow::Owned(renamed);
        }
        self
    }
}

impl RelayReply<'_> {
    /// Encodes the message on one line, without a line end.
    fn encode(self) -> Vec<u8> {
        match self {
            Self::Failure { id, rule, reason } => {
                let mut line = refusal(id, code::INTERNAL_ERROR, rule, reason).into_bytes();
                // The sink adds the line end.
                line.pop();
                line
            }
            Self::Cancelled { id, reason } => cancelled(id, reason),
            Self::ListChanged { capability } => {
                let mut line = String::from(r#"{"jsonrpc":"2.0","method":"#);
                let method = format!("notifications/{capability}/list_changed");
                push_json_string(&mut line, &method);
                line.push('}');
                line.into_bytes()
            }
        }
    }
}

fn cancelled(id: &Id<'_>, reason: &str) -> Vec<u8> {
    let mut line = String::from(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#,
    );
    push_id(&mut line, id);
    line.push_str(r#","reason":"#);
    push_json_string(&mut line, reason);
    line.push_str("}}");
    line.into_bytes()
}

/// Encodes a request of the relay for a page of a list. The guard inspects it like any other.
pub(super) fn list_request(id: &Id<'_>, method: &str, cursor: Option<&str>) -> Vec<u8> {
    let mut line = String::from(r#"{"jsonrpc":"2.0","id":"#);
    push_id(&mut line, id);
    line.push_str(r#","method":""#);
    line.push_str(method);
    line.push_str(r#"","params":{"#);
    if let Some(cursor) = cursor {
        line.push_str(r#""cursor":"#);
        push_json_string(&mut line, cursor);
    }
    line.push_str("}}");
    line.into_bytes()
}

/// Replaces the id of a message. Returns `None` if the text has no id.
pub(super) fn replace_id(text: &[u8], id: &Id<'_>, limits: &Limits) -> Option<Vec<u8>> {
    replace(text, id, limits, |message| place(message.get("id")?))
}

fn replace(
    text: &[u8],
    id: &Id<'_>,
    limits: &Limits,
    find: impl FnOnce(Value<'_>) -> Option<(usize, usize)>,
) -> Option<Vec<u8>> {
    let checked = Checker::new(limits).check(text).ok()?;
    let (start, end) = find(checked.value)?;
    let mut written = String::new();
    push_id(&mut written, id);
    Some([text.get(..start)?, written.as_bytes(), text.get(end..)?].concat())
}

/// Returns the start and the end of a value in its text.
fn place(value: Value<'_>) -> Option<(usize, usize)> {
    Some((value.offset(), value.offset() + value.text().len()))
}
