//! A relay between standard input and output and a child process.
//!
//! One task on one thread reads and writes both sides, so there is no hand-over between threads:
//! each line is judged and written in the same turn. Bytes that a peer does not take wait in a
//! buffer. While that buffer is full, the stream that fills it is not read; the other direction
//! continues.
//!
//! Invariants:
//! - The server does not outlive this process, and this process does not outlive the session: see
//!   [`run`].
//! - Each buffer contains at most `max_queue_bytes` and one line.

mod launcher;
mod outlet;
mod phase;
mod process;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hardline_transport::lines::Source;
use hardline_transport::process::{Exit, SpawnError};
use hardline_transport::{Signals, StandardInput, StandardOutput, standard_streams};
use hardline_wire::limits::Limits;
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::notice::Notice;
use crate::relay::{After, Ended, Relay, RelaySettings, StartRefusal};
pub use launcher::Launcher;
use outlet::{Outlet, Outlets};
use phase::Phase;
use process::ServerProcess;

/// Time for the server to answer open requests after the client's input has ended.
const GRACE: Duration = Duration::from_secs(60);
/// The same time after a signal.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);
/// Time for the client to read the last messages at the end of a session.
const LAST_WRITE: Duration = Duration::from_secs(2);
/// Interval of the check for a client that is gone, while its input is not read.
const LOOK: Duration = Duration::from_millis(500);
/// Delay before a timeout that waits for a quiet server is checked again.
const MOMENT: Duration = Duration::from_millis(50);
/// Deadline that stands for "never".
const FAR: Duration = Duration::from_secs(86_400 * 365);

/// Error returned when no session could be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WrapError {
    /// The server cannot be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The launcher refused to start the server.
    #[error("the server is not started, because of {}: {}", .0.rule, .0.reason)]
    Refused(StartRefusal),
    /// Standard input or output cannot be used.
    #[error("cannot use standard input and output: {0}")]
    Streams(io::Error),
    /// The process cannot listen for signals.
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
}

/// Outcome of a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SessionOutcome {
    /// The server exited with this code. A server killed by a signal has the code 128 plus its
    /// number.
    Server(i32),
    /// This process received this signal.
    Signal(i32),
    /// The session was closed by the policy, by a server that wanted another version, or by a
    /// client that could not be written to.
    Closed,
}

/// Observer of a session.
pub trait Observer {
    /// Receives an event. `now` is the time since the start of the session.
    fn notify(&mut self, now: Duration, notice: &Notice<'_>);

    /// Returns true if the observer wants a notice for every line.
    fn wants_lines(&self) -> bool {
        false
    }
}

/// Runs a session between standard input and output and a server, to its end.
///
/// When the client's input ends, the server has a minute to answer open requests. Then its input is
/// closed, and it is killed if it does not exit. After SIGTERM, SIGINT or SIGHUP it has one second,
/// and after a second signal none. `launcher` is called for every start and restart. `observer`
/// receives all events.
///
/// # Errors
///
/// [`WrapError`] if the session cannot be started.
///
/// # Panics
///
/// If called outside of a tokio runtime with I/O and time enabled.
pub async fn run(
    settings: RelaySettings,
    launcher: &mut dyn Launcher,
    observer: &mut dyn Observer,
) -> Result<SessionOutcome, WrapError> {
    let relay = Relay::new(settings);
    let limits = relay.limits().clone();
    // The first start is checked before the streams are touched: a refusal is reported as an error.
    let server = start_server(launcher, &limits, Duration::ZERO)?;
    let (input, output) = standard_streams().map_err(WrapError::Streams)?;
    let signals = Signals::listen().map_err(WrapError::Signals)?;
    let started = Instant::now();
    let mut driver = Driver {
        relay,
        client: Client {
            input: Source::new(input, &limits),
            output: Outlet::new(output),
            max_bytes: limits.max_queue_bytes(),
            held_since: None,
        },
        server,
        launcher,
        is_refused: false,
        signals,
        phase: Phase::Running,
        restart_at: None,
        signal: None,
        last_exit: None,
        has_heard: false,
        outcome: None,
        started,
        timer: Box::pin(sleep_until(started + FAR)),
        due: FAR,
    };
    Ok(poll_fn(|context| driver.poll(context, observer)).await)
}

/// Starts the server. The launcher is asked for every start, so that a changed program or policy takes
/// effect.
fn start_server(
    launcher: &mut dyn Launcher,
    limits: &Limits,
    now: Duration,
) -> Result<Option<ServerProcess>, WrapError> {
    let command = launcher.launch(now)?;
    Ok(ServerProcess::start(&command, limits, now)?)
}

/// Result of reading from the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Read {
    Something,
    /// There is nothing to read.
    Nothing,
    /// Not read, because the buffer for its output is full.
    Unread,
}

struct Driver<'a> {
    relay: Relay,
    client: Client,
    server: Option<ServerProcess>,
    launcher: &'a mut dyn Launcher,
    /// True if the launcher refused the last start.
    is_refused: bool,
    signals: Signals,
    phase: Phase,
    restart_at: Option<Duration>,
    signal: Option<i32>,
    last_exit: Option<Exit>,
    /// True once a server has written something. A server that could not be started never does.
    has_heard: bool,
    /// Reason for the end of the session, unless the server's end is the reason.
    outcome: Option<SessionOutcome>,
    started: Instant,
    timer: Pin<Box<Sleep>>,
    due: Duration,
}

struct Client {
    input: Source<StandardInput>,
    output: Outlet<StandardOutput>,
    max_bytes: usize,
    /// Time since which its input is not read, because a buffer is full.
    held_since: Option<Duration>,
}

impl Client {
    /// Returns true if the client is gone although its input is not read. A client that has only
    /// closed its output may wait for answers; it has the usual grace period.
    fn is_gone(&self, now: Duration) -> bool {
        let Some(since) = self.held_since else { return false };
        self.output.writer().is_unread() || since + GRACE <= now && self.input.reader().is_closed()
    }
}

impl Driver<'_> {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        observer: &mut dyn Observer,
    ) -> Poll<SessionOutcome> {
        loop {
            let now = self.started.elapsed();
            self.listen(now, context);
            let mut has_moved = self.read_client(now, context, observer);
            let read = self.read_server(now, context, observer);
            // Loops until nothing moves, because a waker is registered only by a pending poll.
            has_moved |= read == Read::Something;
            has_moved |= self.poll_server_end(now, context, observer);
            has_moved |= self.keep_time(now, read == Read::Nothing, context, observer);
            self.write(now, context);
            self.perform_action(now, context, observer);
            if let Some(outcome) = self.advance(now, context, observer) {
                return Poll::Ready(outcome);
            }
            if !has_moved {
                return Poll::Pending;
            }
        }
    }

    /// Reads from the client, unless a buffer for its messages is full.
    fn read_client(
        &mut self,
        now: Duration,
        context: &mut Context<'_>,
        observer: &mut dyn Observer,
    ) -> bool {
        let Self { relay, client, server, .. } = self;
        let mut server = server.as_mut().and_then(|server| server.input.as_mut());
        let waiting = server.as_ref().map_or(0, |server| server.waiting());
        // Replies to this client count too: a client that reads no replies must not cause more.
        let is_full = client.max_bytes <= waiting.max(client.output.waiting_own());
        client.held_since = is_full.then(|| client.held_since.unwrap_or(now));
        if self.phase != Phase::Running || client.input.is_ended() || is_full {
            return false;
        }
        let (input, output) = (&mut client.input, &mut client.output);
        let polled = input.poll_lines(context, |line, context| {
            let server = server.as_deref_mut();
            let mut sink = Outlets { client: output, server, context, observer, now };
            relay.handle_client(line, now, &mut sink);
        });
        polled.is_ready()
    }

    /// Reads from the server, unless a buffer for its messages is full.
    fn read_server(
        &mut self,
        now: Duration,
        context: &mut Context<'_>,
        observer: &mut dyn Observer,
    ) -> Read {
        let Self { relay, client, server, .. } = self;
        let Some(ServerProcess { input, output, .. }) = server else { return Read::Nothing };
        let mut input = input.as_mut();
        let max_bytes = client.max_bytes;
        let is_deaf = input.as_mut().is_some_and(|it| it.wait_for_reader(max_bytes, now));
        if output.is_ended() {
            return Read::Nothing;
        }
        // The client does not read, or the server does not read our replies: its output can wait.
        if is_deaf || client.output.waiting() >= max_bytes {
            return Read::Unread;
        }
        let to_client = &mut client.output;
        let polled = output.poll_lines(context, |line, context| {
            let server = input.as_deref_mut();
            let mut sink = Outlets { client: to_client, server, context, observer, now };
            relay.handle_server(line, now, &mut sink);
        });
        // Its process may live on for a moment; requests must already wait for the next server.
        if output.is_ended() {
            relay.handle_server_silence();
        } else if let Poll::Ready(lines) = polled {
            relay.handle_server_bytes(output.unfinished(), lines > 0, now);
        }
        let is_something = polled.is_ready();
        self.has_heard |= is_something && !output.is_ended();
        if is_something { Read::Something } else { Read::Nothing }
    }

    /// Checks whether the server has ended.
    fn poll_server_end(
        &mut self,
        now: Duration,
        context: &mut Context<'_>,
        observer: &mut dyn Observer,
    ) -> bool {
        let Some(server) = &mut self.server else { return false };
        let Poll::Ready(exit) = server.poll_end(context) else {
            // A server whose streams are closed cannot take part in the session any more.
            let is_deaf = server.input.as_ref().is_some_and(|input| input.is_broken());
            let is_mute = server.output.is_ended() || is_deaf;
            if !is_mute || server.is_closing() {
                return false;
            }
            let written_at = server.written_at;
            // The end of the process may come much later than the end of its streams.
            self.server = self.server.take().map(ServerProcess::close);
            if is_deaf {
                let client = &mut self.client.output;
                let mut sink = Outlets { client, server: None, context, observer, now };
                self.relay.handle_server_deafness(written_at, &mut sink);
            }
            return true;
        };
        self.server = None;
        // Shells and `env` exit with 126 or 127 if they cannot run the command. A retry is useless.
        let is_unstartable = !self.has_heard && matches!(exit.code(), Some(126 | 127));
        if is_unstartable {
            self.outcome.get_or_insert(SessionOutcome::Server(127));
        }
        let may_restart =
            self.phase == Phase::Running && !self.client.output.is_broken() && !is_unstartable;
        let ended = Ended::new(exit.summary(), exit.is_success());
        let ended = ended.with_stderr_excerpt(exit.stderr_tail());
        // Before the end of the server, so that the log explains why it ended.
        if exit.is_keeper_lost() {
            observer.notify(now, &Notice::KeeperLost);
        }
        let mut sink =
            Outlets { client: &mut self.client.output, server: None, context, observer, now };
        match self.relay.handle_server_end(&ended, may_restart, now, &mut sink) {
            After::Start(at) => self.restart_at = Some(at),
            After::End => self.phase = Phase::Leaving(now + LAST_WRITE),
        }
        // The signal or the exit code of the last server decides the exit code of this process.
        self.last_exit = Some(exit);
        true
    }

    /// Handles all timeouts that are due, and sets the timer for the next one.
    fn keep_time(
        &mut self,
        now: Duration,
        is_quiet: bool,
        context: &mut Context<'_>,
        observer: &mut dyn Observer,
    ) -> bool {
        let mut has_moved = false;
        if self.relay.poll_timeout().is_some_and(|due| due <= now) {
            let is_quiet = is_quiet && !self.server.as_ref().is_some_and(ServerProcess::has_bytes);
            let Self { relay, client, server, .. } = self;
            let server = server.as_mut().and_then(|server| server.input.as_mut());
            let mut sink = Outlets { client: &mut client.output, server, context, observer, now };
            relay.handle_timeout(now, is_quiet, &mut sink);
            // Loops again: with nothing to read, the work that waits for quiet has its turn.
            has_moved = is_quiet;
        }
        if self.restart_at.is_some_and(|at| at <= now) && self.phase == Phase::Running {
            self.restart_at = None;
            self.start(now, context, observer);
            has_moved = true;
        }
        let phase = match self.phase {
            Phase::Draining(until) | Phase::Leaving(until) => Some(until),
            Phase::Running | Phase::Closing => None,
        };
        // No event reports that a client is gone while its input is not read, so it is polled.
        let look = self.client.held_since.map(|_| now + LOOK);
        let input = self.server.as_ref().and_then(|server| server.input.as_ref());
        let unread = input.and_then(Outlet::end_of_wait).filter(|it| *it > now);
        let all = [self.relay.poll_timeout(), self.restart_at, phase, look, unread];
        let due = all.into_iter().flatten().min().unwrap_or(FAR);
        // A timeout that is due but waits for quiet is checked again on the next event or soon.
        let due = if due <= now { now + MOMENT } else { due };
        if due != self.due {
            self.due = due;
            self.timer.as_mut().reset(self.started + due);
        }
        has_moved | self.timer.as_mut().poll(context).is_ready()
    }

    /// Restarts the server.
    fn start(&mut self, now: Duration, context: &mut Context<'_>, observer: &mut dyn Observer) {
        let limits = self.relay.limits().clone();
        let started = start_server(self.launcher, &limits, now);
        self.is_refused = matches!(started, Err(WrapError::Refused(_)));
        let Self { relay, client, server, .. } = self;
        let failed = match started {
            Ok(started) => {
                *server = started;
                None
            }
            Err(error) => Some(error),
        };
        let server = server.as_mut().and_then(|server| server.input.as_mut());
        let mut sink = Outlets { client: &mut client.output, server, context, observer, now };
        let after = match failed {
            None => return relay.handle_server_start(now, &mut sink),
            Some(WrapError::Refused(refused)) => {
                relay.handle_server_refused(refused, now, &mut sink)
            }
            Some(error) => {
                let ended = Ended::new(format!("could not be restarted: {error}"), false);
                relay.handle_server_end(&ended, true, now, &mut sink)
            }
        };
        match after {
            After::Start(at) => self.restart_at = Some(at),
            After::End => self.phase = Phase::Leaving(now + LAST_WRITE),
        }
    }

    /// Writes waiting bytes to both peers.
    fn write(&mut self, now: Duration, context: &mut Context<'_>) {
        let _ = self.client.output.poll_drain(context);
        let Some(server) = &mut self.server else { return };
        let Some(input) = &mut server.input else { return };
        if input.poll_drain(context).is_ready() && !input.is_broken() {
            // Requests that were sent after this moment may never have reached the server.
            server.written_at = now;
        }
    }
}
