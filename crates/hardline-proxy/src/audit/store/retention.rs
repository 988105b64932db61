//! Pruning: deletes old or excess records in small steps.
//!
//! Each step is one short transaction, so that other processes do not wait long. Messages and
//! counters go first, then events and findings of a session that has far too many. Whole sessions
//! with their findings go only if they are too old, or if nothing else is left and the database is
//! still too large.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Result};

use super::super::Retention;
use super::{Store, StoreError};

/// Rows that one step deletes from a table.
const STEP_ROWS: i64 = 500;
/// Number of events, or of findings, above which a session counts as a flood.
const FLOOD_ROWS: i64 = 5000;
/// Free pages that one step returns to the file system.
const STEP_PAGES: u32 = 500;
/// Time for which a session without an end counts as running, in microseconds: one day.
const RUNNING: i64 = 24 * 60 * 60 * 1_000_000;

/// Number of records deleted by one step, or by all steps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Pruned {
    /// Messages with a row of their own.
    pub messages: u64,
    /// Counters.
    pub counters: u64,
    /// Sessions with all their records.
    pub sessions: u64,
    /// Bytes by which the file shrank.
    pub bytes: u64,
}

impl Pruned {
    /// Adds the numbers of another step.
    pub(in super::super) fn add(&mut self, step: Self) {
        self.messages += step.messages;
        self.counters += step.counters;
        self.sessions += step.sessions;
        self.bytes += step.bytes;
    }
}

impl Store {
    /// Claims the pruning for this process. Returns false if another process pruned within the last
    /// `every` microseconds.
    pub(in super::super) fn claims_pruning(&self, now: i64, every: i64) -> Result<bool> {
        // `?1 < pruned`: a clock that was set back must not stop pruning.
        let sql = "UPDATE housekeeping SET pruned = ?1 WHERE pruned <= ?1 - ?2 OR ?1 < pruned";
        Ok(self.connection.execute(sql, (now, every))? > 0)
    }

    /// Returns true if the database is too large.
    pub(in super::super) fn is_over(&self, max_bytes: u64) -> Result<bool> {
        is_over(&self.connection, max_bytes)
    }

    /// Runs one step. Returns `None` if nothing is left to delete. `now` is in microseconds since
    /// 1970.
    pub(in super::super) fn prune(
        &mut self,
        retention: &Retention,
        now: i64,
    ) -> Result<Option<Pruned>, StoreError> {
        let (transaction, guard) = self.begin()?;
        let pruned = drop_old(&transaction, retention, now)?;
        let pruned = match pruned {
            None => drop_some(&transaction, retention.max_bytes, now)?,
            some => some,
        };
        transaction.commit()?;
        drop(guard);
        match pruned {
            None => Ok(shrink(&self.connection)?),
            some => Ok(some),
        }
    }
}

/// Deletes some records that are too old.
fn drop_old(connection: &Connection, retention: &Retention, now: i64) -> Result<Option<Pruned>> {
    let before = |age: Duration| now - i64::try_from(age.as_micros()).unwrap_or(now);
    let messages = before(retention.messages);
    let sql = "DELETE FROM messages WHERE at < ?1
               AND id IN (SELECT id FROM messages ORDER BY id LIMIT ?2)";
    let count = connection.execute(sql, (messages, STEP_ROWS))?;
    if count > 0 {
        return Ok(Some(Pruned { messages: count as u64, ..Pruned::default() }));
    }
    let sql = "DELETE FROM counters WHERE (session, second, direction, method, verdict) IN
               (SELECT session, second, direction, method, verdict FROM counters
                WHERE second < ?1 LIMIT ?2)";
    let count = connection.execute(sql, (messages, STEP_ROWS))?;
    if count > 0 {
        return Ok(Some(Pruned { counters: count as u64, ..Pruned::default() }));
    }
    let sessions = before(retention.findings.max(retention.messages));
    // Names of imported spill files are needed only as long as such a file may still exist.
    connection.execute("DELETE FROM spills WHERE at < ?1", [sessions])?;
    let sql = "SELECT id FROM sessions WHERE seen < ?1 ORDER BY id LIMIT 1";
    let old = connection.query_row(sql, [sessions], |row| row.get("id")).optional()?;
    old.map(|id| drop_session(connection, id)).transpose()
}

/// Deletes some of the oldest records if the database is too large.
fn drop_some(connection: &Connection, max_bytes: u64, now: i64) -> Result<Option<Pruned>> {
    // Free pages do not count: new records reuse them.
    let used =
        pages(connection, "page_count")?.saturating_sub(pages(connection, "freelist_count")?);
    if used * pages(connection, "page_size")? <= max_bytes {
        return Ok(None);
    }
    let sql = "DELETE FROM messages WHERE id IN (SELECT id FROM messages ORDER BY id LIMIT ?1)";
    let count = connection.execute(sql, [STEP_ROWS])?;
    if count > 0 {
        return Ok(Some(Pruned { messages: count as u64, ..Pruned::default() }));
    }
    let sql = "DELETE FROM counters WHERE (session, second, direction, method, verdict) IN
               (SELECT session, second, direction, method, verdict FROM counters LIMIT ?1)";
    let count = connection.execute(sql, [STEP_ROWS])?;
    if count > 0 {
        return Ok(Some(Pruned { counters: count as u64, ..Pruned::default() }));
    }
    if let Some(pruned) = drop_flood(connection)? {
        return Ok(Some(pruned));
    }
    // A session with a recent record may still be running.
    let sql = "SELECT id FROM sessions WHERE ended IS NOT NULL OR seen < ?1 ORDER BY id LIMIT 1";
    let oldest = connection.query_row(sql, [now - RUNNING], |row| row.get("id")).optional()?;
    oldest.map(|id| drop_session(connection, id)).transpose()
}

/// Deletes some of the oldest events and findings of the session that has most of them, so that a
/// server that floods the database loses its own records and not those of others.
fn drop_flood(connection: &Connection) -> Result<Option<Pruned>> {
    for table in ["events", "findings"] {
        let sql = format!(
            "SELECT session FROM {table} GROUP BY session HAVING ?1 < COUNT(*)
             ORDER BY COUNT(*) DESC LIMIT 1"
        );
        let most = connection.query_row(&sql, [FLOOD_ROWS], |row| row.get::<_, i64>("session"));
        let most = most.optional()?;
        let Some(session) = most else { continue };
        let sql = format!(
            "DELETE FROM {table} WHERE id IN
             (SELECT id FROM {table} WHERE session = ?1 ORDER BY id LIMIT ?2)"
        );
        connection.execute(&sql, (session, STEP_ROWS))?;
        return Ok(Some(Pruned::default()));
    }
    Ok(None)
}

fn is_over(connection: &Connection, max_bytes: u64) -> Result<bool> {
    let used =
        pages(connection, "page_count")?.saturating_sub(pages(connection, "freelist_count")?);
    Ok(max_bytes < used * pages(connection, "page_size")?)
}

/// Deletes some records of a session, or the session itself once nothing else is left of it.
fn drop_session(connection: &Connection, id: i64) -> Result<Pruned> {
    for table in ["messages", "findings", "events", "launches"] {
        let sql = format!(
            "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE session = ?1 LIMIT ?2)"
        );
        let count = connection.execute(&sql, (id, STEP_ROWS))?;
        if STEP_ROWS <= i64::try_from(count).unwrap_or(0) {
            return Ok(Pruned::default());
        }
    }
    connection.execute("DELETE FROM counters WHERE session = ?1", [id])?;
    connection.execute("DELETE FROM sessions WHERE id = ?1", [id])?;
    Ok(Pruned { sessions: 1, ..Pruned::default() })
}

/// Returns some free pages to the file system.
fn shrink(connection: &Connection) -> Result<Option<Pruned>> {
    let free = pages(connection, "freelist_count")?;
    if free == 0 {
        return Ok(None);
    }
    connection.execute_batch(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
    let freed = free.saturating_sub(pages(connection, "freelist_count")?);
    let bytes = freed * pages(connection, "page_size")?;
    Ok((freed > 0).then(|| Pruned { bytes, ..Pruned::default() }))
}

fn pages(connection: &Connection, pragma: &str) -> Result<u64> {
    let count: i64 = connection.pragma_query_value(None, pragma, |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}
