//! SIGTERM and SIGINT: work in flight gets a moment, then the process ends.
//!
//! One thread for the whole process listens, so that a signal is heard while the runtime is busy.
//! The first signal is passed on to the connections that listen; if the process is still there after
//! the longest of their graces and a second, or a second signal comes, it dies of the signal as if
//! nobody had listened. So it does at once if no connection listens any more.

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

use crate::outbox::FOREVER;

/// Hears the signals that end a process: SIGTERM, SIGINT and SIGHUP, for whoever ends it by itself.
///
/// One that was ignored from the start, as `nohup` does, stays ignored.
#[derive(Debug)]
pub struct Signals(Vec<(i32, tokio::signal::unix::Signal)>);

impl Signals {
    /// Starts to listen. From then on none of them ends the process.
    ///
    /// # Errors
    ///
    /// If the system gives no handler.
    ///
    /// # Panics
    ///
    /// If it is called outside of a tokio runtime with I/O enabled.
    pub fn listen() -> io::Result<Self> {
        let wanted = [SIGTERM, SIGINT, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let listen = |number| Ok((number, signal(SignalKind::from_raw(number))?));
        Ok(Self(wanted.map(listen).collect::<io::Result<_>>()?))
    }

    /// The next one that was heard.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<i32> {
        for (number, signal) in &mut self.0 {
            if let Poll::Ready(Some(())) = signal.poll_recv(context) {
                return Poll::Ready(*number);
            }
        }
        Poll::Pending
    }
}

/// What a service has after the last grace to bring itself to an end.
const EXIT_TIME: Duration = Duration::from_secs(1);

/// Hears the first signal.
#[derive(Debug)]
pub(crate) struct Listener {
    heard: watch::Receiver<bool>,
}

impl Listener {
    /// Starts to listen for a connection that needs `grace` after a signal.
    ///
    /// # Errors
    ///
    /// If the system gives no handler or thread.
    pub(crate) fn new(grace: Duration) -> io::Result<Self> {
        let hub = hub()?;
        let (sender, heard) = watch::channel(false);
        let mut listeners = hub.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|it| 0 < it.heard.receiver_count());
        listeners.push(Listening { heard: sender, grace });
        Ok(Self { heard })
    }

    /// Waits for the first signal. Can be asked again: it stays heard.
    pub(crate) async fn heard(&mut self) {
        if self.heard.wait_for(|heard| *heard).await.is_err() {
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
    /// The connections of this process that listen, and some that did.
    listeners: Mutex<Vec<Listening>>,
}

/// The one listener of the process, started when it is first needed.
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
        *is_started = true;
    }
    Ok(hub)
}

/// Whether whoever started us wants the signal to have no effect, as a shell does for SIGINT when it
/// starts something in the background.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

/// Passes signals to where they can be waited for with a time limit.
fn forward(signals: &mut iterator::Signals, sender: &SyncSender<i32>) {
    for signal in signals.forever() {
        // Full means that many are there already.
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
        // This does not come back, for signals whose default is to end the process.
        let _ = emulate_default_handler(last);
    }

    /// Tells all connections. Returns the longest grace, or `None` if nobody listens.
    fn pass_on(&self) -> Option<Duration> {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let told = listeners.iter().filter(|it| it.heard.send(true).is_ok());
        told.map(|it| it.grace).max()
    }
}
