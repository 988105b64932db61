//! Tests of many processes that share one database, and of processes that are killed.
//!
//! The test binary starts itself again for each process. With [`CHILD`] set, the test [`child`] is
//! such a process.

#![cfg(unix)]

use std::collections::HashSet;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hardline_proxy::audit::{AuditWriter, Options, Output, SessionStart};
use hardline_testkit::generate::Rng;

use super::{PATIENCE, SECOND, all, check_sums, database, found, one, open, seen};

const CHILD: &str = "HARDLINE_AUDIT_CHILD";
const PROCESSES: usize = 50;
const KILLS: usize = 100;

/// Body of one process. Writes every printed text to a file of its own, and at the end the number
/// sent.
#[test]
fn child() {
    let Ok(directory) = env::var(CHILD) else { return };
    let rounds: u32 = env::var("ROUNDS").unwrap().parse().unwrap();
    let text = env::var("TEXT").unwrap_or_default();
    let directory = PathBuf::from(directory);
    let pid = std::process::id();
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(directory.join(format!("told-{pid}")))
        .unwrap();
    let mut last = file.try_clone().unwrap();
    let tell = Box::new(move |tell| {
        let mut file = &file;
        let line = match tell {
            Output::Finding(text) => format!("shown {text}\n"),
            Output::Warning(text) => format!("warning {text}\n"),
            Output::Unstored(findings) => {
                findings.iter().map(|it| format!("unkept {it:.200}\n")).collect()
            }
        };
        file.write_all(line.as_bytes()).unwrap();
    });
    let options = Options::new(directory.join("audit.db"));
    let mut audit =
        AuditWriter::open(options, SessionStart::new("crowd", Vec::new(), "strict"), tell);
    let start = Instant::now();
    let mut found = found("");
    for round in 0..rounds {
        let now = start.elapsed();
        for _ in 0..40 {
            audit.message(now, &seen("tools/call"));
        }
        found.finding.detail = format!("{pid}-{round}");
        found.finding.excerpt = text.clone();
        audit.finding(now, &found, Some(found.finding.detail.clone()));
        sleep(Duration::from_millis(15));
    }
    audit.close(start.elapsed(), "end", PATIENCE);
    last.write_all(format!("sent {}\n", rounds * 40).as_bytes()).unwrap();
}

fn command(program: &Path, directory: &Path, rounds: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "audit::crowd::child", "--nocapture", "--test-threads", "1"]);
    command.env(CHILD, directory).env("ROUNDS", rounds.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn start(directory: &Path, rounds: u32) -> Child {
    command(&env::current_exe().unwrap(), directory, rounds).spawn().unwrap()
}

/// Returns the texts that the processes printed, line by line. Incomplete lines are ignored.
fn told(directory: &Path, kind: &str) -> Vec<String> {
    let files = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let files =
        files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("told-"));
    let mut lines = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap();
        let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        lines.extend(
            whole.filter_map(|line| line.strip_prefix(kind)).map(|it| it.trim().to_owned()),
        );
    }
    lines
}

/// Checks that every printed finding is in the database after the spill files are imported.
#[track_caller]
fn check(directory: &Path) {
    let path = directory.join("audit.db");
    let (audit, own) = open(&path);
    audit.close(SECOND, "end", PATIENCE);
    assert_eq!(own.warnings(), Vec::<String>::new());
    check_sums(&path);
    let kept: HashSet<String> = all(&path, "SELECT detail FROM findings").into_iter().collect();
    let told = told(directory, "shown");
    let missing: Vec<_> = told.iter().filter(|it| !kept.contains(*it)).collect();
    assert!(missing.is_empty(), "{} of {} are missing: {missing:?}", missing.len(), told.len());
    assert!(!told.is_empty());
    assert_eq!(told.iter().collect::<HashSet<_>>().len(), told.len(), "told twice");
}

#[test]
fn fifty_processes_write_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let children: Vec<Child> = (0..PROCESSES).map(|_| start(directory.path(), 30)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    check(directory.path());
    let path = directory.path().join("audit.db");
    assert_eq!(told(directory.path(), "sent").len(), PROCESSES);
    let sql =
        "SELECT count(*) FROM sessions WHERE messages = 1200 AND findings = 30 AND outcome = 'end'";
    assert_eq!(one::<i64>(&path, sql), i64::try_from(PROCESSES).unwrap());
    assert_eq!(told(directory.path(), "shown").len(), PROCESSES * 30);
}

#[test]
fn a_hundred_kills_lose_no_finding_that_was_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(u64::from(std::process::id()));
    let mut children: Vec<Child> =
        (0..PROCESSES).map(|_| start(directory.path(), 100_000)).collect();
    for _ in 0..KILLS {
        sleep(Duration::from_millis(rng.below(60) as u64));
        let victim = rng.below(children.len());
        children[victim].kill().unwrap();
        children[victim].wait().unwrap();
        children[victim] = start(directory.path(), 100_000);
    }
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    check(directory.path());
    let path = directory.path().join("audit.db");
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM sessions WHERE ended IS NOT NULL"), 1);
}

#[test]
fn kills_while_the_database_is_locked_lose_no_finding_that_was_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut children: Vec<Child> = (0..8).map(|_| start(directory.path(), 100_000)).collect();
    while told(directory.path(), "shown").len() < 50 {
        sleep(Duration::from_millis(10));
    }
    let locker = database(&directory.path().join("audit.db"));
    locker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let before = told(directory.path(), "shown").len();
    while told(directory.path(), "shown").len() < before + 400 {
        sleep(Duration::from_millis(10));
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    drop(locker);
    check(directory.path());
}

#[test]
fn fifty_processes_notice_a_broken_database_and_one_moves_it_aside() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("audit.db"), "This is no database.\n".repeat(1000)).unwrap();
    let children: Vec<Child> = (0..PROCESSES).map(|_| start(directory.path(), 10)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    check(directory.path());
    let aside = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let aside: Vec<_> =
        aside.filter(|it| it.to_string_lossy().starts_with("audit.db.corrupt-")).collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
    let warnings = told(directory.path(), "warning");
    assert_eq!(warnings.iter().filter(|it| it.contains("it was moved to")).count(), 1);
    assert_eq!(told(directory.path(), "shown").len(), PROCESSES * 10);
}

/// Limits all files to 256 KiB, as if the disk were full.
#[test]
fn a_full_disk_costs_a_warning_and_what_could_not_be_kept_is_counted() {
    for (rounds, text) in [(60, "x".repeat(4000)), (200, "x".repeat(4000))] {
        let directory = tempfile::tempdir().unwrap();
        let script = "trap '' XFSZ; ulimit -f 512; exec \"$@\"";
        let child = command(&env::current_exe().unwrap(), directory.path(), rounds);
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).arg(child.get_program()).args(child.get_args());
        shell.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("TEXT", &text).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(shell.status().unwrap().success());

        let told_lines = told(directory.path(), "shown");
        assert_eq!(told_lines.len(), rounds as usize, "all of them are told");
        let warnings = told(directory.path(), "warning");
        let path = directory.path().join("audit.db");
        let (audit, _) = open(&path);
        audit.close(SECOND, "end", PATIENCE);
        check_sums(&path);
        let kept: HashSet<String> = all(&path, "SELECT detail FROM findings").into_iter().collect();
        let missing = told_lines.iter().filter(|it| !kept.contains(*it)).count();
        let unkept = told(directory.path(), "unkept");
        assert_eq!(missing, unkept.len(), "{warnings:?}");
        let is_listed = |text: &String| unkept.iter().any(|it| it.contains(&**text));
        assert!(told_lines.iter().all(|it| kept.contains(it) || is_listed(it)), "{unkept:?}");
        assert!(rounds < 100 || (missing > 0 && kept.len() > 50), "{missing}");
        assert!((1..=3).contains(&warnings.len()), "{warnings:?}");
    }
}
