//! Tests of the audit log in the normal case.

use std::time::Duration;

use hardline_guard::Direction;
use hardline_proxy::Verdict;
use hardline_proxy::audit::{Launch, LoggedMessage, Options, Retention, prune};
use hardline_wire::id::Id;

use super::{PATIENCE, SECOND, all, check_sums, database, found, one, open, open_with, seen};

#[test]
fn a_session_is_kept_with_all_that_happened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/hardline/audit.db");
    let (mut audit, told) = open(&path);
    let launch = Launch {
        argv: vec!["npx".into(), "server".into(), "--api-key".into(), "hunter2hunter2".into()],
        path: Some("/usr/bin/npx".into()),
        sha256: Some("ab".repeat(32)),
    };
    audit.launch(Duration::ZERO, &launch);
    let id = Id::from_string("a\"b");
    audit.message(
        SECOND,
        &LoggedMessage { id: Some(&id), tool: Some("read"), ..seen("tools/call") },
    );
    audit.message(
        SECOND,
        &LoggedMessage {
            direction: Direction::ServerToClient,
            latency: Some(Duration::from_micros(1500)),
            verdict: Verdict::Sanitized,
            bytes: 7,
            ..seen("tools/call")
        },
    );
    audit.finding(SECOND, &found("twice"), Some("shown".to_owned()));
    audit.event(SECOND, "client", "Some Client 1.2");
    audit.event(SECOND, "server-ended", "the server ended with 1");
    audit.close(SECOND * 2, "server ended with 0", PATIENCE);

    assert_eq!(told.shown(), ["shown"]);
    assert_eq!(told.warnings(), Vec::<String>::new());
    let sql = "SELECT server || ' ' || command || ' ' || profile || ' ' || client || ' ' || outcome || ' '
               || messages || ' ' || bytes || ' ' || findings FROM sessions WHERE ended BETWEEN started + 1900000 AND started + 2100000";
    let expected =
        r#"files ["npx","-y","server-files"] balanced Some Client 1.2 server ended with 0 2 107 1"#;
    assert_eq!(one::<String>(&path, sql), expected);
    let sql = "SELECT direction || ' ' || method || ' ' || coalesce(tool, '-') || ' '
               || coalesce(request, '-') || ' ' || bytes || ' ' || coalesce(latency, '-') || ' ' || verdict
               || coalesce(body, '') FROM messages ORDER BY id";
    let expected = [
        r#"client-to-server tools/call read "a\"b" 100 - passed"#,
        "server-to-client tools/call - - 7 1500 sanitized",
    ];
    assert_eq!(all(&path, sql), expected);
    let sql = "SELECT rule || ' ' || severity || ' ' || action || ' ' || direction || ' ' || detail || ' '
               || count FROM findings";
    assert_eq!(all(&path, sql), ["frame.duplicate-key high block server-to-client twice 1"]);
    let sql = "SELECT kind || ' ' || text FROM events ORDER BY id";
    assert_eq!(all(&path, sql), ["client Some Client 1.2", "server-ended the server ended with 1"]);
    let sql = "SELECT argv || ' ' || path || ' ' || sha256 FROM launches";
    let expected =
        format!(r#"["npx","server","--api-key","[redacted]"] /usr/bin/npx {}"#, "ab".repeat(32));
    assert_eq!(all(&path, sql), [expected]);
    check_sums(&path);
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/hardline/audit.db");
    let (mut audit, told) = open(&path);
    audit.finding(SECOND, &found("x"), Some("x".to_owned()));
    told.wait_for_shown(1);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let mut files = 0;
    for entry in path.parent().unwrap().read_dir().unwrap() {
        let entry = entry.unwrap().path();
        assert_eq!(mode(&entry), 0o600, "{}", entry.display());
        files += 1;
    }
    assert_eq!(files, 4, "the database, its log, the index of that, and the lock");
    audit.close(SECOND, "end", PATIENCE);
}

#[test]
fn what_is_shown_was_committed_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let (mut audit, told) = open(&path);
    for number in 1..=50 {
        let text = format!("finding {number}");
        audit.finding(SECOND, &found(&text), Some(text));
        told.wait_for_shown(number);
        assert_eq!(
            one::<i64>(&path, "SELECT count(*) FROM findings"),
            i64::try_from(number).unwrap()
        );
    }
    assert_eq!(told.shown(), all(&path, "SELECT detail FROM findings ORDER BY seq"));
    audit.close(SECOND, "end", PATIENCE);
}

#[test]
fn messages_beyond_a_thousand_a_second_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let (mut audit, _) = open(&path);
    for second in 1..=3 {
        for number in 0..2000 {
            let now = SECOND * second + Duration::from_micros(number);
            let direction = Direction::ServerToClient;
            audit.message(now, &seen("tools/call"));
            audit.message(now, &LoggedMessage { direction, ..seen("tools/call") });
            audit.message(
                now,
                &LoggedMessage { method: None, direction, verdict: Verdict::Blocked, ..seen("") },
            );
        }
    }
    audit.close(SECOND * 4, "end", PATIENCE);
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM messages"), 3000);
    assert_eq!(one::<i64>(&path, "SELECT messages FROM sessions"), 18_000);
    assert_eq!(one::<i64>(&path, "SELECT sum(messages) FROM counters"), 15_000);
    assert_eq!(one::<i64>(&path, "SELECT sum(bytes) FROM counters"), 1_500_000);
    assert_eq!(one::<i64>(&path, "SELECT count(DISTINCT second) FROM counters"), 3);
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM counters"), 9);
    check_sums(&path);
}

#[test]
fn a_flood_of_methods_and_findings_is_counted_to_the_last() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let (mut audit, told) = open(&path);
    let found = found("flood");
    for number in 0..20_000_u64 {
        audit.message(SECOND + Duration::from_micros(number), &seen(&format!("method/{number}")));
        audit.finding(SECOND, &found, (number % 1000 == 0).then(|| number.to_string()));
    }
    audit.close(SECOND * 2, "end", PATIENCE);
    assert_eq!(told.shown().len(), 20);
    assert_eq!(one::<i64>(&path, "SELECT messages FROM sessions"), 20_000);
    assert_eq!(one::<i64>(&path, "SELECT findings FROM sessions"), 20_000);
    assert!(one::<i64>(&path, "SELECT count(*) FROM findings") < 6000);
    assert!(one::<i64>(&path, "SELECT count(*) FROM counters") < 6000);
    check_sums(&path);
}

#[test]
fn bodies_are_kept_only_if_asked_for_and_without_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"password":"hunter2","n":1}}"#;
    let (mut audit, _) = open(&path);
    audit.message(SECOND, &LoggedMessage { body, ..seen("x") });
    audit.close(SECOND, "end", PATIENCE);
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM messages WHERE body IS NULL"), 1);

    let mut options = Options::new(&path);
    options.bodies = true;
    let (mut audit, _) = open_with(options, "files");
    audit.message(SECOND, &LoggedMessage { body, bytes: body.len(), ..seen("x") });
    let long = [b"{\"text\":\"".as_slice(), &vec![b'x'; 1 << 20], b"\"}"].concat();
    audit.message(SECOND, &LoggedMessage { body: &long, bytes: long.len(), ..seen("x") });
    audit.close(SECOND, "end", PATIENCE);
    let kept = all(&path, "SELECT body FROM messages WHERE body IS NOT NULL ORDER BY id");
    assert_eq!(kept[0], String::from_utf8_lossy(body).replace("hunter2", "[redacted]"));
    assert!(kept[1].ends_with("x… cut: 1048587 bytes in all") && kept[1].len() < 66_000);
}

#[test]
fn what_is_too_old_or_too_much_goes_and_the_file_shrinks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    for session in 0..3 {
        let (mut audit, _) = open(&path);
        for number in 0..3000_u32 {
            audit.message(SECOND * (number / 900), &seen("tools/call"));
        }
        audit.finding(SECOND, &found("kept"), None);
        audit.close(SECOND * 4, "end", PATIENCE);
        if session == 0 {
            let sql = "UPDATE messages SET at = at - 40 * 86400000000";
            database(&path).execute_batch(sql).unwrap();
        }
        if session == 1 {
            let sql = "UPDATE sessions SET seen = seen - 200 * 86400000000 WHERE id = 1";
            database(&path).execute_batch(sql).unwrap();
        }
    }
    let size = path.metadata().unwrap().len();
    let now = std::time::SystemTime::now();
    let mut retention = Retention::default();
    let pruned = prune(&path, &retention, now).unwrap();
    assert_eq!((pruned.messages, pruned.sessions), (3000, 1));
    assert_eq!(all(&path, "SELECT detail FROM findings"), ["kept", "kept"]);
    let smaller = path.metadata().unwrap().len();
    assert!(smaller < size * 3 / 4, "{size} {smaller}");

    retention.max_bytes = 100 << 10;
    let pruned = prune(&path, &retention, now).unwrap();
    assert!(pruned.messages > 3000 && pruned.sessions == 0);
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM findings"), 2);
    assert!(path.metadata().unwrap().len() <= 100 << 10);
    assert_eq!(prune(&path, &retention, now).unwrap().messages, 0);

    retention.max_bytes = 0;
    assert_eq!(prune(&path, &retention, now).unwrap().sessions, 2);
    assert_eq!(one::<String>(&path, "PRAGMA integrity_check"), "ok");
}

#[test]
fn a_noisy_server_erases_no_rows_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    // The quiet server comes first, so its rows are the oldest.
    for (server, messages, findings) in
        [("quiet", 700, 40), ("noisy", 9000, 9000), ("other", 700, 40)]
    {
        let (mut audit, _) = open_with(Options::new(&path), server);
        audit.message(SECOND, &seen("tools/call"));
        audit.close(SECOND, "end", PATIENCE);
        let session = one::<i64>(&path, "SELECT max(id) FROM sessions");
        let sql = format!(
            "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {messages})
             INSERT INTO messages (session, at, direction, bytes, verdict)
             SELECT {session}, started, 'server-to-client', 1, 'passed' FROM n, sessions WHERE id = {session};
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {findings})
             INSERT INTO findings (session, seq, at, rule, severity, direction, action, \"offset\", length, excerpt, detail, count)
             SELECT {session}, i, started, 'frame.split', 'high', 'server-to-client', 'block', 0, 0, '', 'detail', 1
             FROM n, sessions WHERE id = {session};"
        );
        database(&path).execute_batch(&sql).unwrap();
    }
    let count = |table: &str| {
        let sql = format!(
            "SELECT server || ' ' || count(*) FROM {table} t JOIN sessions s ON s.id = t.session
             GROUP BY server ORDER BY min(s.id)"
        );
        all(&path, &sql)
    };
    let size = path.metadata().unwrap().len();
    let now = std::time::SystemTime::now();
    let mut retention = Retention::default();
    retention.max_bytes = size * 3 / 4;
    prune(&path, &retention, now).unwrap();
    let kept = count("messages");
    assert_eq!((&*kept[0], &*kept[2]), ("quiet 700", "other 700"));
    assert_ne!(kept[1], "noisy 9000");
    assert_eq!(count("findings"), ["quiet 40", "noisy 9000", "other 40"]);
    // With all messages gone, the findings of the same server go next.
    retention.max_bytes = size / 2;
    prune(&path, &retention, now).unwrap();
    assert_eq!(count("messages"), Vec::<String>::new());
    let kept = count("findings");
    assert_eq!((&*kept[0], &*kept[2]), ("quiet 40", "other 40"));
    assert_ne!(kept[1], "noisy 9000");
}
