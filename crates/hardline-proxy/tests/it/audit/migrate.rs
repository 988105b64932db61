//! Tests with databases and spill files of other versions.

use std::fs;
use std::path::Path;

use hardline_proxy::audit::read::{Query, ReadError, Reader};
use hardline_proxy::audit::time::Time;

use super::{PATIENCE, SECOND, all, check_sums, database, found, one, open, seen};

/// A database as version 1 wrote it.
const VERSION_1: &str = include_str!("version_1.sql");

/// A spill file as version 1 wrote it.
const SPILL_1: &str = include_str!("spill_1.jsonl");

/// Reads the session of [`VERSION_1`] with all its records.
#[track_caller]
fn check_old_session(path: &Path) {
    let reader = Reader::open(path).unwrap();
    let session = Some("00112233445566aa".to_owned());
    let mut query = Query::default();
    query.session = session;
    let mut texts = Vec::new();
    let mut keep = |text: String| -> Result<(), rusqlite::Error> {
        texts.push(text);
        Ok(())
    };
    reader
        .sessions(&query, |it| {
            let client = it.client.unwrap_or_default();
            let ended = it.ended.map(Time::short).unwrap_or_default();
            let text = format!("{} {client} {ended} {} {}", it.server, it.messages, it.findings);
            keep(text)
        })
        .unwrap();
    reader
        .messages(&query, |it| {
            let (method, latency) = (it.method.unwrap_or_default(), it.latency);
            keep(format!("{method} {:?} {latency:?} {} {:?}", it.id, it.verdict, it.body))
        })
        .unwrap();
    reader
        .findings(&query, |it| {
            keep(format!("{} {} {} {} {}", it.rule, it.severity, it.offset, it.excerpt, it.count))
        })
        .unwrap();
    reader.events(&query, |it| keep(format!("{} {} {:?}", it.kind, it.text, it.sha256))).unwrap();
    let expected = [
        "files Some Client 1.2 2026-07-28 09:30:09 5 3",
        r#"tools/call Some("\"a\"") None passed None"#,
        r#"tools/call Some("\"a\"") Some(1500) sanitized Some("{}")"#,
        r#"frame.duplicate-key high 33 "result" 3"#,
        r#"launch ["npx","-y","server-files"] Some("abab")"#,
        "server-ended the server exited with code 0 None",
    ];
    assert_eq!(texts, expected);
    assert_eq!(reader.counted(&query).unwrap(), 3);
}

#[test]
fn a_database_of_version_1_is_read_and_continued() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    database(&path).execute_batch(VERSION_1).unwrap();
    check_old_session(&path);

    let (mut audit, told) = open(&path);
    audit.message(SECOND, &seen("tools/call"));
    audit.finding(SECOND, &found("new"), None);
    audit.close(SECOND * 2, "end", PATIENCE);
    assert_eq!(told.warnings(), Vec::<String>::new());
    assert_eq!(
        all(&path, "SELECT detail FROM findings ORDER BY id"),
        ["the key occurs twice", "new"]
    );
    check_old_session(&path);
    check_sums(&path);
}

#[test]
fn a_database_of_a_newer_version_is_neither_read_nor_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    database(&path).execute_batch(VERSION_1).unwrap();
    database(&path).execute_batch("PRAGMA user_version = 99").unwrap();
    let error = Reader::open(&path).unwrap_err();
    assert!(matches!(error, ReadError::Newer(_)), "{error}");
    assert!(error.to_string().contains("a newer version of hardline"), "{error}");

    let (mut audit, told) = open(&path);
    audit.finding(SECOND, &found("new"), None);
    audit.close(SECOND * 2, "end", PATIENCE);
    assert!(told.warnings()[0].contains("a newer version of hardline"), "{:?}", told.warnings());
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM findings"), 1);
    assert_eq!(one::<i64>(&path, "PRAGMA user_version"), 99);
}

/// Opens a database beside the spill file `text`. Returns the warnings.
#[track_caller]
fn import(path: &Path, text: &str) -> Vec<String> {
    let file = path.with_file_name("audit-spill-4711-00112233445566aa-0.jsonl");
    fs::write(&file, text).unwrap();
    let (audit, told) = open(path);
    audit.close(SECOND, "end", PATIENCE);
    assert!(!file.exists(), "the file was imported");
    told.warnings()
}

/// If this fails, a field of a record lacks `#[serde(default)]`.
#[test]
fn a_spill_file_of_version_1_is_imported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    assert_eq!(import(&path, SPILL_1), Vec::<String>::new());
    let session = "FROM sessions WHERE key = '00112233445566aa'";
    assert_eq!(one::<String>(&path, &format!("SELECT server {session}")), "files");
    assert_eq!(one::<String>(&path, &format!("SELECT client {session}")), "Some Client 1.2");
    assert_eq!(one::<String>(&path, &format!("SELECT cwd {session}")), "/work");
    assert_eq!(one::<i64>(&path, &format!("SELECT messages {session}")), 5);
    assert_eq!(one::<i64>(&path, &format!("SELECT findings {session}")), 3);
    assert_eq!(
        one::<String>(&path, &format!("SELECT outcome {session}")),
        "the server ended with 0"
    );
    assert_eq!(all(&path, "SELECT detail FROM findings"), ["the key occurs twice"]);
    assert_eq!(all(&path, "SELECT sha256 FROM launches"), ["abab"]);
    assert_eq!(all(&path, "SELECT kind FROM events ORDER BY seq"), ["client", "server-ended"]);
    check_sums(&path);
}

#[test]
fn a_line_that_cannot_be_read_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    // The last line is one that a dying process did not finish.
    let text = format!("{SPILL_1}{{\"finding\":{{}}}}\nno JSON\n{{\"finding\":");
    let warnings = import(&path, &text);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("lacks 2 records of a spill file"), "{warnings:?}");
    assert_eq!(all(&path, "SELECT detail FROM findings"), ["the key occurs twice"]);

    // Without its session, no record can be attributed.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let records: String = SPILL_1.split_inclusive('\n').skip(1).collect();
    assert!(import(&path, &records)[0].contains("lacks 6 records"), "each is counted");
}
