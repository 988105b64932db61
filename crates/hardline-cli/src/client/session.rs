//! From the first connection to the end of the last, whatever the user does meanwhile.

use std::future::Future;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use hardline_client::manager::{Connect, Manager, ManagerSettings};
use hardline_client::{Connection, Error, Settings};
use hardline_transport::client::TransportError;
use hardline_wire::encode::code;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::guard::Judge;
use super::log;
use super::print::name;
use super::progress::Line;
use super::server::Server;
use super::target::TargetArgs;
use crate::terminal::complain;

/// How many of the things that servers send and nobody can use are named.
const MAX_TOLD: usize = 5;
/// How long something may take before it is said what is waited for.
const QUIET: Duration = Duration::from_millis(300);
/// How long a request may take before it is said that it is waited for, if the server says nothing.
const STILL: Duration = Duration::from_millis(500);
/// How long the end of an opening may take that was given up.
const GIVE_UP: Duration = Duration::from_secs(6);
/// How long what servers wrote last may take to be shown.
#[cfg(unix)]
const FLUSH: Duration = Duration::from_secs(1);

/// What all that is done in one run shares. Clones are the same.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) line: Line,
    is_verbose: bool,
    /// Whether somebody said how long a request may take.
    is_timed: bool,
    settings: Settings,
    judge: Option<Judge>,
    ignored: Arc<AtomicUsize>,
    /// Openings under way are given up once this is true.
    closing: watch::Sender<bool>,
    held: Arc<Mutex<Vec<Held>>>,
}

/// What is to be ended.
enum Held {
    /// An opening under way, which may have begun to start a server.
    Opening(JoinHandle<()>),
    Connection(Connection),
    Manager(Manager),
}

/// Does the work, and ends whatever was connected to.
///
/// A signal cancels the requests at their servers, and is what this ends with.
pub(super) fn run<F>(args: &TargetArgs, work: impl FnOnce(Desk) -> F) -> Result<ExitCode>
where
    F: Future<Output = Result<ExitCode>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let desk = Desk {
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
            outcome = work(desk.clone()) => outcome,
        };
        desk.line.clear();
        // The requests that were given up are cancelled at their servers before this is done.
        tokio::select! {
            () = desk.wait(|| "waiting for the servers to end".to_owned(), desk.close()) => {}
            _ = signals.heard() => desk.line.clear(),
        }
        outcome
    });
    if let Some(more @ 1..) = desk.ignored.load(Ordering::Relaxed).checked_sub(MAX_TOLD) {
        complain(&format!("ignored from the server: at least {more} more of these"));
    }
    if let Some(judge) = &desk.judge {
        judge.end();
    }
    #[cfg(unix)]
    runtime.block_on(async {
        let flushed = hardline_transport::process::flush_stderr();
        let _ = tokio::time::timeout(FLUSH, flushed).await;
    });
    runtime.shutdown_background();
    outcome
}

/// Does something that needs no connection, until it is done or a signal comes.
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

impl Desk {
    /// Connects to one server, which is closed at the end.
    pub(super) async fn connect(&self, server: &Server) -> Result<Connection, Error> {
        let name = (!server.is_given()).then_some(&*server.name);
        let mut settings = self.settings_for(name, &server.label(), self.settings.clone());
        if let Some(timeout) = self.timeout(server) {
            settings = settings.with_configured_timeout(timeout);
        }
        let settings = settings.with_closing(self.closing.subscribe());
        let (done, opened) = oneshot::channel();
        let (desk, opening) = (self.clone(), server.clone());
        // It goes on if nobody waits for it any more, as a server that is killed while it installs itself
        // leaves locks behind: `close` gives it up.
        let task = tokio::spawn(async move {
            let outcome = opening.connect(settings).await;
            if let Ok(connection) = &outcome {
                desk.hold(Held::Connection(connection.clone()));
            }
            let _ = done.send(outcome);
        });
        self.hold(Held::Opening(task));
        let opened = opened.await;
        let connection = opened.unwrap_or_else(|_| Err(Error::Start("it was given up".into())))?;
        if self.is_verbose {
            log::show(server, &connection, &self.line).await;
        }
        Ok(connection)
    }

    /// How long a request to a server may take, if its configuration says so and nobody else does.
    pub(super) fn timeout(&self, server: &Server) -> Option<Duration> {
        server.timeout().filter(|_| !self.is_timed)
    }

    /// A manager for these servers, which is closed at the end.
    pub(super) fn manager(&self, settings: ManagerSettings, servers: &[Server]) -> Manager {
        let desk = self.clone();
        let settings =
            settings.with_connection(self.settings.clone()).adjust(move |server, settings| {
                desk.settings_for(Some(server), &name(server), settings)
            });
        let manager = Manager::new(settings);
        if self.is_verbose {
            log::show_all(&manager, servers, &self.line);
        }
        self.hold(Held::Manager(manager.clone()));
        manager
    }

    /// Waits, and says on a terminal what for.
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
                () = tokio::time::sleep(QUIET) => self.line.say(&what()),
            }
        }
    }

    /// Waits for the answer to a request, and says so on a terminal if the server reports no progress.
    pub(super) async fn attend<T>(&self, what: &str, wait: impl Future<Output = T>) -> T {
        let mut wait = std::pin::pin!(wait);
        let outcome = tokio::select! {
            outcome = &mut wait => outcome,
            () = tokio::time::sleep(STILL) => {
                self.line.say_if_empty(&format!("waiting for {what}"));
                wait.await
            }
        };
        self.line.clear();
        outcome
    }

    /// Tells what went wrong, and what helps.
    pub(super) fn fail(&self, server: &Server, error: &Error) -> ExitCode {
        self.line.clear();
        complain(&format!("{error}{}", self.hint(server, error)));
        ExitCode::from(1)
    }

    /// What helps against an error.
    pub(super) fn hint(&self, server: &Server, error: &Error) -> String {
        match error {
            Error::Timeout { .. } if self.is_verbose => "; --timeout gives it more time".to_owned(),
            Error::Timeout { .. } => {
                "; --timeout gives it more time, --verbose shows what the server says".to_owned()
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

    /// With the guard, and with somebody to tell of what cannot be used.
    fn settings_for(&self, name: Option<&str>, label: &str, mut settings: Settings) -> Settings {
        let (line, ignored) = (self.line.clone(), Arc::clone(&self.ignored));
        if let Some(judge) = &self.judge {
            settings = settings.with_guard(judge.settings(name, label, &line));
        }
        let label = label.to_owned();
        settings.on_trouble(move |trouble| {
            if ignored.fetch_add(1, Ordering::Relaxed) < MAX_TOLD {
                line.clear();
                complain(&format!("ignored from {label}: {trouble}"));
            }
        })
    }

    fn hold(&self, held: Held) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(held);
    }

    /// Ends everything, side by side: openings are given up, and what they started is ended as any other.
    async fn close(&self) {
        self.closing.send_replace(true);
        loop {
            let held =
                std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
            if held.is_empty() {
                return;
            }
            let mut tasks = tokio::task::JoinSet::new();
            for it in held {
                tasks.spawn(async move {
                    match it {
                        // One that is open all the same is held by now, for the next round.
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

/// The signals that end programs: from a person, from whoever manages them, and from a terminal that is
/// closed. One that was ignored from the start, as `nohup` does, stays so.
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

/// The signals that people end programs with.
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
