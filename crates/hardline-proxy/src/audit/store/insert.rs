//! Inserts records into the tables.

use rusqlite::{Result, Transaction, params};

use super::super::body;
use super::super::queue::Batch;
use super::super::record::{
    CounterRecord, EndRecord, EventRecord, FindingRecord, LaunchRecord, MessageRecord,
    SessionRecord,
};
use super::super::spill::Line;

/// Inserts records of one session in a transaction, and counts them.
pub(super) struct Insert<'a> {
    transaction: &'a Transaction<'a>,
    session: i64,
    messages: u64,
    bytes: u64,
    findings: u64,
}

impl<'a> Insert<'a> {
    pub(super) fn of_session(transaction: &'a Transaction<'a>, session: i64) -> Self {
        Self { transaction, session, messages: 0, bytes: 0, findings: 0 }
    }

    /// Creates the session's row if there is none.
    pub(super) fn new_session(
        transaction: &'a Transaction<'a>,
        session: &SessionRecord,
    ) -> Result<Self> {
        // `OR IGNORE`: the session may already have a row, for example from a spill file.
        transaction.execute(
            "INSERT OR IGNORE INTO sessions
               (key, server, command, profile, version, pid, cwd, started, seen)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
            params![
                session.key,
                session.server,
                json(&session.command),
                session.profile,
                session.version,
                session.pid,
                session.cwd,
                session.started
            ],
        )?;
        let sql = "SELECT id FROM sessions WHERE key = ?1";
        let id = transaction.query_row(sql, [&session.key], |row| row.get("id"))?;
        Ok(Self::of_session(transaction, id))
    }

    pub(super) fn batch(&mut self, batch: &Batch) -> Result<()> {
        self.rows(&batch.rows)?;
        batch.lines().try_for_each(|line| self.line(&line))
    }

    pub(super) fn line(&mut self, line: &Line<'_>) -> Result<()> {
        match line {
            Line::Session(_) => Ok(()),
            Line::Launch(launch) => self.launch(launch),
            Line::Counter(counter) => self.counter(counter),
            Line::Finding(finding) => self.finding(finding),
            Line::Event(event) => self.event(event),
            Line::End(end) => self.end(end),
        }
    }

    /// Updates the session's totals. Returns its row id, or `None` if the row was deleted.
    pub(super) fn finish(self, now: i64) -> Result<Option<i64>> {
        let found = self.transaction.execute(
            "UPDATE sessions SET seen = max(seen, ?2), messages = messages + ?3, bytes = bytes + ?4,
               findings = findings + ?5 WHERE id = ?1",
            params![
                self.session,
                now,
                signed(self.messages),
                signed(self.bytes),
                signed(self.findings)
            ],
        )?;
        Ok((found > 0).then_some(self.session))
    }

    fn rows(&mut self, rows: &[MessageRecord]) -> Result<()> {
        // A batch without messages, such as one finding, must not pay for preparing the statement.
        if rows.is_empty() {
            return Ok(());
        }
        let mut statement = self.transaction.prepare(
            "INSERT INTO messages
               (session, at, direction, method, tool, request, bytes, latency, verdict, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?;
        for row in rows {
            statement.execute(params![
                self.session,
                row.at,
                row.direction.name(),
                row.method.as_deref(),
                row.tool.as_deref(),
                row.id.as_deref(),
                signed(row.bytes),
                row.latency,
                row.verdict.name(),
                row.body.as_ref().map(|text| body::kept(text, row.bytes))
            ])?;
            self.messages += 1;
            self.bytes += row.bytes;
        }
        Ok(())
    }

    fn counter(&mut self, counter: &CounterRecord) -> Result<()> {
        self.transaction.execute(
            "INSERT INTO counters (session, second, direction, method, verdict, messages, bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET
               messages = messages + excluded.messages, bytes = bytes + excluded.bytes",
            params![
                self.session,
                counter.second,
                counter.direction,
                counter.method,
                counter.verdict,
                signed(counter.messages),
                signed(counter.bytes)
            ],
        )?;
        self.messages += counter.messages;
        self.bytes += counter.bytes;
        Ok(())
    }

    fn finding(&mut self, finding: &FindingRecord) -> Result<()> {
        let added = self.transaction.execute(
            "INSERT OR IGNORE INTO findings (session, seq, at, rule, severity, direction, action,
               path, \"offset\", length, excerpt, detail, count)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                self.session,
                finding.seq,
                finding.at,
                finding.rule,
                finding.severity,
                finding.direction,
                finding.action,
                finding.path,
                signed(finding.offset),
                signed(finding.length),
                finding.excerpt,
                finding.detail,
                signed(finding.count)
            ],
        )?;
        // A finding that is already stored must not be counted twice.
        if added > 0 {
            self.findings += finding.count;
        }
        Ok(())
    }

    fn event(&mut self, event: &EventRecord) -> Result<()> {
        self.transaction.execute(
            "INSERT OR IGNORE INTO events (session, seq, at, kind, text)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![self.session, event.seq, event.at, event.kind, event.text],
        )?;
        // The client's name is shown with the session, so it is stored there as well.
        if event.kind == "client" {
            let sql = "UPDATE sessions SET client = ?2 WHERE id = ?1";
            self.transaction.execute(sql, params![self.session, event.text])?;
        }
        Ok(())
    }

    fn launch(&mut self, launch: &LaunchRecord) -> Result<()> {
        self.transaction.execute(
            "INSERT OR IGNORE INTO launches (session, seq, at, argv, path, sha256)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.session,
                launch.seq,
                launch.at,
                json(&launch.argv),
                launch.path,
                launch.sha256
            ],
        )?;
        Ok(())
    }

    fn end(&mut self, end: &EndRecord) -> Result<()> {
        let sql = "UPDATE sessions SET ended = ?2, outcome = ?3 WHERE id = ?1";
        self.transaction.execute(sql, params![self.session, end.at, end.outcome])?;
        Ok(())
    }
}

fn json(words: &[String]) -> String {
    // Serialization of strings cannot fail.
    serde_json::to_string(words).unwrap_or_default()
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
