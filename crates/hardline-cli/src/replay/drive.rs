//! Runs the server process and connects it with a [`Player`].

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hardline_transport::Signals;
use hardline_transport::process::{Child, Command, Exit};
use hardline_wire::limits::Limits;
use hardline_wire::line::LineFramer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, sleep_until, timeout};

use super::player::Player;
use super::report::Report;

const CHUNK: usize = 64 << 10;
/// Time limit for the rest of the output after the server has ended.
const DRAIN_TIME: Duration = Duration::from_millis(500);
/// Time that a server gets to exit after it has closed its output.
const EXIT_TIME: Duration = Duration::from_secs(1);

/// Outcome of a replay.
pub(super) enum Outcome {
    Played(Report),
    /// A signal ended the replay.
    Signal(i32),
}

/// Next event of the pipes.
enum Next {
    Wrote(io::Result<usize>),
    Read(usize),
    Time,
    Signal(i32),
}

/// Pipes to the server.
struct Pipes {
    stdin: Option<Sender>,
    stdout: Receiver,
    framer: LineFramer,
    buffer: Vec<u8>,
    began: Instant,
    /// True once the server has written something.
    has_spoken: bool,
}

/// Starts the server, replays the session, and ends the server.
pub(super) async fn play(
    command: &Command,
    limits: &Limits,
    mut player: Player<'_>,
) -> Result<Outcome> {
    // Before the start, so that no signal is lost while the server starts.
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let mut child = command.spawn()?;
    // The command has pipes, so this cannot fail in practice.
    let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
        bail!("the server has no standard streams");
    };
    let mut pipes = Pipes {
        stdin: Some(stdin),
        stdout,
        framer: LineFramer::new(limits),
        buffer: vec![0; CHUNK],
        began: Instant::now(),
        has_spoken: false,
    };
    let is_gone = match pipes.converse(&mut player, &mut signals).await {
        Ok(is_gone) => is_gone,
        Err(number) => {
            child.kill();
            child.close().await;
            return Ok(Outcome::Signal(number));
        }
    };
    // Asked before closing, which would end the server itself.
    let early = if is_gone { Some(end_of(&child).await) } else { None };
    let has_spoken = pipes.has_spoken;
    let exit = match pipes.close(child, &mut player, &mut signals).await {
        Ok(exit) => exit,
        Err(number) => return Ok(Outcome::Signal(number)),
    };
    // A shell reports a missing command with these codes.
    if is_gone && !has_spoken && matches!(exit.code(), Some(126 | 127)) {
        bail!("the server cannot be started: it {exit}");
    }
    Ok(Outcome::Played(player.finish(early.as_deref())))
}

/// Describes the end of a server that no longer reads or writes.
async fn end_of(child: &Child) -> String {
    match timeout(EXIT_TIME, child.wait()).await {
        Ok(exit) => exit.to_string(),
        Err(_) => "does not read any more, or closed its standard output".to_owned(),
    }
}

impl Pipes {
    /// Sends the lines of the script and reads the answers, until both are done. Returns true if
    /// the server ended early, or the signal that ended the replay.
    async fn converse(
        &mut self,
        player: &mut Player<'_>,
        signals: &mut Signals,
    ) -> Result<bool, i32> {
        // Time of the server's last progress in reading or writing.
        let mut moved = Duration::ZERO;
        // Line being written, and the number of bytes written so far.
        let mut saying: (Cow<'_, [u8]>, usize) = (Cow::default(), 0);
        loop {
            // The previous line is written completely.
            if saying.0.len() <= saying.1 {
                let now = self.began.elapsed();
                player.handle_timeout(now);
                match player.poll_send(now) {
                    Some(mut line) => {
                        line.to_mut().push(b'\n');
                        (saying, moved) = ((line, 0), now);
                    }
                    None if player.is_done() => return Ok(false),
                    None => {}
                }
            }
            let rest = saying.0.get(saying.1..).unwrap_or_default();
            let is_writing = !rest.is_empty();
            let until =
                if is_writing { Some(moved + player.patience()) } else { player.poll_timeout() };
            match self.next(rest, until, signals).await {
                Next::Wrote(Ok(length)) => {
                    moved = self.began.elapsed();
                    saying.1 += length;
                }
                // A closed pipe in either direction ends the replay early.
                Next::Wrote(Err(_)) | Next::Read(0) => return Ok(true),
                Next::Read(length) => {
                    (moved, self.has_spoken) = (self.began.elapsed(), true);
                    self.hear(length, player);
                }
                // A write that makes no progress in time means that the server does not read.
                Next::Time if is_writing => return Ok(true),
                Next::Time => {}
                Next::Signal(number) => return Err(number),
            }
        }
    }

    /// Waits for the first of: a write, a read, the deadline, a signal.
    async fn next(&mut self, rest: &[u8], until: Option<Duration>, signals: &mut Signals) -> Next {
        let until = until.map(|until| self.began + until);
        let Self { stdin, stdout, buffer, .. } = self;
        let write = async {
            match stdin {
                Some(stdin) if !rest.is_empty() => stdin.write(rest).await,
                _ => std::future::pending().await,
            }
        };
        let time = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            number = std::future::poll_fn(|context| signals.poll_recv(context)) => Next::Signal(number),
            outcome = stdout.read(buffer) => Next::Read(outcome.unwrap_or(0)),
            outcome = write => Next::Wrote(outcome),
            () = time => Next::Time,
        }
    }

    fn hear(&mut self, length: usize, player: &mut Player<'_>) {
        let now = self.began.elapsed();
        let mut chunk = self.buffer.get(..length).unwrap_or_default();
        while let Some(line) = self.framer.next_line(&mut chunk) {
            player.handle_line(&line, now);
        }
    }

    /// Ends the server, and handles its output until it is gone. Returns the signal that ended the
    /// replay, if there was one.
    async fn close(
        mut self,
        child: Child,
        player: &mut Player<'_>,
        signals: &mut Signals,
    ) -> Result<Exit, i32> {
        // The end of its input tells the server to exit.
        self.stdin = None;
        let mut closing = std::pin::pin!(child.close());
        let mut has_ended = false;
        let exit = loop {
            tokio::select! {
                exit = &mut closing => break exit,
                next = self.next(&[], None, signals), if !has_ended => match next {
                    Next::Read(0) => has_ended = true,
                    Next::Read(length) => self.hear(length, player),
                    Next::Signal(number) => return Err(number),
                    Next::Wrote(_) | Next::Time => {}
                },
            }
        };
        // A descendant may still hold the pipe open, so the rest has a deadline.
        while let Ok(Ok(length @ 1..)) =
            timeout(DRAIN_TIME, self.stdout.read(&mut self.buffer)).await
        {
            self.hear(length, player);
        }
        // The last line may lack its line end.
        if let Some(line) = self.framer.finish() {
            player.handle_line(&line, self.began.elapsed());
        }
        Ok(exit)
    }
}
