//! Runs a client command: connects to servers, handles signals, and closes all connections at the
//! end.

use std::collections::HashMap;
use std::future::Future;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use hardline_client::manager::{Connect, Manager, ManagerSettings};
use hardline_client::{Connection, ConnectionSettings, Error, StartError};
use hardline_transport::client::TransportError;
use hardline_wire::encode::code;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::guard::RunGuard;
use super::log;
use super::print::name;
use super::progress::Line;
use super::server::Server;
use super::target::TargetArgs;
use crate::terminal::complain;

/// Limit on printed messages about unusable input from servers.
const MAX_TOLD: usize = 5;
/// Delay before the progress line shows what the command waits for.
const QUIET: Duration = Duration::from_millis(300);
/// Delay before the progress line shows a request, if the server reports no progress.
const STILL: Duration = Duration::from_millis(500);
/// Time limit for abandoning a connection attempt.
const GIVE_UP: Duration = Duration::from_secs(6);
/// Time limit for flushing the last standard error of servers.
#[cfg(unix)]
const FLUSH: Duration = Duration::from_secs(1);

/// Shared state of a run. Clones share it.
#[derive(Clone)]
pub(super) struct RunContext {
    pub(super) line: Line,
    is_verbose: bool,
    /// True if the user gave a time limit for requests.
    is_timed: bool,
    settings: ConnectionSettings,
    judge: Option<RunGuard>,
    ignored: Arc<AtomicUsize>,
    /// True at the end of the run: connection attempts in progress are abandoned.
    closing: watch::Sender<bool>,
    held: Arc<Mutex<Vec<Held>>>,
}

/// Something to close at the end of the run.
enum Held {
    /// Connection attempt in progress, which may already have started a server.
    Opening(JoinHandle<()>),
    Connection(Connection),
    Manager(Manager),
}

/// Does the work, and then closes all connections.
///
/// A signal cancels all requests at their servers and determines the exit status.
pub(super) fn run<F>(args: &TargetArgs, work: impl FnOnce(RunContext) -> F) -> Result<ExitCode>
where
    F: Future<Output = Result<ExitCode>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let context = RunContext {
        line: Line::new(!args.verbose),
        is_verbose: args.verbose,
        is_timed: args.timeout.is_some(),
        settings: args.settings(),
        judge: args.guard.judge()?,
        ignored: Arc::default(),
        closing: watch::Sender::new(false),
        held: Arc::default(),
    };
    let outcome = runtime.block_on(async {
        let mut signals = Signals::new()?;
        let outcome = tokio::select! {
            biased;
            code = signals.heard() => Ok(code),
            outcome = work(context.clone()) => outcome,
        };
        context.line.clear();
        // Abandoned requests are cancelled at their servers before this is done.
        tokio::select! {
            () = context.wait(|| "waiting for the servers to end".to_owned(), context.close()) => {}
            // A second signal ends the wait at once.
            _ = signals.heard() => context.line.clear(),
        }
        outcome
    });
    if let Some(more @ 1..) = context.ignored.load(Ordering::Relaxed).checked_sub(MAX_TOLD) {
        complain(&format!("ignored from the server: at least {more} more messages"));
    }
    if let Some(judge) = &context.judge {
        judge.end();
    }
    #[cfg(unix)]
    runtime.block_on(async {
        // The last findings may still be in the queue of standard error.
        let flushed = hardline_transport::process::flush_stderr();
        let _ = tokio::time::timeout(FLUSH, flushed).await;
    });
    runtime.shutdown_background();
    outcome
}

/// Does work that needs no connection, until it is done or a signal arrives.
pub(super) fn plain(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let outcome = runtime.block_on(async {
        let mut signals = Signals::new()?;
        tokio::select! {
            biased;
            code = signals.heard() => Ok(code),
            outcome = work => outcome,
        }
    });
    runtime.shutdown_background();
    outcome
}

impl RunContext {
    /// Connects to one server. The connection is closed at the end of the run.
    pub(super) async fn connect(&self, server: &Server) -> Result<Connection, Error> {
        let name = (!server.is_given()).then_some(&*server.name);
        let mut settings = self.settings_for(name, &server.label(), self.settings.clone());
        if let Some(timeout) = self.timeout(server) {
            settings = settings.with_configured_timeout(timeout);
        }
        let settings = settings.with_closing(self.closing.subscribe());
        // The channel lets the caller give up while the attempt goes on.
        let (done, opened) = oneshot::channel();
        let (context, opening) = (self.clone(), server.clone());
        // The attempt runs in its own task and is not cancelled with its caller: a server that is
        // killed while it installs itself leaves locks behind. `close` abandons it properly.
        let task = tokio::spawn(async move {
            let outcome = opening.connect(settings).await;
            if let Ok(connection) = &outcome {
                context.hold(Held::Connection(connection.clone()));
            }
            let _ = done.send(outcome);
        });
        self.hold(Held::Opening(task));
        let opened = opened.await;
        let connection = opened
            .unwrap_or_else(|_| Err(StartError::from_text("the attempt was abandoned").into()))?;
        if self.is_verbose {
            log::show(server, &connection, &self.line).await;
        }
        Ok(connection)
    }

    /// Returns the request time limit from the server's configuration, unless the user gave one.
    pub(super) fn timeout(&self, server: &Server) -> Option<Duration> {
        // A time on the command line is meant for this call, and beats the configuration.
        server.timeout().filter(|_| !self.is_timed)
    }

    /// Creates a manager for these servers. It is closed at the end of the run.
    pub(super) fn manager(&self, settings: ManagerSettings, servers: &[Server]) -> Manager {
        let context = self.clone();
        let timeouts: HashMap<Arc<str>, Duration> = servers
            .iter()
            .filter_map(|it| Some((Arc::clone(&it.name), self.timeout(it)?)))
            .collect();
        let settings =
            settings.with_connection(self.settings.clone()).adjust(move |server, mut settings| {
                if let Some(timeout) = timeouts.get(server) {
                    settings = settings.with_configured_timeout(*timeout);
                }
                context.settings_for(Some(server), &name(server), settings)
            });
        let manager = Manager::new(settings);
        if self.is_verbose {
            log::show_all(&manager, servers, &self.line);
        }
        self.hold(Held::Manager(manager.clone()));
        manager
    }

    /// Waits, and shows on a terminal what for.
    pub(super) async fn wait<T>(
        &self,
        what: impl Fn() -> String,
        wait: impl Future<Output = T>,
    ) -> T {
        let mut wait = std::pin::pin!(wait);
        loop {
            tokio::select! {
                outcome = &mut wait => {
                    self.line.clear();
                    return outcome;
                }
                // Repeated, because the servers that are waited for change.
                () = tokio::time::sleep(QUIET) => self.line.say(&what()),
            }
        }
    }

    /// Waits for the answer to a request, and says so on a terminal if the server reports no
    /// progress.
    pub(super) async fn attend<T>(&self, what: &str, wait: impl Future<Output = T>) -> T {
        let mut wait = std::pin::pin!(wait);
        let outcome = tokio::select! {
            outcome = &mut wait => outcome,
            // Most calls end before this, and a line that flashes up only disturbs.
            () = tokio::time::sleep(STILL) => {
                self.line.say_if_empty(&format!("waiting for {what}"));
                wait.await
            }
        };
        self.line.clear();
        outcome
    }

    /// Prints an error with a hint.
    pub(super) fn fail(&self, server: &Server, error: &Error) -> ExitCode {
        self.line.clear();
        complain(&format!("{error}{}", self.hint(server, error)));
        ExitCode::from(1)
    }

    /// Returns a hint about the next step after an error.
    pub(super) fn hint(&self, server: &Server, error: &Error) -> String {
        match error {
            Error::Timeout { .. } if self.is_verbose => "; --timeout allows more time".to_owned(),
            Error::Timeout { .. } => {
                "; --timeout allows more time, --verbose shows the server's messages".to_owned()
            }
            Error::Transport(TransportError::Http(error)) if error.status == 401 => {
                format!("; check the credentials, or run {}", server.suggest("login", &[]))
            }
            Error::Rpc(error)
                if matches!(error.code, code::INVALID_PARAMS | code::METHOD_NOT_FOUND) =>
            {
                let list = server.suggest("tools", &[]);
                format!("; {list} lists its tools and their arguments")
            }
            _ => String::new(),
        }
    }

    /// Adds the guard and the reports about unusable input to the settings of a connection.
    fn settings_for(
        &self,
        name: Option<&str>,
        label: &str,
        mut settings: ConnectionSettings,
    ) -> ConnectionSettings {
        let (line, ignored) = (self.line.clone(), Arc::clone(&self.ignored));
        if let Some(judge) = &self.judge {
            settings = settings.with_guard(judge.settings(name, label, &line));
        }
        let label = label.to_owned();
        settings.on_trouble(move |trouble| {
            // A broken server could otherwise flood the screen.
            if ignored.fetch_add(1, Ordering::Relaxed) < MAX_TOLD {
                line.clear();
                complain(&format!("ignored from {label}: {trouble}"));
            }
        })
    }

    fn hold(&self, held: Held) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(held);
    }

    /// Closes everything concurrently. Connection attempts are abandoned, and what they started is
    /// ended.
    async fn close(&self) {
        // Attempts in progress watch this and give up.
        self.closing.send_replace(true);
        loop {
            let held =
                std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
            // Closing an attempt can add a connection, so the list is taken until it stays empty.
            if held.is_empty() {
                return;
            }
            let mut tasks = tokio::task::JoinSet::new();
            for it in held {
                tasks.spawn(async move {
                    match it {
                        // If it succeeds after all, its connection is held by now and closed in the
                        // next round.
                        Held::Opening(task) => drop(tokio::time::timeout(GIVE_UP, task).await),
                        Held::Connection(connection) => connection.close().await,
                        Held::Manager(manager) => manager.close().await,
                    }
                });
            }
            tasks.join_all().await;
        }
    }
}

/// Termination signals: from the user, from a service manager, and from a closed terminal. A signal
/// that was ignored at the start, as with `nohup`, stays ignored.
#[cfg(unix)]
struct Signals(hardline_transport::Signals);

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Self> {
        Ok(Self(hardline_transport::Signals::listen().context("cannot listen to signals")?))
    }

    async fn heard(&mut self) -> ExitCode {
        let number = std::future::poll_fn(|context| self.0.poll_recv(context)).await;
        ExitCode::from(u8::try_from(128 + number).unwrap_or(1))
    }
}

/// Termination signals from the user.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    async fn heard(&mut self) -> ExitCode {
        match tokio::signal::ctrl_c().await {
            Ok(()) => ExitCode::from(130),
            Err(_) => std::future::pending().await,
        }
    }
}
