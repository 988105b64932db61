//! What a joiner has to say.

use hardline_wire::id::Id;

use crate::finding::Finding;
use crate::session::Reply;

/// What comes of lines that were held.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum JoinEvent {
    /// Something was found.
    Found {
        /// What it is. Its place counts from the start of the first line that was held, in the bytes
        /// as they came, line ends included.
        finding: Finding,
        /// Where that line starts, in bytes from the start of the stream.
        start: u64,
    },
    /// One message, put together from several lines.
    Joined(Joined),
    /// A request of the client gets this error: its answer cannot be used, or was among the lines.
    Failed(Reply),
    /// A request of the server cannot be used, and gets this error.
    Refused(Reply),
    /// An answer was lost, and nothing tells which request it was for.
    Lost,
}

/// One message, put together from several lines. To be judged like any line.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Joined {
    /// The message, without a line end.
    pub text: Vec<u8>,
    /// The id of the pending request that it answers.
    pub id: Id<'static>,
    /// Whether one of the lines was a whole message by itself, which is now text inside this one.
    pub has_planted: bool,
    /// True if its first line has nothing but brackets, as where a server formats messages for people.
    pub is_pretty: bool,
    /// Where its first line starts, in bytes from the start of the stream.
    pub offset: u64,
}
