//! Table `counters`: messages that were counted without a row of their own.

use rusqlite::{Result, Transaction};
use serde::{Deserialize, Serialize};

use super::{Name, insert, placeholder, signed};

/// Count of the messages of one kind in one second.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::audit) struct CounterRecord {
    /// Start of the second.
    pub(in crate::audit) second: i64,
    pub(in crate::audit) direction: Name,
    /// Method; empty if the messages have none.
    pub(in crate::audit) method: String,
    pub(in crate::audit) verdict: Name,
    pub(in crate::audit) messages: u64,
    pub(in crate::audit) bytes: u64,
}

impl CounterRecord {
    /// Adds the numbers to the row of the second.
    pub(in crate::audit) fn insert(
        &self,
        transaction: &Transaction<'_>,
        session: i64,
    ) -> Result<()> {
        insert!(transaction, "INSERT INTO counters", {
            session: session,
            second: self.second,
            direction: self.direction,
            method: self.method,
            verdict: self.verdict,
            messages: signed(self.messages),
            bytes: signed(self.bytes),
        }, "ON CONFLICT DO UPDATE SET
              messages = messages + excluded.messages, bytes = bytes + excluded.bytes")?;
        Ok(())
    }
}
