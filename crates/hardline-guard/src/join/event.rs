//! The events of a joiner.

use hardline_wire::id::Id;

use crate::finding::Finding;
use crate::session::Reply;

/// An event about held lines.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum JoinEvent {
    /// A finding.
    Found {
        /// The finding. Its position counts from the start of the first held line, line ends
        /// included.
        finding: Finding,
        /// Offset of that line in the stream, in bytes.
        start: u64,
    },
    /// One message, joined from several lines.
    Joined(Joined),
    /// A request of the client gets this reply: its answer cannot be used, or was among the lines.
    Failed(Reply),
    /// A request of the server cannot be used, and gets this reply.
    Refused(Reply),
    /// An answer was lost, and its request is not known.
    Lost,
    /// An answer on several lines that no request waits for.
    Unawaited {
        /// Id of the answer.
        id: Id<'static>,
        /// The answer, without a line end.
        text: Vec<u8>,
    },
    /// A value that the server printed on several lines: no message, but it may show an answer.
    Printed {
        /// The lines.
        text: Vec<u8>,
        /// False if the value has no end.
        is_whole: bool,
    },
}

/// One message, joined from several lines. Judge it like any line.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Joined {
    /// The message, without a line end.
    pub text: Vec<u8>,
    /// Id of the pending request that it answers.
    pub id: Id<'static>,
    /// Set if one of the lines was a whole message, which is now text inside this one.
    pub has_planted: bool,
    /// True if its first line has nothing but brackets, as where a server formats messages for people.
    pub is_pretty: bool,
    /// Offset of its first line in the stream, in bytes.
    pub offset: u64,
}
