//! A socket whose mode is not ours to change.
//!
//! Whether calls on it wait is a property of the open socket, and others may hold it too: a wrapper
//! that started us with its own standard streams, for one. So it is left alone, and every call says
//! for itself that it does not want to wait.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Debug)]
pub(super) struct Socket {
    fd: AsyncFd<OwnedFd>,
}

impl Socket {
    /// Wraps a socket. Must be called inside a runtime.
    #[expect(
        deprecated,
        reason = "the other way is `unsafe` for what is not sure to keep its descriptor; `OwnedFd` is"
    )]
    pub(super) fn new(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self { fd: AsyncFd::new(fd)? })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.fd.poll_read_ready(context))?;
            let space = buffer.initialize_unfilled();
            let attempt = ready.try_io(|fd| Ok(recv(fd.get_ref(), space, RecvFlags::DONTWAIT)?.0));
            match attempt {
                Ok(Ok(length)) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // Rust's runtime ignores SIGPIPE, so a closed peer is an error and not our death.
        let flags = SendFlags::DONTWAIT;
        loop {
            let mut ready = ready!(self.fd.poll_write_ready(context))?;
            match ready.try_io(|fd| Ok(send(fd.get_ref(), bytes, flags)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return Poll::Ready(result),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Leaves the socket open: whoever shares it may still use it.
    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
