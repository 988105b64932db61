//! SIGTERM and SIGINT: work in flight gets a grace period, then the process ends.
//!
//! One thread listens for the whole process, so that a signal is received while the runtime is
//! busy. The first signal is passed to all listening connections. If the process still runs after
//! the longest of their grace periods plus one second, or a second signal arrives, the signal's
//! default action ends it. If no connection listens any more, the first signal does so at once.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;
use signal_hook::low_level::emulate_default_handler;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use hardline_wire::limits::FOREVER;

/// Receives the signals that end a process (SIGTERM, SIGINT and SIGHUP), for programs that shut
/// down by themselves.
///
/// A signal that was ignored at the start, as `nohup` does, stays ignored.
#[derive(Debug)]
pub struct Signals(Vec<(i32, tokio::signal::unix::Signal)>);

impl Signals {
    /// Starts to listen. From then on none of these signals ends the process.
    ///
    /// # Errors
    ///
    /// If the system cannot install a signal handler.
    ///
    /// # Panics
    ///
    /// If called outside of a tokio runtime with I/O enabled.
    pub fn listen() -> io::Result<Self> {
        let wanted = [SIGTERM, SIGINT, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let listen = |number| Ok((number, signal(SignalKind::from_raw(number))?));
        Ok(Self(wanted.map(listen).collect::<io::Result<_>>()?))
    }

    /// Polls for the next signal and returns its number.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<i32> {
        for (number, signal) in &mut self.0 {
            if let Poll::Ready(Some(())) = signal.poll_recv(context) {
                return Poll::Ready(*number);
            }
        }
        Poll::Pending
    }
}

/// Time for a service to exit by itself after the last grace period.
const EXIT_TIME: Duration = Duration::from_secs(1);

/// Receives the first signal.
#[derive(Debug)]
pub(crate) struct Listener {
    heard: watch::Receiver<bool>,
}

impl Listener {
    /// Starts to listen for a connection that needs `grace` after a signal.
    ///
    /// # Errors
    ///
    /// If the system cannot install a signal handler or start a thread.
    pub(crate) fn new(grace: Duration) -> io::Result<Self> {
        let hub = hub()?;
        let (sender, heard) = watch::channel(false);
        let mut listeners = hub.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|it| it.heard.receiver_count() > 0);
        listeners.push(Listening { heard: sender, grace });
        Ok(Self { heard })
    }

    /// Waits for the first signal. Later calls return at once.
    pub(crate) async fn heard(&mut self) {
        if self.heard.wait_for(|heard| *heard).await.is_err() {
            // Unreachable: the hub keeps the sender for as long as this receiver exists.
            std::future::pending::<()>().await;
        }
    }
}

#[derive(Debug)]
struct Listening {
    heard: watch::Sender<bool>,
    grace: Duration,
}

#[derive(Debug, Default)]
struct Hub {
    /// Listening connections of this process, and possibly some that were dropped.
    listeners: Mutex<Vec<Listening>>,
}

/// Returns the signal hub of the process, which starts on first use.
fn hub() -> io::Result<&'static Hub> {
    static HUB: OnceLock<Hub> = OnceLock::new();
    static START: Mutex<bool> = Mutex::new(false);

    let hub = HUB.get_or_init(Hub::default);
    let mut is_started = START.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_started {
        let wanted = [SIGTERM, SIGINT].into_iter().filter(|signal| !is_ignored(*signal));
        let mut signals = iterator::Signals::new(wanted)?;
        let (sender, receiver) = sync_channel(8);
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new().name(name.into()).stack_size(64 << 10).spawn(run)
        };
        spawn("hardline-signal", Box::new(move || forward(&mut signals, &sender)))?;
        spawn("hardline-end", Box::new(move || hub.run(&receiver)))?;
        // Set last: if a thread cannot be started, the next connection tries again.
        *is_started = true;
    }
    Ok(hub)
}

/// Returns true if the parent process set the signal to be ignored, as a shell does with SIGINT for
/// background jobs.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

/// Passes signals to a channel, on which the hub can wait with a timeout.
fn forward(signals: &mut iterator::Signals, sender: &SyncSender<i32>) {
    for signal in signals.forever() {
        // A full channel already holds more signals than the hub needs.
        let _ = sender.try_send(signal);
    }
}

impl Hub {
    fn run(&self, signals: &Receiver<i32>) {
        let Ok(first) = signals.recv() else { return };
        let last = match self.pass_on() {
            None => first,
            Some(grace) => match signals.recv_timeout(grace.min(FOREVER) + EXIT_TIME) {
                Ok(second) => second,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => first,
            },
        };
        // Does not return for signals whose default action ends the process.
        let _ = emulate_default_handler(last);
    }

    /// Notifies all listening connections. Returns the longest grace period, or `None` if no
    /// connection listens.
    fn pass_on(&self) -> Option<Duration> {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let told = listeners.iter().filter(|it| it.heard.send(true).is_ok());
        told.map(|it| it.grace).max()
    }
}
