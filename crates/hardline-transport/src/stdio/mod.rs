//! Standard input and output, each read and written in the fastest way that its kind allows.
//!
//! - A pipe is opened again through `/proc/self/fd` (Linux). This creates a separate open file
//!   description, so that the non-blocking mode that we need stays private. The mode of the
//!   original is shared with every process that holds it (`2>&1`, a shell, the parent) and outlives
//!   this process.
//! - A socket, which Node gives its children, keeps its mode: each call asks not to block.
//! - Anything else (a terminal, a file, a pipe that cannot be opened again) gets a blocking thread.

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

/// The opened standard streams.
pub(crate) struct Streams {
    pub(crate) input: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) output: Output,
    /// Checks on the streams that need no reading or writing, where the system has them.
    pub(crate) probes: Option<Probes>,
}

/// Checks a condition of a stream.
pub(crate) type Probe = Box<dyn Fn() -> bool + Send + Sync>;

/// Checks on two streams that need no reading or writing.
pub(crate) struct Probes {
    /// Returns true if the peer closed the input. There may still be bytes to read.
    pub(crate) is_closed: Probe,
    /// Returns true if no process reads the output any more.
    pub(crate) is_unread: Probe,
}

/// Opens standard input and output of this process, for programs that copy bytes without a session.
///
/// # Errors
///
/// If a stream is closed, or the system cannot start a thread.
///
/// # Panics
///
/// If called outside of a tokio runtime with I/O enabled.
pub fn standard_streams() -> io::Result<(StandardInput, StandardOutput)> {
    let Streams { input, output, probes } = open()?;
    // Each half gets its own probe, because the halves are used separately.
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
    /// Returns true if the peer closed the stream, as far as known without reading. There may still
    /// be bytes to read.
    pub fn is_closed(&self) -> bool {
        self.1.as_ref().is_some_and(|probe| probe())
    }
}

impl StandardOutput {
    /// Returns true if no process reads the stream any more, as far as known without writing.
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

/// Opens both standard streams.
///
/// # Errors
///
/// If a stream is closed, or the system cannot start a thread.
#[cfg(unix)]
pub(crate) fn open() -> io::Result<Streams> {
    use std::os::fd::AsFd;

    let (input, output) = (io::stdin(), io::stdout());
    unix::open(input.as_fd(), output.as_fd())
}

/// Opens both standard streams.
///
/// # Errors
///
/// If the system cannot start a thread.
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
