//! Opens two descriptors, each in the way that fits its kind.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use tokio::io::AsyncRead;

use super::socket::Socket;
use super::{Probes, Streams};
use crate::input::ThreadReader;
use crate::output::{Output, ThreadWriter};

/// Opens `input` for reading and `output` for writing. The mode of both stays unchanged.
pub(super) fn open(input: BorrowedFd<'_>, output: BorrowedFd<'_>) -> io::Result<Streams> {
    // The probes need descriptors that outlive the streams.
    let watched = (input.try_clone_to_owned()?, output.try_clone_to_owned()?);
    let (watched_input, watched_output) = watched;
    let probes = Probes {
        is_closed: Box::new(move || is_closed(watched_input.as_fd())),
        is_unread: Box::new(move || is_unread(watched_output.as_fd())),
    };
    Ok(Streams { input: open_input(input)?, output: open_output(output)?, probes: Some(probes) })
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
    // A reopened pipe or a registered socket may be refused; a thread works with any descriptor.
    let file = Patient(File::from(input.try_clone_to_owned()?));
    Ok(Box::new(ThreadReader::start(file)?))
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
    let file = Patient(File::from(output.try_clone_to_owned()?));
    Ok(Output::Thread(ThreadWriter::start(file)?))
}

fn file_type(fd: BorrowedFd<'_>) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// Opens the file behind `fd` again in non-blocking mode, with flags that no other process shares.
#[cfg(target_os = "linux")]
fn reopen(fd: BorrowedFd<'_>, access: rustix::fs::OFlags) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags};

    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    // If `/proc` is not mounted, the path could name a different file.
    let is_same = |left: rustix::fs::Stat, right: rustix::fs::Stat| {
        left.st_dev == right.st_dev && left.st_ino == right.st_ino
    };
    is_same(fstat(&opened).ok()?, fstat(fd).ok()?).then_some(opened)
}

/// Returns true if the other end of a pipe, socket or terminal no longer reads.
fn is_unread(fd: BorrowedFd<'_>) -> bool {
    poll_now(fd, PollFlags::empty()).intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}

/// Returns true if the other end of a pipe, socket or terminal will write no more.
fn is_closed(fd: BorrowedFd<'_>) -> bool {
    #[cfg(target_os = "linux")]
    // For a socket that its peer half-closed, this is the only sign.
    let half = PollFlags::RDHUP;
    #[cfg(not(target_os = "linux"))]
    let half = PollFlags::empty();
    poll_now(fd, half).intersects(half | PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}

fn poll_now(fd: BorrowedFd<'_>, events: PollFlags) -> PollFlags {
    let mut polled = [PollFd::from_borrowed_fd(fd, events)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    // If `poll` fails there are no events, and the stream counts as open.
    let _ = poll(&mut polled, Some(&at_once));
    polled.iter().fold(PollFlags::empty(), |all, it| all | it.revents())
}

/// A file with blocking reads and writes, even if another process that shares it set the
/// non-blocking mode.
struct Patient(File);

impl Patient {
    fn retry<T>(
        &mut self,
        events: PollFlags,
        mut attempt: impl FnMut(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match attempt(&mut self.0) {
                // Another process that shares the file has set it to non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut polled = [PollFd::new(&self.0, events)];
                    match poll(&mut polled, None) {
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                result => return result,
            }
        }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.retry(PollFlags::IN, |file| file.read(buffer))
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retry(PollFlags::OUT, |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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

        let probes = streams.probes.unwrap();
        assert!((probes.is_closed)());
        assert!(!(probes.is_unread)());
        drop(output.0);
        assert!((probes.is_unread)());
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

    #[tokio::test]
    async fn a_peer_that_has_closed_and_does_not_read_is_given_up() {
        use std::time::Duration;

        use hardline_wire::limits::Limits;

        use crate::{Endpoint, EndpointSettings, Role};

        let (input, ours_in) = rustix::pipe::pipe().unwrap();
        let (_ours_out, output) = rustix::pipe::pipe().unwrap();
        let limits = Limits::default().with_max_queue_bytes(1000).unwrap();
        let settings =
            EndpointSettings::default().with_limits(limits).with_grace(Duration::from_millis(200));
        let streams = open(input.as_fd(), output.as_fd()).unwrap();
        let mut connection = Endpoint::over_streams(Role::Server, streams, settings);
        let broken = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\n".repeat(1000);
        let writing = std::thread::spawn(move || {
            let mut ours = File::from(ours_in);
            // Part of it does not fit into the pipe and is never read.
            rustix::io::ioctl_fionbio(&ours, true).unwrap();
            let _ = ours.write(broken.as_bytes());
            let _ = ours.write(broken.as_bytes());
        });
        let receiving = connection.receive_with(|_, _| Ok(()));
        let end = tokio::time::timeout(Duration::from_secs(20), receiving).await;
        assert!(end.expect("it should be given up").is_none());
        writing.join().unwrap();
    }

    #[test]
    fn a_file_in_non_blocking_mode_is_waited_for() {
        let (input, output) = rustix::pipe::pipe().unwrap();
        for end in [&input, &output] {
            rustix::io::ioctl_fionbio(end, true).unwrap();
        }
        let writing = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            Patient(File::from(output)).write_all(&vec![b'x'; 1 << 20]).unwrap();
        });
        let (mut input, mut total) = (Patient(File::from(input)), 0);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match input.read(&mut buffer).unwrap() {
                0 => break,
                length => total += length,
            }
        }
        assert_eq!(total, 1 << 20);
        writing.join().unwrap();
    }
}
