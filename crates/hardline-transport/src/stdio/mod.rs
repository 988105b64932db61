//! Standard input and output, as fast as what they are allows.
//!
//! How a stream is read and written depends on what it is:
//! - A pipe is opened again through `/proc/self/fd` (Linux). That gives us an open file of our own, so
//!   that the non-blocking mode we need stays with us: that of the original is shared with whoever
//!   else holds it (`2>&1`, a shell, the parent) and outlives us.
//! - A socket, which is what Node gives its children, is left in the mode it has: each call says for
//!   itself that it will not wait.
//! - Anything else (a terminal, a file, a pipe that cannot be opened again) gets a thread that blocks.

#[cfg(unix)]
mod socket;
#[cfg(unix)]
mod unix;

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::output::Output;

/// Both standard streams, opened.
pub(crate) struct Streams {
    pub(crate) input: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) output: Output,
    /// What can be told of them without reading or writing, where that is possible.
    pub(crate) probes: Option<Probes>,
}

/// Tells something of a stream.
pub(crate) type Probe = Box<dyn Fn() -> bool + Send + Sync>;

/// What can be told of two streams without reading or writing.
pub(crate) struct Probes {
    /// Whether the other side has closed the input. There may still be something to read.
    pub(crate) is_closed: Probe,
    /// Whether nobody reads the output any more.
    pub(crate) is_unread: Probe,
}

/// Standard input and output of this process, for whoever copies bytes and wants no session.
///
/// # Errors
///
/// If a stream is closed, or the system gives no thread.
///
/// # Panics
///
/// If it is called outside of a tokio runtime with I/O enabled.
pub fn standard_streams() -> io::Result<(StandardInput, StandardOutput)> {
    let Streams { input, output, probes } = open()?;
    let (is_closed, is_unread) = match probes {
        Some(Probes { is_closed, is_unread }) => (Some(is_closed), Some(is_unread)),
        None => (None, None),
    };
    Ok((StandardInput(input, is_closed), StandardOutput(output, is_unread)))
}

/// Standard input: see [`standard_streams`].
pub struct StandardInput(Box<dyn AsyncRead + Send + Unpin>, Option<Probe>);

/// Standard output: see [`standard_streams`].
pub struct StandardOutput(Output, Option<Probe>);

impl StandardInput {
    /// Whether the other side has closed it, as far as can be told without reading. There may still be
    /// something to read.
    pub fn is_closed(&self) -> bool {
        self.1.as_ref().is_some_and(|probe| probe())
    }
}

impl StandardOutput {
    /// Whether nobody reads it any more, as far as can be told without writing.
    pub fn is_unread(&self) -> bool {
        self.1.as_ref().is_some_and(|probe| probe())
    }
}

impl AsyncRead for StandardInput {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl AsyncWrite for StandardOutput {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}

impl fmt::Debug for StandardInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StandardInput")
    }
}

impl fmt::Debug for StandardOutput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StandardOutput")
    }
}

/// Opens both.
///
/// # Errors
///
/// If a stream is closed, or the system gives no thread.
#[cfg(unix)]
pub(crate) fn open() -> io::Result<Streams> {
    use std::os::fd::AsFd;

    let (input, output) = (io::stdin(), io::stdout());
    unix::open(input.as_fd(), output.as_fd())
}

/// Opens both.
///
/// # Errors
///
/// If the system gives no thread.
#[cfg(not(unix))]
pub(crate) fn open() -> io::Result<Streams> {
    use crate::input::ThreadReader;
    use crate::output::ThreadWriter;

    Ok(Streams {
        input: Box::new(ThreadReader::start(io::stdin())?),
        output: Output::Thread(ThreadWriter::start(io::stdout())?),
        probes: None,
    })
}
