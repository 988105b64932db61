//! A socket whose blocking mode must not change.
//!
//! The mode belongs to the open socket, which other processes may share, such as a wrapper that
//! started us with its own standard streams. So the mode stays unchanged, and every call passes a
//! flag that asks not to block.

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
    /// Wraps a socket. Must be called inside a tokio runtime.
    #[expect(
        deprecated,
        reason = "the replacement is `unsafe` because a type may not keep its descriptor; `OwnedFd` does"
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
                // The readiness was stale; `try_io` has cleared it, so wait again.
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
        // Rust's runtime ignores SIGPIPE, so a closed peer causes an error and does not kill us.
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

    /// Leaves the socket open, because other processes may still use it.
    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
