//! Tests with a database that cannot be written: nothing waits for it, and no finding is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hardline_proxy::audit::AuditWriter;

use super::{PATIENCE, SECOND, Told, all, check_sums, database, found, one, open, seen};

/// Records ten findings and a hundred messages. No call may take long.
#[track_caller]
fn play(audit: &mut AuditWriter) {
    let found = found("planted");
    let start = Instant::now();
    for number in 0..100_u64 {
        let now = SECOND + Duration::from_millis(number);
        audit.message(now, &seen("tools/call"));
        if number % 10 == 0 {
            let mut found = found.clone();
            found.finding.detail = format!("planted {number}");
            audit.finding(now, &found, Some(format!("shown {number}")));
        }
    }
    assert!(start.elapsed() < SECOND, "a relay was held up");
}

fn expected() -> Vec<String> {
    (0..10).map(|number| format!("shown {}", number * 10)).collect()
}

/// Runs a session that cannot write. Everything is printed anyway, and the end does not take long.
#[track_caller]
fn check_lost(path: &Path) -> Told {
    let (mut audit, told) = open(path);
    play(&mut audit);
    told.wait_for_shown(10);
    let start = Instant::now();
    audit.close(SECOND * 3, "end", SECOND * 3);
    assert!(start.elapsed() < SECOND * 5);
    assert_eq!(told.shown(), expected());
    told
}

fn spills(path: &Path) -> Vec<PathBuf> {
    let entries = path.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("audit-spill-")).collect()
}

/// Opens the database while it can be written, so that spill files are imported.
fn open_and_close(path: &Path) {
    let (audit, told) = open(path);
    audit.close(SECOND, "end", PATIENCE);
    assert_eq!(told.warnings(), Vec::<String>::new());
}

#[test]
fn a_locked_database_costs_one_warning_and_is_written_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    open_and_close(&path);
    let locker = database(&path);
    locker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let told = check_lost(&path);
    let warnings = told.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("database is locked"), "{warnings:?}");
    let files = spills(&path);
    assert_eq!(files.len(), 1, "{files:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    drop(locker);

    let copy = fs::read(&files[0]).unwrap();
    open_and_close(&path);
    let sql = "SELECT detail FROM findings ORDER BY seq";
    assert_eq!(all(&path, sql).len(), 10);
    assert_eq!(one::<i64>(&path, "SELECT messages FROM sessions WHERE findings = 10"), 100);
    assert_eq!(one::<String>(&path, "SELECT outcome FROM sessions WHERE findings = 10"), "end");
    assert_eq!(spills(&path), Vec::<PathBuf>::new());

    // A process died after the commit and before it deleted the file.
    fs::write(&files[0], copy).unwrap();
    open_and_close(&path);
    assert_eq!(all(&path, sql).len(), 10);
    assert_eq!(spills(&path), Vec::<PathBuf>::new());
    check_sums(&path);
}

#[test]
fn a_database_that_is_free_again_takes_what_happened_in_between() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let (mut audit, told) = open(&path);
    audit.finding(SECOND, &found("before"), Some("before".to_owned()));
    told.wait_for_shown(1);
    let locker = database(&path);
    locker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    play(&mut audit);
    told.wait_for_shown(11);
    assert_eq!(spills(&path).len(), 1);
    drop(locker);
    told.wait_until(|told| 2 <= told.warnings().len());
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM findings"), 11);
    assert_eq!(one::<i64>(&path, "SELECT messages FROM sessions"), 100);
    assert_eq!(spills(&path), Vec::<PathBuf>::new());
    audit.finding(SECOND * 9, &found("after"), Some("after".to_owned()));
    audit.close(SECOND * 9, "end", PATIENCE);
    assert_eq!(told.shown().last().unwrap(), "after");
    assert_eq!(told.warnings().len(), 2, "{:?}", told.warnings());
    assert_eq!(one::<i64>(&path, "SELECT findings FROM sessions"), 12);
    check_sums(&path);
}

#[test]
fn places_that_cannot_be_written_cost_one_warning() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "no directory").unwrap();
    let taken = directory.path().join("taken");
    fs::create_dir(&taken).unwrap();
    for path in [file.join("audit.db"), taken, PathBuf::from("/proc/hardline/audit.db")] {
        let told = check_lost(&path);
        let warnings = told.warnings();
        assert!((1..=2).contains(&warnings.len()), "{warnings:?}");
        assert!(warnings[0].contains("cannot be written"), "{warnings:?}");
        let unkept = told.unkept();
        let is_aside = warnings[0].contains("records go to a spill file beside it");
        assert_eq!(unkept.len(), if is_aside { 0 } else { 10 }, "{unkept:?}");
        assert!(is_aside || unkept[9].contains("planted 90"), "{unkept:?}");
    }
}

#[test]
fn a_broken_database_is_moved_aside() {
    let noise: Vec<u8> = (0..40_000_u32).map(|it| (it * 7919 % 251) as u8).collect();
    let break_it: [fn(&Path, &[u8]); 4] = [
        |path, noise| fs::write(path, noise).unwrap(),
        |path, _| fs::write(path, "This is no database.\n".repeat(100)).unwrap(),
        |path, _| {
            let half = path.metadata().unwrap().len() / 2;
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(half).unwrap();
        },
        |path, noise| {
            let mut bytes = fs::read(path).unwrap();
            let end = bytes.len();
            bytes[4096..end].copy_from_slice(&noise.repeat(end / noise.len() + 1)[..end - 4096]);
            fs::write(path, bytes).unwrap();
        },
    ];
    for (number, break_it) in break_it.into_iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.db");
        let (mut audit, _) = open(&path);
        play(&mut audit);
        audit.close(SECOND, "end", PATIENCE);
        break_it(&path, &noise);

        let (mut audit, told) = open(&path);
        play(&mut audit);
        audit.close(SECOND * 3, "end", PATIENCE);
        assert_eq!(told.shown(), expected(), "{number}");
        let warnings = told.warnings();
        assert_eq!(warnings.len(), 1, "{number}: {warnings:?}");
        assert!(warnings[0].contains("audit.db.corrupt-"), "{warnings:?}");
        assert_eq!(one::<i64>(&path, "SELECT count(*) FROM findings"), 10, "{number}");
        check_sums(&path);
        let names = directory.path().read_dir().unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let aside = names.filter(|name| name.starts_with("audit.db.corrupt-")).count();
        assert!(1 <= aside, "{number}");
    }
}

#[test]
fn a_database_that_breaks_or_goes_while_it_is_written_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let (mut audit, told) = open(&path);
    audit.finding(SECOND, &found("first"), Some("first".to_owned()));
    told.wait_for_shown(1);
    fs::rename(&path, directory.path().join("elsewhere")).unwrap();
    audit.finding(SECOND, &found("second"), Some("second".to_owned()));
    audit.close(SECOND * 3, "end", PATIENCE);
    assert_eq!(told.shown(), ["first", "second"]);
    assert_eq!(told.warnings(), Vec::<String>::new());
    assert_eq!(all(&path, "SELECT detail FROM findings"), ["second"]);
    check_sums(&path);
}

#[test]
fn databases_of_others_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    database(&path).execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)").unwrap();
    let before = fs::read(&path).unwrap();
    let told = check_lost(&path);
    assert!(told.warnings()[0].contains("another program"), "{:?}", told.warnings());
    assert_eq!(fs::read(&path).unwrap(), before);

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    open_and_close(&path);
    database(&path).execute_batch("PRAGMA user_version = 99").unwrap();
    let before = fs::read(&path).unwrap();
    let told = check_lost(&path);
    assert_eq!(told.warnings().len(), 1);
    assert!(told.warnings()[0].contains("newer version"), "{:?}", told.warnings());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(spills(&path).len(), 1);
}
