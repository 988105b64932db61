//! Pruning: deletes old or excess records in small steps.
//!
//! Each step is one short transaction, so that other processes do not wait long. Messages and
//! counters go first, then events, findings and launches of a server that has far too many. Whole
//! sessions with their findings go only if they are too old, or if nothing else is left and the
//! database is still too large.
//!
//! Invariant: a database that is too large loses the rows of the server that has most of them, so
//! that a noisy server does not erase the records of others.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Result};

use super::super::Retention;
use super::{Store, StoreError};

/// Rows that one step deletes from a table.
const STEP_ROWS: i64 = 500;
/// Number of events, of findings or of launches above which those of a server count as a flood.
const FLOOD_ROWS: i64 = 5000;
/// Pruning deletes at least one in this many messages before it counts again, because counting
/// reads the whole table.
const LEAST_PART: i64 = 16;
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
        let mut largest = self.largest.take();
        if largest.is_none() && is_over(&self.connection, retention.max_bytes)? {
            // Outside of the transaction, because counting takes long and stops nobody there.
            largest = Largest::of_messages(&self.connection)?;
        }
        let (transaction, guard) = self.begin()?;
        let pruned = drop_old(&transaction, retention, now)?;
        let pruned = match pruned {
            None if is_over(&transaction, retention.max_bytes)? => {
                drop_some(&transaction, &mut largest, now)?
            }
            other => other,
        };
        transaction.commit()?;
        drop(guard);
        self.largest = largest.filter(|it| it.left > 0);
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

/// The server with most messages, and the number of its oldest ones to delete.
#[derive(Debug)]
pub(super) struct Largest {
    server: String,
    left: i64,
    /// Id of the last message that was deleted.
    last: i64,
}

impl Largest {
    /// Counts the messages of each server. Returns `None` if there are none.
    fn of_messages(connection: &Connection) -> Result<Option<Self>> {
        let counts = count_rows(connection, "messages")?;
        let Some((server, most)) = counts.first() else { return Ok(None) };
        let second = counts.get(1).map_or(0, |(_, count)| *count);
        let sum: i64 = counts.iter().map(|(_, count)| count).sum();
        let left = (most - second).max(sum / LEAST_PART).max(STEP_ROWS);
        Ok(Some(Self { server: server.clone(), left, last: 0 }))
    }

    /// Deletes the next messages. Returns their number.
    fn delete(&mut self, connection: &Connection) -> Result<i64> {
        let sql = "SELECT max(id) AS last, count(*) AS count FROM
                   (SELECT id FROM messages WHERE ?1 < id AND session IN
                    (SELECT id FROM sessions WHERE server = ?2) ORDER BY id LIMIT ?3)";
        let parameters = (self.last, &self.server, STEP_ROWS);
        let (last, count): (Option<i64>, i64) = connection
            .query_row(sql, parameters, |row| Ok((row.get("last")?, row.get("count")?)))?;
        let last = last.unwrap_or(self.last);
        let sql = "DELETE FROM messages WHERE ?1 < id AND id <= ?2 AND session IN
                   (SELECT id FROM sessions WHERE server = ?3)";
        connection.execute(sql, (self.last, last, &self.server))?;
        self.last = last;
        // A step without a full number of rows was the last one.
        self.left = if count < STEP_ROWS { 0 } else { self.left - count };
        Ok(count)
    }
}

/// Returns the number of rows that each server has in a table, largest first.
fn count_rows(connection: &Connection, table: &str) -> Result<Vec<(String, i64)>> {
    // By session first: that needs no join for each row.
    let sql = format!(
        "SELECT server, sum(rows) AS rows FROM
         (SELECT session, count(*) AS rows FROM {table} GROUP BY session)
         JOIN sessions ON sessions.id = session GROUP BY server ORDER BY 2 DESC, 1"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map((), |row| Ok((row.get("server")?, row.get("rows")?)))?;
    rows.collect()
}

/// Deletes some records of a database that is too large.
fn drop_some(
    connection: &Connection,
    largest: &mut Option<Largest>,
    now: i64,
) -> Result<Option<Pruned>> {
    if let Some(largest) = largest {
        let count = largest.delete(connection)?;
        // Even without one, the next step counts again.
        let messages = u64::try_from(count).unwrap_or(0);
        return Ok(Some(Pruned { messages, ..Pruned::default() }));
    }
    if let Some((server, _)) = count_rows(connection, "counters")?.first() {
        let sql = "DELETE FROM counters WHERE (session, second, direction, method, verdict) IN
                   (SELECT session, second, direction, method, verdict FROM counters
                    WHERE session IN (SELECT id FROM sessions WHERE server = ?1) LIMIT ?2)";
        let counters = connection.execute(sql, (server, STEP_ROWS))? as u64;
        return Ok(Some(Pruned { counters, ..Pruned::default() }));
    }
    if let Some(pruned) = drop_flood(connection)? {
        return Ok(Some(pruned));
    }
    // A session with a recent record may still be running.
    let sql = "SELECT id FROM sessions WHERE ended IS NOT NULL OR seen < ?1 ORDER BY id LIMIT 1";
    let oldest = connection.query_row(sql, [now - RUNNING], |row| row.get("id")).optional()?;
    oldest.map(|id| drop_session(connection, id)).transpose()
}

/// Deletes some of the oldest events, findings or launches of the server that has most of them, if it
/// has far too many.
fn drop_flood(connection: &Connection) -> Result<Option<Pruned>> {
    for table in ["events", "findings", "launches"] {
        let counts = count_rows(connection, table)?;
        let Some((server, _)) = counts.first().filter(|(_, count)| *count > FLOOD_ROWS) else {
            continue;
        };
        let sql = format!(
            "DELETE FROM {table} WHERE id IN
             (SELECT id FROM {table} WHERE session IN (SELECT id FROM sessions WHERE server = ?1)
              ORDER BY id LIMIT ?2)"
        );
        connection.execute(&sql, (server, STEP_ROWS))?;
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
        if i64::try_from(count).unwrap_or(0) >= STEP_ROWS {
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
