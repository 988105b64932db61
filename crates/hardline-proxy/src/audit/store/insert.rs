//! Inserts records into the tables.

use rusqlite::{Result, Transaction, params};

use super::super::queue::Batch;
use super::super::spill::Line;
use super::super::table::{Repeated, SessionRecord, signed};

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
        Ok(Self::of_session(transaction, session.insert(transaction)?))
    }

    pub(super) fn batch(&mut self, batch: &Batch) -> Result<()> {
        let mut messages = Repeated::new(self.transaction);
        for message in &batch.rows {
            message.insert(&mut messages, self.session)?;
            self.messages += 1;
            self.bytes += message.bytes;
        }
        batch.lines().try_for_each(|line| self.line(&line))
    }

    pub(super) fn line(&mut self, line: &Line<'_>) -> Result<()> {
        let (transaction, session) = (self.transaction, self.session);
        match line {
            Line::Session(_) => {}
            Line::Launch(launch) => launch.insert(transaction, session)?,
            Line::Counter(counter) => {
                counter.insert(transaction, session)?;
                self.messages += counter.messages;
                self.bytes += counter.bytes;
            }
            Line::Finding(finding) => {
                // A finding that is already stored must not be counted twice.
                if finding.insert(transaction, session)? {
                    self.findings += finding.count;
                }
            }
            Line::Event(event) => event.insert(transaction, session)?,
            Line::End(end) => end.store(transaction, session)?,
        }
        Ok(())
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
}
