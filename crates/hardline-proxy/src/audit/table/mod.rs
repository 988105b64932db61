//! The tables of the database, one file each: the record on its way to the table, the columns that it
//! fills, and the row that a reader returns.
//!
//! A new column is a field of the record and of the row, a line in `insert` (all in the file of the
//! table), a step in [`migration`](super::store::migration), and its name in docs/audit.md.
//!
//! Spill files contain records too, and may be of an earlier version: a new field of a record is an
//! `Option` or has `#[serde(default)]`, and no field is renamed or removed. A test imports a file of
//! the first version.
//!
//! Times are in microseconds: since the start of the session while a record is queued, since 1970
//! once the writer thread has taken it.

mod counter;
mod event;
mod finding;
mod message;
mod session;

use std::borrow::Cow;

use rusqlite::{Result, Row, Statement, ToSql, Transaction};

use super::time::Time;

pub(super) use counter::CounterRecord;
pub(super) use event::{EVENTS, EventRecord, LaunchRecord};
pub use event::{EventRow, Launch};
pub use finding::FindingRow;
pub(super) use finding::{FindingRecord, Kind, kind};
pub(super) use message::MessageRecord;
pub use message::{LoggedMessage, MessageRow};
pub(super) use session::{EndRecord, SessionRecord};
pub use session::{SessionRow, SessionStart};

/// Longest stored method, tool or id, in bytes.
const MAX_NAME_BYTES: usize = 128;
/// Longest stored text of a finding or event, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 10;

/// One second in microseconds.
pub(super) const SECOND: i64 = 1_000_000;

/// A name that is known at compile time or was read from a spill file.
type Name = Cow<'static, str>;

/// Executes an `INSERT` whose columns and values are listed together, so that their orders agree.
macro_rules! insert {
    ($to:expr, $into:literal, {
        $first:ident: $value:expr $(, $column:ident: $more:expr)* $(,)?
    } $(, $tail:literal)?) => {{
        const SQL: &str = concat!(
            $into, " (\"", stringify!($first), "\"" $(, ", \"", stringify!($column), "\"")*,
            ") VALUES (?" $(, placeholder!($column))*, ")" $(, " ", $tail)?
        );
        $to.execute(SQL, rusqlite::params![$value $(, $more)*])
    }};
}

/// The placeholder of one more column.
macro_rules! placeholder {
    ($column:ident) => {
        ", ?"
    };
}

/// Declares a row with the name of each field's column.
macro_rules! row {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident: $type:ty = $column:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, serde::Serialize)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $name {
            pub(in crate::audit) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
                Ok(Self { $($field: super::Stored::read(row, $column)?,)* })
            }
        }
    };
}

use {insert, placeholder, row};

/// Executes one statement for many rows, and prepares it only once.
pub(super) struct Repeated<'a> {
    transaction: &'a Transaction<'a>,
    statement: Option<Statement<'a>>,
}

impl<'a> Repeated<'a> {
    pub(super) fn new(transaction: &'a Transaction<'a>) -> Self {
        Self { transaction, statement: None }
    }

    fn execute(&mut self, sql: &'static str, values: &[&dyn ToSql]) -> Result<usize> {
        // A batch without messages, such as one finding, must not pay for preparing the statement.
        let statement = match &mut self.statement {
            Some(statement) => statement,
            none => none.insert(self.transaction.prepare(sql)?),
        };
        statement.execute(values)
    }
}

/// A type that is read from a column.
pub(super) trait Stored: Sized {
    fn read(row: &Row<'_>, column: &str) -> Result<Self>;
}

impl Stored for String {
    fn read(row: &Row<'_>, column: &str) -> Result<Self> {
        row.get(column)
    }
}

impl Stored for Option<String> {
    fn read(row: &Row<'_>, column: &str) -> Result<Self> {
        row.get(column)
    }
}

impl Stored for u32 {
    fn read(row: &Row<'_>, column: &str) -> Result<Self> {
        row.get(column)
    }
}

impl Stored for Time {
    fn read(row: &Row<'_>, column: &str) -> Result<Self> {
        Ok(Self(row.get(column)?))
    }
}

impl Stored for Option<Time> {
    fn read(row: &Row<'_>, column: &str) -> Result<Self> {
        Ok(row.get::<_, Option<i64>>(column)?.map(Time))
    }
}

impl Stored for u64 {
    fn read(row: &Row<'_>, column: &str) -> Result<Self> {
        // SQLite stores counts signed; they are never negative.
        Ok(Self::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
    }
}

impl Stored for Option<u64> {
    fn read(row: &Row<'_>, column: &str) -> Result<Self> {
        // Never negative in practice; another value is treated as unknown.
        Ok(row.get::<_, Option<i64>>(column)?.and_then(|it| u64::try_from(it).ok()))
    }
}

/// Converts a count to the integers of SQLite, which are signed.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn json(words: &[String]) -> String {
    // Serialization of strings cannot fail.
    serde_json::to_string(words).unwrap_or_default()
}

/// Shortens a text to the limit.
fn text(text: &str) -> String {
    cut(text, MAX_TEXT_BYTES).to_owned()
}

/// Returns the beginning of a text, cut at a character boundary.
pub(super) fn cut(text: &str, max_bytes: usize) -> &str {
    // A cut inside a character would not be valid UTF-8.
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_a_character() {
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("é", 0), "");
    }
}
