//! Versions of the audit database, and the steps from each version to the next.
//!
//! A change of the tables is a new step in [`STEPS`]: a statement, or `include_str!` of a file
//! `migration/N.sql` if it is long. A step on the main branch never changes.
//!
//! Invariants:
//! - All steps of an upgrade are one transaction, which also stores the new version.
//! - A database of a newer version, or of another program, is left alone.

use rusqlite::{Connection, Result, TransactionBehavior};

use super::StoreError;

/// Steps in their order. Step `n` leads from version `n` to version `n + 1`; an empty database has
/// version 0.
const STEPS: [&str; 1] = [include_str!("migration/1.sql")];
/// Current version of the tables.
#[expect(clippy::cast_possible_wrap, reason = "the number of steps is small")]
pub(in super::super) const VERSION: i64 = STEPS.len() as i64;
/// Application id of the database: `HLau`.
const APPLICATION: i64 = 0x484c_6175;

/// Returns the version of an audit database, 0 if it is empty.
///
/// # Errors
///
/// [`StoreError::Newer`] or [`StoreError::Foreign`] if this program must not use it.
pub(in super::super) fn version(connection: &Connection) -> Result<i64, StoreError> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    if application == APPLICATION {
        return if version <= VERSION { Ok(version) } else { Err(StoreError::Newer(version)) };
    }
    let sql = "SELECT count(*) AS tables FROM sqlite_schema";
    let tables: i64 = connection.query_row(sql, (), |row| row.get("tables"))?;
    if tables == 0 && application == 0 { Ok(0) } else { Err(StoreError::Foreign) }
}

/// Upgrades a database to the current version. Creates the tables if it is empty.
///
/// # Errors
///
/// As [`version`], or an error of a step; the database is then unchanged.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    migrate_with(connection, &STEPS)
}

fn migrate_with(connection: &mut Connection, steps: &[&str]) -> Result<(), StoreError> {
    // Takes the write lock before the version is read, so that each step runs once.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let before = usize::try_from(version(&transaction)?).unwrap_or_default();
    for step in steps.get(before..).unwrap_or_default() {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    let version = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    transaction.pragma_update(None, "user_version", version)?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn columns(connection: &Connection, table: &str) -> Vec<String> {
        let sql = "SELECT name FROM pragma_table_info(?1)";
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([table], |row| row.get("name")).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// Returns the steps of a version after this one.
    fn followed_by(step: &'static str) -> Vec<&'static str> {
        STEPS.iter().copied().chain([step]).collect()
    }

    #[test]
    fn runs_the_steps_that_a_database_lacks() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert_eq!(version(&connection).unwrap(), 0);
        migrate(&mut connection).unwrap();
        assert_eq!(version(&connection).unwrap(), VERSION);
        migrate(&mut connection).unwrap();
        let sql = "SELECT count(*) AS rows FROM housekeeping";
        let rows: i64 = connection.query_row(sql, (), |row| row.get("rows")).unwrap();
        assert_eq!(rows, 1, "a step ran twice");

        let later = followed_by("ALTER TABLE spills ADD COLUMN size INTEGER");
        migrate_with(&mut connection, &later).unwrap();
        assert_eq!(columns(&connection, "spills"), ["name", "at", "size"]);
        let is_newer = |it: &StoreError| matches!(it, StoreError::Newer(it) if *it == VERSION + 1);
        assert!(version(&connection).is_err_and(|it| is_newer(&it)));
        assert!(migrate(&mut connection).is_err_and(|it| is_newer(&it)));
    }

    #[test]
    fn the_page_in_docs_names_every_column() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
        let page = fs::read_to_string(path).unwrap();
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        for table in ["sessions", "launches", "messages", "counters", "findings", "events"] {
            let start = format!("| `{table}` | `");
            let row = page.lines().rfind(|line| line.starts_with(&start));
            let row = row.unwrap_or_else(|| panic!("{table} has no row"));
            for column in columns(&connection, table) {
                assert!(row.contains(&format!("`{column}`")), "{table}.{column} is not in {row}");
            }
        }
    }

    #[test]
    fn a_failed_step_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let broken = followed_by("ALTER TABLE spills ADD COLUMN size INTEGER; SELECT nonsense");
        assert!(migrate_with(&mut connection, &broken).is_err());
        assert_eq!(version(&connection).unwrap(), VERSION);
        assert_eq!(columns(&connection, "spills"), ["name", "at"]);
    }

    #[test]
    fn a_database_of_another_program_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE other (x)").unwrap();
        assert!(matches!(migrate(&mut connection), Err(StoreError::Foreign)));
        assert_eq!(columns(&connection, "spills"), [""; 0]);
    }
}
