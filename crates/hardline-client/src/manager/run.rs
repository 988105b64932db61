//! The task that keeps one server connected: connect, serve, wait for the backoff, repeat.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hardline_transport::client::TransportError;
use hardline_wire::backoff::Backoff;
use hardline_wire::encode::code;
use rmcp::model::SubscriptionFilter;
use serde_json::value::RawValue;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::catalog::{Freshness, ListedTool};
use super::hub::Hub;
use super::member::{Member, Open, Snapshot, Tools};
use super::schedule::{Next, Schedule, random_fraction};
use super::state::ServerState;
use crate::{Connection, ConnectionSettings, Error, ServerEvent};

/// Time limit for the ping that checks a suspected connection.
const PING_TIME: Duration = Duration::from_secs(5);
/// Shortest time between two `tools/list` requests, even if the server reports changes more often.
const MIN_LIST_GAP: Duration = Duration::from_millis(250);
/// Delays before a failed `tools/list` is retried.
const LIST_BACKOFF: Backoff = Backoff::new(Duration::from_secs(5), Duration::from_secs(300));
/// Delays before a notification stream that ended is opened again.
const LISTEN_BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), MAX_LISTEN_RETRY);
const MAX_LISTEN_RETRY: Duration = Duration::from_secs(300);
/// Time limit for an aborted open to clean up.
const ABANDON_TIME: Duration = Duration::from_secs(10);
/// Limit on the listed tools of one server.
const MAX_TOOLS: usize = 10_000;

/// Keeps a server connected until the manager closes or removes it.
pub(super) async fn run(hub: Arc<Hub>, member: Arc<Member>) {
    load(&hub, &member).await;
    connect_loop(&hub, &member).await;
    let open = member.snapshot().open.clone();
    if let Some(open) = open {
        open.connection.close().await;
    }
    member.change(|snapshot| snapshot.open = None);
    hub.set_state(&member, ServerState::Closed, None);
}

/// Connects again and again until the member is closed.
async fn connect_loop(hub: &Hub, member: &Member) {
    if !hub.settings.is_eager && !unless_closed(member, member.asked.notified()).await {
        return;
    }
    let mut schedule = Schedule::default();
    for generation in 1.. {
        schedule.begin(Instant::now());
        member.change(|snapshot| snapshot.attempts += 1);
        hub.set_state(member, ServerState::Connecting, None);
        let settings = hub.settings.for_server(&member.name, member.connect.timeout());
        let end = match open(member, settings).await {
            Attempt::Done(Ok(connection)) => {
                let opened = Instant::now();
                let version = connection.version();
                member.change(|snapshot| {
                    let connection = connection.clone();
                    snapshot.open = Some(Open { connection, generation, checks_passed: 0 });
                    snapshot.last_failure = None;
                });
                hub.set_state(member, ServerState::Connected { version }, None);
                let serving =
                    Serving { hub, member, connection, generation, changed: Notify::new() };
                let end = tokio::select! {
                    end = serving.run() => end,
                    () = member.closed() => return,
                };
                member.change(|snapshot| snapshot.open = None);
                // The tools stay listed: a restart must not change what a model may call.
                hub.set_freshness(member, Freshness::Stale);
                schedule.ended(opened, Instant::now());
                end
            }
            Attempt::Done(Err(failure)) => End::Failed { failure, was_open: false },
            Attempt::Restart => End::Restart,
            Attempt::Closed => return,
        };
        match end {
            End::Restart => schedule.reset(),
            End::Failed { failure, was_open } => {
                // After a connection that worked, a 401 may only mean an expired token: retry with new credentials.
                let needs_login = !was_open && requires_login(&failure);
                let wait = wait(hub, member, &mut schedule, &failure, needs_login);
                if !unless_closed(member, wait).await {
                    return;
                }
            }
        }
    }
}

/// Awaits `wait`, unless the member is closed first. Returns true if `wait` completed.
async fn unless_closed(member: &Member, wait: impl Future<Output = ()>) -> bool {
    tokio::select! {
        () = wait => true,
        () = member.closed() => false,
    }
}

/// The outcome of one connection attempt.
enum Attempt {
    Done(Result<Connection, Error>),
    /// A caller of [`reconnect`](super::Manager::reconnect) interrupted the attempt.
    Restart,
    /// The member was closed.
    Closed,
}

/// The end of an attempt or of a connection.
enum End {
    Failed {
        failure: Error,
        was_open: bool,
    },
    /// A caller of [`reconnect`](super::Manager::reconnect) replaced the connection.
    Restart,
}

/// Opens a connection. An interrupted attempt is cleaned up before this returns.
async fn open(member: &Member, settings: ConnectionSettings) -> Attempt {
    let abandon = watch::Sender::new(false);
    let mut opening = member.connect.connect(settings.with_closing(abandon.subscribe()));
    let outcome = tokio::select! {
        outcome = &mut opening => return Attempt::Done(outcome),
        () = member.restart.notified() => Attempt::Restart,
        () = member.closed() => Attempt::Closed,
    };
    abandon.send_replace(true);
    // Dropping the future would kill a started server; this lets it exit in an orderly way.
    if let Ok(Ok(connection)) = timeout(ABANDON_TIME, opening).await {
        connection.close().await;
    }
    outcome
}

/// Waits until the next attempt is due. With `needs_login`, retries at long intervals only.
async fn wait(
    hub: &Hub,
    member: &Member,
    schedule: &mut Schedule,
    failure: &Error,
    needs_login: bool,
) {
    let now = Instant::now();
    let reason: Arc<str> = failure.to_string().into();
    member.change(|snapshot| snapshot.last_failure = Some(Arc::clone(&reason)));
    // Counted even if only a login helps, so that the slow backoff grows too.
    let mut next = schedule.failed(now, member.connect.is_remote(), random_fraction());
    let state = match next {
        _ if needs_login => {
            next = schedule.retry_slowly(now);
            ServerState::LoginNeeded { reason }
        }
        Next::At(at) => ServerState::Waiting { reason, retry_in: at - now },
        Next::WhenAsked(_) => ServerState::Broken { reason },
    };
    // A request for a connection from before this failure must not trigger another attempt.
    let _ = timeout(Duration::ZERO, member.asked.notified()).await;
    hub.set_state(member, state, Some(schedule.asked(next)));
    loop {
        tokio::select! {
            () = until(next) => return,
            () = member.asked.notified() => {
                let at = schedule.asked(next);
                // While the breaker is open, a caller cannot cut its pause short.
                if matches!(next, Next::At(_)) || at <= Instant::now() {
                    next = Next::At(at);
                }
            }
            () = member.restart.notified() => return schedule.reset(),
        }
    }
}

async fn until(next: Next) {
    match next {
        Next::At(at) => sleep_until(at).await,
        Next::WhenAsked(_) => std::future::pending().await,
    }
}

/// Returns true if only a login can help.
fn requires_login(error: &Error) -> bool {
    match error {
        Error::Transport(TransportError::Login(_)) => true,
        Error::Transport(TransportError::Http(error)) => error.status == 401,
        _ => false,
    }
}

/// An open connection with the tasks that run on it.
struct Serving<'a> {
    hub: &'a Hub,
    member: &'a Member,
    connection: Connection,
    generation: u64,
    /// Signals that the server's tools may have changed.
    changed: Notify,
}

impl Serving<'_> {
    /// Runs until the connection ends or fails its check. Returns the reason.
    async fn run(self) -> End {
        let mut events = self.connection.events();
        let (mut listing, mut listening) = (pin!(self.list()), pin!(self.listen()));
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    None => return closed("the connection was dropped"),
                    Some(ServerEvent::Closed(reason)) => return closed(&reason),
                    Some(event) => self.handle_event(event),
                },
                () = self.member.suspected.notified() => {
                    if let Some(failure) = self.check_suspicion().await {
                        return End::Failed { failure, was_open: true };
                    }
                }
                () = self.member.restart.notified() => {
                    self.connection.close().await;
                    return End::Restart;
                }
                // Neither future completes; they make progress only while this loop polls them.
                () = &mut listing => {}
                () = &mut listening => {}
            }
        }
    }

    fn handle_event(&self, event: ServerEvent) {
        if let ServerEvent::Notification(it) = &event
            && &*it.method == "notifications/tools/list_changed"
        {
            self.changed.notify_one();
        }
        // A missed event may have been that notification.
        if let ServerEvent::Missed(_) = event {
            self.changed.notify_one();
        }
        self.hub.publish(self.member, event);
    }

    /// Lists the tools, and again after each change.
    async fn list(&self) {
        let mut retry = LIST_BACKOFF;
        loop {
            // A server without tools may not implement the method at all; that is an empty list.
            let listed = match self.connection.list_tools_json().await {
                Err(Error::Rpc(error)) if error.code == code::METHOD_NOT_FOUND => Ok(Vec::new()),
                listed => listed,
            };
            let failure = match listed {
                Ok(tools) => {
                    self.store(tools).await;
                    retry.reset();
                    sleep(MIN_LIST_GAP).await;
                    self.changed.notified().await;
                    continue;
                }
                Err(failure) => failure,
            };
            self.member.report_failure(self.generation, &failure);
            let reason: Arc<str> = failure.to_string().into();
            self.member.change(|snapshot| snapshot.list_failure = Some(reason));
            tokio::select! {
                () = sleep(retry.peek()) => {
                    retry.next_delay();
                }
                () = self.changed.notified() => sleep(MIN_LIST_GAP).await,
            }
        }
    }

    /// Caches the list and publishes it in the catalog.
    async fn store(&self, tools: Vec<Box<RawValue>>) {
        // An oversized list would be re-sorted and re-joined for every change of any server.
        let unlisted = tools.len().saturating_sub(MAX_TOOLS);
        let tools = tools.into_iter().take(MAX_TOOLS).filter_map(ListedTool::new).map(Arc::new);
        let list: Arc<[_]> = tools.collect();
        if let Some(cache) = self.member.cache.clone() {
            let list = Arc::clone(&list);
            let saved = tokio::task::spawn_blocking(move || cache.save(&list)).await;
            if let Ok(Err(error)) = saved {
                tracing::debug!(%error, "could not write the tool list to the cache");
            }
        }
        self.hub.set_tools(self.member, Tools { list, freshness: Freshness::Current, unlisted });
    }

    /// Keeps a notification stream open, for versions in which a server notifies only subscribers.
    async fn listen(&self) {
        if self.connection.version().has_handshake() {
            return std::future::pending().await;
        }
        let capabilities = self.connection.server().capabilities;
        let mut filter = SubscriptionFilter::default();
        filter.tools_list_changed =
            capabilities.tools.and_then(|it| it.list_changed).filter(|it| *it);
        filter.prompts_list_changed =
            capabilities.prompts.and_then(|it| it.list_changed).filter(|it| *it);
        filter.resources_list_changed =
            capabilities.resources.and_then(|it| it.list_changed).filter(|it| *it);
        if filter == SubscriptionFilter::default() {
            return std::future::pending().await;
        }
        let mut retry = LISTEN_BACKOFF;
        loop {
            let begun = Instant::now();
            let outcome = self.connection.listen(&filter).await;
            if let Err(Error::Rpc(_)) = outcome {
                // The server declares the capability but rejects subscriptions; retrying would not change that.
                return std::future::pending().await;
            }
            // A stream that lasted longer than the longest delay counts as healthy.
            if begun.elapsed() > MAX_LISTEN_RETRY {
                retry.reset();
            }
            sleep(retry.next_delay()).await;
            // Changes while the stream was down were not reported, so the tools are listed again.
            self.changed.notify_one();
        }
    }

    /// Checks a suspected connection with a ping. Returns the failure if it must be replaced.
    async fn check_suspicion(&self) -> Option<Error> {
        let suspicion = self.member.take_suspicion(self.generation)?;
        if suspicion.is_certain || !self.connection.is_connected() {
            return Some(suspicion.reason);
        }
        match timeout(PING_TIME, self.connection.ping()).await {
            // An error answer proves as well as a result that the server is there.
            Ok(Ok(()) | Err(Error::Rpc(_))) => {
                let passed = |snapshot: &mut Snapshot| {
                    snapshot.open.iter_mut().for_each(|it| it.checks_passed += 1);
                };
                self.member.change(passed);
                None
            }
            Ok(Err(failure)) => Some(failure),
            Err(_) => Some(suspicion.reason),
        }
    }
}

/// Publishes the tool list from the cache, if there is one.
async fn load(hub: &Hub, member: &Member) {
    let Some(cache) = member.cache.clone() else { return };
    let loaded = tokio::task::spawn_blocking(move || cache.load()).await;
    if let Ok(Some(list)) = loaded {
        hub.set_tools(
            member,
            Tools { list: list.into(), freshness: Freshness::Cached, unlisted: 0 },
        );
    }
}

/// Creates the end of a connection that was open and is closed now.
fn closed(reason: &str) -> End {
    let failure = Error::Transport(TransportError::Closed(reason.to_owned()));
    End::Failed { failure, was_open: true }
}
