//! The life of one server: connect, serve, wait, and again.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hardline_transport::client::TransportError;
use hardline_wire::encode::code;
use rmcp::model::SubscriptionFilter;
use serde_json::value::RawValue;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::catalog::{Freshness, ListedTool};
use super::chance::chance;
use super::hub::Hub;
use super::member::{Known, Member, Open, Tools};
use super::schedule::{Next, Schedule};
use super::state::State;
use crate::{Connection, Error, ServerEvent, Settings};

/// How long a server whose connection is doubted may take to answer.
const PING_TIME: Duration = Duration::from_secs(5);
/// The shortest time between two lists of tools, however often they change.
const MIN_LIST_GAP: Duration = Duration::from_millis(250);
/// How soon a list that failed is asked for again, doubled each time.
const LIST_RETRY: Duration = Duration::from_secs(5);
const MAX_LIST_RETRY: Duration = Duration::from_secs(300);
/// How soon a stream of notifications that ended is asked for again, doubled each time.
const LISTEN_RETRY: Duration = Duration::from_secs(1);
const MAX_LISTEN_RETRY: Duration = Duration::from_secs(300);
/// How long an opening that is not wanted any more may take to end.
const ABANDON_TIME: Duration = Duration::from_secs(10);
/// How many tools of a server are listed.
const MAX_TOOLS: usize = 10_000;

/// Keeps a server connected until it is not wanted any more.
pub(super) async fn run(hub: Arc<Hub>, member: Arc<Member>) {
    load(&hub, &member).await;
    live(&hub, &member).await;
    let open = member.known().open.clone();
    if let Some(open) = open {
        open.connection.close().await;
    }
    member.change(|known| known.open = None);
    hub.set_state(&member, State::Closed, None);
}

async fn live(hub: &Hub, member: &Member) {
    if !hub.settings.is_eager && !while_wanted(member, member.asked.notified()).await {
        return;
    }
    let mut schedule = Schedule::default();
    for generation in 1.. {
        schedule.begin(Instant::now());
        member.change(|known| known.attempts += 1);
        hub.set_state(member, State::Connecting, None);
        let settings = hub.settings.for_server(&member.name, member.timeout);
        let end = match connect(member, settings).await {
            Opening::Done(Ok(connection)) => {
                let opened = Instant::now();
                let version = connection.version();
                member.change(|known| {
                    let connection = connection.clone();
                    known.open = Some(Open { connection, generation, proofs: 0 });
                    known.last_failure = None;
                });
                hub.set_state(member, State::Connected { version }, None);
                let serving =
                    Serving { hub, member, connection, generation, changed: Notify::new() };
                let end = tokio::select! {
                    end = serving.run() => end,
                    () = member.closed() => return,
                };
                member.change(|known| known.open = None);
                hub.set_freshness(member, Freshness::Stale);
                schedule.ended(opened, Instant::now());
                end
            }
            Opening::Done(Err(failure)) => End::Failed { failure, was_open: false },
            Opening::Restart => End::Restart,
            Opening::Unwanted => return,
        };
        match end {
            End::Restart => schedule.reset(),
            End::Failed { failure, was_open } => {
                // Credentials that were good may have been exchanged meanwhile.
                let is_shut = !was_open && wants_login(&failure);
                let wait = wait(hub, member, &mut schedule, &failure, is_shut);
                if !while_wanted(member, wait).await {
                    return;
                }
            }
        }
    }
}

/// Waits for something for as long as the server is wanted. Returns whether it came to that.
async fn while_wanted(member: &Member, wait: impl Future<Output = ()>) -> bool {
    tokio::select! {
        () = wait => true,
        () = member.closed() => false,
    }
}

/// How an attempt to connect ended.
enum Opening {
    Done(Result<Connection, Error>),
    /// Somebody wants a new start.
    Restart,
    /// The server is not wanted any more.
    Unwanted,
}

/// How a connection ended.
enum End {
    Failed {
        failure: Error,
        was_open: bool,
    },
    /// Somebody wanted another.
    Restart,
}

/// Opens a connection. Nothing is left of one that is given up.
async fn connect(member: &Member, settings: Settings) -> Opening {
    let abandon = watch::Sender::new(false);
    let mut opening = member.connect.connect(settings.with_closing(abandon.subscribe()));
    let outcome = tokio::select! {
        outcome = &mut opening => return Opening::Done(outcome),
        () = member.restart.notified() => Opening::Restart,
        () = member.closed() => Opening::Unwanted,
    };
    abandon.send_replace(true);
    // It was told, and ends what it has begun.
    if let Ok(Ok(connection)) = timeout(ABANDON_TIME, opening).await {
        connection.close().await;
    }
    outcome
}

/// Waits until the next attempt is due. `is_shut`: nothing but a login helps.
async fn wait(hub: &Hub, member: &Member, schedule: &mut Schedule, failure: &Error, is_shut: bool) {
    let now = Instant::now();
    let reason: Arc<str> = failure.to_string().into();
    member.change(|known| known.last_failure = Some(Arc::clone(&reason)));
    let mut next = schedule.failed(now, member.connect.is_remote(), chance());
    let state = match next {
        _ if is_shut => {
            next = schedule.seldom(now);
            State::LoginNeeded { reason }
        }
        Next::At(at) => State::Waiting { reason, retry_in: at - now },
        Next::WhenAsked(_) => State::Broken { reason },
    };
    // What was asked before is answered by the failure.
    let _ = timeout(Duration::ZERO, member.asked.notified()).await;
    hub.set_state(member, state, Some(schedule.asked(next)));
    loop {
        tokio::select! {
            () = until(next) => return,
            () = member.asked.notified() => {
                let at = schedule.asked(next);
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

/// Whether nothing but a login helps.
fn wants_login(error: &Error) -> bool {
    match error {
        Error::Transport(TransportError::Login(_)) => true,
        Error::Transport(TransportError::Http(error)) => error.status == 401,
        _ => false,
    }
}

/// A connection while it lasts.
struct Serving<'a> {
    hub: &'a Hub,
    member: &'a Member,
    connection: Connection,
    generation: u64,
    /// Told when the tools have changed.
    changed: Notify,
}

impl Serving<'_> {
    /// Serves until the connection is of no use any more: why.
    async fn run(self) -> End {
        let mut events = self.connection.events();
        let (mut listing, mut listening) = (pin!(self.list()), pin!(self.listen()));
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    None => return closed("the connection was dropped"),
                    Some(ServerEvent::Closed(reason)) => return closed(&reason),
                    Some(event) => self.pass_on(event),
                },
                () = self.member.doubted.notified() => {
                    if let Some(failure) = self.examine().await {
                        return End::Failed { failure, was_open: true };
                    }
                }
                () = self.member.restart.notified() => {
                    self.connection.close().await;
                    return End::Restart;
                }
                () = &mut listing => {}
                () = &mut listening => {}
            }
        }
    }

    fn pass_on(&self, event: ServerEvent) {
        if let ServerEvent::Notification(it) = &event
            && &*it.method == "notifications/tools/list_changed"
        {
            self.changed.notify_one();
        }
        // What was missed may have been that.
        if let ServerEvent::Missed(_) = event {
            self.changed.notify_one();
        }
        self.hub.post(self.member, event);
    }

    /// Lists the tools, and again whenever they have changed.
    async fn list(&self) {
        let mut retry = LIST_RETRY;
        loop {
            let listed = match self.connection.list_tools_json().await {
                Err(Error::Rpc(error)) if error.code == code::METHOD_NOT_FOUND => Ok(Vec::new()),
                listed => listed,
            };
            let failure = match listed {
                Ok(tools) => {
                    self.take(tools).await;
                    retry = LIST_RETRY;
                    sleep(MIN_LIST_GAP).await;
                    self.changed.notified().await;
                    continue;
                }
                Err(failure) => failure,
            };
            self.member.suspect(self.generation, &failure);
            let reason: Arc<str> = failure.to_string().into();
            self.member.change(|known| known.list_failure = Some(reason));
            tokio::select! {
                () = sleep(retry) => retry = (retry * 2).min(MAX_LIST_RETRY),
                () = self.changed.notified() => sleep(MIN_LIST_GAP).await,
            }
        }
    }

    async fn take(&self, tools: Vec<Box<RawValue>>) {
        let unlisted = tools.len().saturating_sub(MAX_TOOLS);
        let tools = tools.into_iter().take(MAX_TOOLS).filter_map(ListedTool::new).map(Arc::new);
        let list: Arc<[_]> = tools.collect();
        if let Some(cache) = self.member.cache.clone() {
            let list = Arc::clone(&list);
            let saved = tokio::task::spawn_blocking(move || cache.save(&list)).await;
            if let Ok(Err(error)) = saved {
                tracing::debug!(%error, "the list of tools could not be kept");
            }
        }
        self.hub.set_tools(self.member, Tools { list, freshness: Freshness::Current, unlisted });
    }

    /// Listens to what changes, where a server tells only those who ask.
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
        let mut retry = LISTEN_RETRY;
        loop {
            let begun = Instant::now();
            let outcome = self.connection.listen(&filter).await;
            if let Err(Error::Rpc(_)) = outcome {
                // It says that it changes, but not how to hear of it.
                return std::future::pending().await;
            }
            if MAX_LISTEN_RETRY < begun.elapsed() {
                retry = LISTEN_RETRY;
            }
            sleep(retry).await;
            retry = (retry * 2).min(MAX_LISTEN_RETRY);
            // What changed meanwhile was told to nobody.
            self.changed.notify_one();
        }
    }

    /// Finds out whether a connection that is doubted is of use: if not, why.
    async fn examine(&self) -> Option<Error> {
        let doubt = self.member.take_doubt(self.generation)?;
        if doubt.is_certain || !self.connection.is_connected() {
            return Some(doubt.reason);
        }
        match timeout(PING_TIME, self.connection.ping()).await {
            Ok(Ok(()) | Err(Error::Rpc(_))) => {
                let proven =
                    |known: &mut Known| known.open.iter_mut().for_each(|it| it.proofs += 1);
                self.member.change(proven);
                None
            }
            Ok(Err(failure)) => Some(failure),
            Err(_) => Some(doubt.reason),
        }
    }
}

/// Takes over what an earlier run has kept.
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

fn closed(reason: &str) -> End {
    let failure = Error::Transport(TransportError::Closed(reason.to_owned()));
    End::Failed { failure, was_open: true }
}
