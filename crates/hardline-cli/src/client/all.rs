//! Asks many servers concurrently. A slow or dead server delays the others at most until the
//! deadline, and is named with the reason.

use std::future::Future;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hardline_client::{Connection, Error};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::nearest;
use super::print::name;
use super::server::Server;
use super::session::RunContext;
use crate::terminal::complain;

/// Default time limit for all servers together.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Answer of one server.
#[derive(Debug)]
pub(super) struct Answer<T> {
    pub(super) server: Arc<str>,
    pub(super) state: State,
    /// Reason why it is not current, escaped for a terminal.
    pub(super) reason: Option<String>,
    /// Items that it has, if known.
    pub(super) items: Option<T>,
}

/// Freshness of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// Received in this run.
    Current,
    /// From the cache of an earlier run; the server has not answered in this run.
    Cached,
    /// Received in this run, before the server disconnected.
    Stale,
    /// No answer.
    Away,
    /// Invalid configuration.
    Wrong,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Cached => "cached",
            Self::Stale => "stale",
            Self::Away | Self::Wrong => "away",
        }
    }
}

impl<T> Answer<T> {
    /// Returns the server's name for a table, with its state if it is not current.
    pub(super) fn label(&self) -> String {
        match self.state {
            State::Current | State::Away | State::Wrong => self.server.to_string(),
            state => format!("{} ({})", self.server, state.name()),
        }
    }
}

/// Connects to all servers and asks each, for at most `patience`.
pub(super) async fn ask<T, F>(
    context: &RunContext,
    servers: Vec<Server>,
    patience: Duration,
    ask: fn(Connection) -> F,
) -> Vec<Answer<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    // One deadline for all servers, so that the total time is bounded.
    let deadline = Instant::now() + patience;
    let mut tasks = JoinSet::new();
    let mut waiting: Vec<Option<Server>> = servers.iter().cloned().map(Some).collect();
    for (index, server) in servers.into_iter().enumerate() {
        let context = context.clone();
        tasks.spawn(async move {
            let outcome = match context.connect(&server).await {
                Ok(connection) => ask(connection).await,
                Err(error) => Err(error),
            };
            (index, outcome.map_err(|error| format!("{error}{}", context.hint(&server, &error))))
        });
    }
    // Indexed like the servers, so that the output keeps their order.
    let mut answers: Vec<Option<Answer<T>>> = waiting.iter().map(|_| None).collect();
    loop {
        let names: Vec<Arc<str>> =
            waiting.iter().flatten().map(|it| Arc::clone(&it.name)).collect();
        let next = tokio::time::timeout_at(deadline, tasks.join_next());
        let Ok(Some(done)) = context.wait(|| waiting_for(&names), next).await else { break };
        // A task that panicked counts as late.
        let Ok((index, outcome)) = done else { continue };
        let Some(server) = waiting.get_mut(index).and_then(Option::take) else { continue };
        let answer = match outcome {
            Ok(items) => Answer::current(&server, items),
            Err(reason) => Answer::away(&server.name, server.mistake().is_some(), reason),
        };
        if let Some(place) = answers.get_mut(index) {
            *place = Some(answer);
        }
    }
    // Connection attempts in progress are abandoned at the end of the run.
    tasks.abort_all();
    let late =
        |server: Option<Server>| Some(Answer::away(&server?.name, false, too_late(patience)));
    answers
        .into_iter()
        .zip(waiting)
        .filter_map(|(answer, it)| answer.or_else(|| late(it)))
        .collect()
}

impl<T> Answer<T> {
    fn current(server: &Server, items: T) -> Self {
        let server = Arc::clone(&server.name);
        Self { server, state: State::Current, reason: None, items: Some(items) }
    }

    pub(super) fn away(server: &Arc<str>, is_wrong: bool, reason: String) -> Self {
        let server = Arc::clone(server);
        let state = if is_wrong { State::Wrong } else { State::Away };
        Self { server, state, reason: Some(reason), items: None }
    }
}

/// Returns the reason for a server that did not answer in time.
pub(super) fn too_late(patience: Duration) -> String {
    let seconds = patience.as_secs_f64();
    format!("no answer within {seconds:.1} s; --timeout allows more time").replace(".0 s", " s")
}

/// Returns the progress text while servers are waited for.
pub(super) fn waiting_for(names: &[Arc<str>]) -> String {
    let list = nearest::list(names.iter().map(|it| &**it));
    match names.len() {
        1 => format!("connecting to {list}"),
        count => format!("connecting to {count} servers: {list}"),
    }
}

/// Prints the servers that did not answer or are not current. Returns 1 if no server answered.
pub(super) fn tell<T>(answers: &[Answer<T>]) -> ExitCode {
    for answer in answers {
        let server = name(&answer.server);
        let Some(reason) = &answer.reason else { continue };
        match answer.state {
            State::Cached => {
                complain(&format!("{server} is shown from the cache: {reason}"));
            }
            State::Stale => complain(&format!("{server} has disconnected: {reason}")),
            State::Wrong => complain(&format!("{server} cannot be used: {reason}")),
            _ => complain(&format!("{server} is not available: {reason}")),
        }
    }
    // A cached list counts as an answer.
    let has_any = answers.is_empty() || answers.iter().any(|it| it.items.is_some());
    ExitCode::from(u8::from(!has_any))
}

/// Writes `{"servers": [...]}`. `lists` returns further members of a server as JSON.
pub(super) fn json<T>(
    out: &mut dyn Write,
    answers: &[Answer<T>],
    lists: impl Fn(&T) -> String,
) -> io::Result<()> {
    let mut servers = Vec::new();
    for answer in answers {
        let name = crate::json::line(&&*answer.server)?;
        let state = crate::json::line(&answer.state.name())?;
        let reason = crate::json::line(&answer.reason)?;
        let lists = answer.items.as_ref().map(|items| format!(",{}", lists(items)));
        let lists = lists.unwrap_or_default();
        servers.push(format!("{{\"name\":{name},\"state\":{state},\"reason\":{reason}{lists}}}"));
    }
    writeln!(out, "{{\"servers\":[{}]}}", servers.join(","))
}

/// Returns a JSON list as a member of an object.
pub(super) fn json_list<'a>(key: &str, items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<_> = items.into_iter().map(crate::json::escaped).collect();
    format!("\"{key}\":[{}]", items.join(","))
}
