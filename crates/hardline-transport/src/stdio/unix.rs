//! Opening two descriptors, each in the way that fits it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use tokio::io::AsyncRead;

use super::Streams;
use super::socket::Socket;
use crate::input::ThreadReader;
use crate::output::{Output, ThreadWriter};

/// Opens `input` for reading and `output` for writing. Both stay as they are.
pub(super) fn open(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<Streams> {
    let watched = output.try_clone_to_owned()?;
    Ok(Streams {
        input: open_input(input)?,
        output: open_output(output)?,
        is_unread: Some(Box::new(move || is_unread(watched.as_fd()))),
    })
}

fn open_input(input: BorrowedFd<'_>) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    match file_type(input)? {
        #[cfg(target_os = "linux")]
        FileType::Fifo => {
            if let Some(pipe) = reopen(input, rustix::fs::OFlags::RDONLY)
                && let Ok(pipe) = tokio::net::unix::pipe::Receiver::from_owned_fd(pipe)
            {
                return Ok(Box::new(pipe));
            }
        }
        FileType::Socket => {
            if let Ok(socket) = Socket::new(input.try_clone_to_owned()?) {
                return Ok(Box::new(socket));
            }
        }
        _ => {}
    }
    Ok(Box::new(ThreadReader::start(File::from(input.try_clone_to_owned()?))?))
}

fn open_output(output: BorrowedFd<'_>) -> io::Result<Output> {
    match file_type(output)? {
        #[cfg(target_os = "linux")]
        FileType::Fifo => {
            if let Some(pipe) = reopen(output, rustix::fs::OFlags::WRONLY)
                && let Ok(pipe) = tokio::net::unix::pipe::Sender::from_owned_fd(pipe)
            {
                return Ok(Output::Async(Box::new(pipe)));
            }
        }
        FileType::Socket => {
            if let Ok(socket) = Socket::new(output.try_clone_to_owned()?) {
                return Ok(Output::Async(Box::new(socket)));
            }
        }
        _ => {}
    }
    let file = File::from(output.try_clone_to_owned()?);
    Ok(Output::Thread(ThreadWriter::start(file)?))
}

fn file_type(fd: BorrowedFd<'_>) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// Opens what `fd` is open on once more, in non-blocking mode, with flags that nobody else shares.
#[cfg(target_os = "linux")]
fn reopen(fd: BorrowedFd<'_>, access: rustix::fs::OFlags) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags};

    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    // The path could be something else if no such file system is mounted there.
    let is_same = |left: rustix::fs::Stat, right: rustix::fs::Stat| {
        left.st_dev == right.st_dev && left.st_ino == right.st_ino
    };
    is_same(fstat(&opened).ok()?, fstat(fd).ok()?).then_some(opened)
}

/// Whether the other end of a pipe, socket or terminal is closed for what we write.
fn is_unread(fd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    poll(&mut polled, Some(&at_once)).is_ok()
        && polled.iter().any(|it| it.revents().intersects(gone))
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use rustix::fs::{OFlags, fcntl_getfl};
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn check(input: (OwnedFd, OwnedFd), output: (OwnedFd, OwnedFd)) {
        let flags = |fd: &OwnedFd| fcntl_getfl(fd).unwrap();
        let before = (flags(&input.0), flags(&output.1));
        let mut streams = open(input.0.as_fd(), output.1.as_fd()).unwrap();
        assert_eq!((flags(&input.0), flags(&output.1)), before);
        assert!(!before.0.contains(OFlags::NONBLOCK));

        rustix::io::write(&input.1, b"there").unwrap();
        drop(input.1);
        let mut text = String::new();
        streams.input.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "there");

        let (_, written) = streams.output.write_all(b"and back".to_vec()).await;
        written.unwrap();
        let mut text = [0; 16];
        let length = rustix::io::read(&output.0, &mut text).unwrap();
        assert_eq!(&text[..length], b"and back");

        let is_unread = streams.is_unread.unwrap();
        assert!(!is_unread());
        drop(output.0);
        assert!(is_unread());
    }

    #[tokio::test]
    async fn pipes_work_and_keep_their_mode() {
        let pipe = || rustix::pipe::pipe().unwrap();
        check(pipe(), pipe()).await;
    }

    #[tokio::test]
    async fn sockets_work_and_keep_their_mode() {
        let pair = || {
            let (left, right) = std::os::unix::net::UnixStream::pair().unwrap();
            (OwnedFd::from(left), OwnedFd::from(right))
        };
        check(pair(), pair()).await;
    }

    #[tokio::test]
    async fn a_file_is_read_by_a_thread() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let mut input = open_input(File::open(path).unwrap().as_fd()).unwrap();
        let mut text = String::new();
        input.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, std::fs::read_to_string(path).unwrap());
    }
}
