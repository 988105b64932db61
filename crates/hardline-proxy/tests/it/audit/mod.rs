//! Tests of the audit log, also with damaged databases and killed processes.

mod crowd;
mod keep;
mod migrate;
mod trouble;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::{Direction, Found, Guard};
use hardline_proxy::Verdict;
use hardline_proxy::audit::{AuditWriter, LoggedMessage, Options, Output, SessionStart};
use hardline_wire::line::Line;
use rusqlite::Connection;
use rusqlite::types::FromSql;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Texts that an audit log printed, in order.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<Output>>>);

impl Told {
    pub(crate) fn shown(&self) -> Vec<String> {
        self.texts(|tell| if let Output::Finding(text) = tell { Some(text) } else { None })
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.texts(|tell| if let Output::Warning(text) = tell { Some(text) } else { None })
    }

    /// Findings that could not be stored anywhere.
    pub(crate) fn unkept(&self) -> Vec<String> {
        let told = self.0.lock().unwrap();
        let unkept = told.iter().filter_map(|tell| match tell {
            Output::Unstored(findings) => Some(findings.clone()),
            _ => None,
        });
        unkept.flatten().collect()
    }

    fn texts(&self, text: fn(&Output) -> Option<&String>) -> Vec<String> {
        self.0.lock().unwrap().iter().filter_map(text).cloned().collect()
    }

    /// Waits until `count` texts were printed.
    #[track_caller]
    pub(crate) fn wait_for_shown(&self, count: usize) {
        self.wait_until(|told| count <= told.shown().len());
    }

    #[track_caller]
    pub(crate) fn wait_until(&self, is_so: impl Fn(&Self) -> bool) {
        for _ in 0..2000 {
            if is_so(self) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("never so: {:?}", self.0.lock().unwrap());
    }
}

pub(crate) fn open(path: &Path) -> (AuditWriter, Told) {
    open_with(Options::new(path), "files")
}

pub(crate) fn open_with(options: Options, server: &str) -> (AuditWriter, Told) {
    let told = Told::default();
    let its = told.clone();
    let tell = Box::new(move |what| its.0.lock().unwrap().push(what));
    let command = ["npx", "-y", "server-files"].map(String::from).to_vec();
    (AuditWriter::open(options, SessionStart::new(server, command, "balanced"), tell), told)
}

/// Returns a finding with the given detail.
pub(crate) fn found(detail: &str) -> Found {
    let mut guard = Guard::new(Policy::profile(Profile::Balanced));
    let line = br#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#;
    let verdict = guard.inspect(Direction::ServerToClient, &Line::of_text(line), Duration::ZERO);
    let mut found = verdict.found.first().unwrap().clone();
    found.finding.detail = detail.to_owned();
    found
}

pub(crate) fn seen(method: &str) -> LoggedMessage<'_> {
    LoggedMessage {
        direction: Direction::ClientToServer,
        method: Some(method),
        tool: None,
        call: None,
        id: None,
        bytes: 100,
        latency: None,
        verdict: Verdict::Passed,
        body: b"{}",
    }
}

pub(crate) fn database(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection
}

/// Returns the single value of a query.
#[track_caller]
pub(crate) fn one<T: FromSql>(path: &Path, sql: &str) -> T {
    database(path).query_row(sql, (), |row| row.get(0)).unwrap()
}

/// Returns all values of the single column of a query.
pub(crate) fn all(path: &Path, sql: &str) -> Vec<String> {
    let database = database(path);
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map((), |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Checks that rows and counters add up to the totals of the sessions.
#[track_caller]
pub(crate) fn check_sums(path: &Path) {
    assert_eq!(one::<String>(path, "PRAGMA integrity_check"), "ok");
    let wrong: i64 = one(
        path,
        "SELECT count(*) FROM sessions s WHERE
           s.messages <> (SELECT count(*) FROM messages m WHERE m.session = s.id)
             + (SELECT coalesce(sum(messages), 0) FROM counters c WHERE c.session = s.id)
           OR s.findings <> (SELECT coalesce(sum(count), 0) FROM findings f WHERE f.session = s.id)",
    );
    assert_eq!(wrong, 0, "sessions whose sums are wrong");
}
