//! The audit database that `wrap` writes, and `hardline audit`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use hardline_testkit::generate::Rng;
use serde_json::{Value, json};

use crate::home::{HARDLINE, Home, Seen, script, tool};

mod terminal;

/// Returns a home whose server lists a tool with hidden text.
fn hostile() -> Home {
    let home = Home::new();
    home.list(&json!([tool("look", "Looks.\u{e0041}\u{e0042}\u{e0043}"), tool("plain", "Plain.")]));
    home
}

impl Home {
    fn ask(&self, args: &[&str]) -> Value {
        let output = self.run(&[&["audit"], args, &["--format", "json"]].concat(), "");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn print(&self, args: &[&str]) -> String {
        let output = self.run(&[&["audit"], args].concat(), "");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn listed(&self, args: &[&str]) -> Vec<Value> {
        let document = self.ask(args);
        document.as_object().unwrap().values().next().unwrap().as_array().unwrap().clone()
    }
}

/// Counts the findings that a session printed to standard error.
fn reported(seen: &Seen) -> usize {
    seen.errors
        .lines()
        .filter(|line| line.contains("content.hidden") || line.contains("tool."))
        .count()
}

#[test]
fn a_session_can_be_asked_about() {
    let home = hostile();
    let seen = home.session(&["--audit-bodies"], &["look"]);
    assert!(reported(&seen) > 0, "{}", seen.errors);
    home.session(&[], &[]);

    let sessions = home.listed(&["sessions"]);
    assert_eq!(sessions.len(), 2);
    let session = &sessions[0];
    assert_eq!((&session["server"], &session["state"]), (&json!("shop"), &json!("ended")));
    assert_eq!(session["command"][0], json!(home.path("server")));
    // Three requests with their answers, and one notification.
    assert_eq!(session["messages"], 7, "{session}");
    let key = session["session"].as_str().unwrap();
    let short = key.get(..8).unwrap();

    let findings = home.listed(&["findings", "--session", short]);
    assert_eq!(session["findings"], findings.len());
    assert!(reported(&seen) <= findings.len());
    assert!(
        findings.iter().any(|it| it["rule"].as_str().unwrap().starts_with("tool.")),
        "{findings:?}"
    );
    let high = home.listed(&["findings", "--severity", "high", "--session", key]);
    assert!(high.iter().all(|it| it["severity"] == "high") && high.len() <= findings.len());
    assert_eq!(home.listed(&["findings", "--rule", "frame.*"]), Vec::<Value>::new());
    assert_eq!(
        home.listed(&["findings", "--rule", "tool"]),
        home.listed(&["findings", "--rule", "tool.*"])
    );
    assert!(!home.listed(&["findings", "--rule", "tool.*", "--since", "1h"]).is_empty());
    assert_eq!(home.listed(&["findings", "--server", "other"]), Vec::<Value>::new());
    assert_eq!(home.listed(&["findings", "--since", "0s"]), Vec::<Value>::new());
    assert_eq!(home.listed(&["findings", "--limit", "1"]).len(), 1);

    let messages = home.ask(&["messages", "--session", key]);
    assert_eq!(
        (&messages["counted"], messages["messages"].as_array().unwrap().len()),
        (&json!(0), 7)
    );
    let call = &messages["messages"][5];
    assert_eq!(
        (&call["method"], &call["tool"], &call["id"]),
        (&json!("tools/call"), &json!("look"), &json!("3"))
    );
    assert!(call["body"].as_str().unwrap().contains("tools/call"));
    let answer = &messages["messages"][6];
    assert_eq!(
        (&answer["direction"], &answer["method"]),
        (&json!("server-to-client"), &json!("tools/call"))
    );
    assert!(answer["latency"].is_u64());
    let without = home.ask(&["messages", "--session", sessions[1]["session"].as_str().unwrap()]);
    assert!(without["messages"].as_array().unwrap().iter().all(|it| it["body"].is_null()));

    let shown = home.ask(&["show", short]);
    assert_eq!(shown["sessions"][0]["session"], key);
    assert_eq!(shown["events"][0]["kind"], "launch");
    assert_eq!(shown["events"][0]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(shown["findings"].as_array().unwrap().len(), findings.len());
}

#[test]
fn people_get_tables() {
    let home = hostile();
    home.session(&[], &["look"]);
    let sessions = home.print(&["sessions"]);
    let mut lines = sessions.lines();
    assert!(lines.next().unwrap().starts_with("SESSION   STARTED (UTC)        LASTED  SERVER"));
    assert!(lines.next().unwrap().contains("  shop  "), "{sessions}");
    let findings = home.print(&["findings", "--color", "always"]);
    assert!(findings.contains("\u{1b}["), "{findings}");
    let findings = home.print(&["findings"]);
    assert!(findings.contains("content.hidden") || findings.contains("tool.poison"), "{findings}");
    assert!(!findings.contains('\u{1b}') && !findings.contains('\u{e0041}'), "{findings:?}");
    assert!(home.print(&["messages"]).contains("tools/call"));
    let key = home.listed(&["sessions"])[0]["session"].as_str().unwrap().to_owned();
    assert!(home.print(&["show", &key]).contains("launch"));
    assert!(home.print(&["tail", "--no-follow"]).contains("shop: launch: "));
    assert!(home.print(&["prune"]).starts_with("deleted 0 messages"));
    home.print(&["prune", "--older-than", "0s"]);
    assert_eq!(home.print(&["messages"]), "no messages\n");
}

#[test]
fn what_there_is_not_is_told() {
    let home = hostile();
    home.session(&[], &[]);
    let errors = |args: &[&str], code| {
        let output = home.run(&[&["audit", "findings"], args].concat(), "");
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(errors(&["--rule", "tool.chnaged"], 2).contains("did you mean tool.changed?"));
    assert!(errors(&["--rule", "foo.bar"], 2).contains("unknown rule"));
    let unknown = errors(&["--server", "other"], 0);
    assert!(
        unknown.contains("there are no records of a server other; known servers: shop"),
        "{unknown}"
    );
}

#[test]
fn without_a_database_there_is_a_hint() {
    let home = Home::new();
    for args in [["audit", "sessions"], ["audit", "tail"], ["audit", "prune"]] {
        let output = home.run(&args, "");
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("audit.db") || errors.contains("there is none"), "{errors}");
    }
    let file =
        home.write("text", "no database at all, but some text that is long enough to be looked at");
    let output = home.run(&["audit", "findings", "--audit", &file], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("is no audit database"));
    home.session(&["--audit", "off"], &[]);
    assert_eq!(home.run(&["audit", "sessions"], "").status.code(), Some(2));
}

#[test]
fn tail_shows_what_comes_and_ends_with_its_reader() {
    let home = hostile();
    home.session(&[], &[]);
    let mut command = home.command(&["audit", "tail", "--format", "json", "--limit", "0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    sleep(Duration::from_millis(500));
    home.session(&[], &[]);
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let entry: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(entry["event"]["kind"], "launch");
    assert_eq!(entry["event"]["session"], home.listed(&["sessions"])[1]["session"]);
    drop(lines);
    assert!(child.wait().unwrap().success());
}

#[test]
fn secrets_are_not_kept() {
    let home = Home::new();
    let secret = ["ghp", "_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz"].concat();
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "x", "arguments": {"password": "hunter2", "text": format!("use {secret}")}}});
    let input = format!("{}{call}\n", script(&[]));
    let (server, tools) = (home.path("server"), home.path("tools.json"));
    let (server, tools) = (server.to_string_lossy(), tools.to_string_lossy());
    let args = ["wrap", "--audit-bodies", "--", &server, &tools, "", "--api-key", "hunter2"];
    home.run(&args, &input);
    let kept = fs::read(home.path("state/hardline/audit.db")).unwrap();
    let kept = String::from_utf8_lossy(&kept);
    assert!(kept.contains("[redacted]") && kept.contains("tools/call"));
    assert!(!kept.contains("hunter2") && !kept.contains(&secret));
}

/// A user without write access can read the database, including transactions that are still in the
/// WAL.
#[test]
fn a_directory_that_cannot_be_written_can_be_read() {
    let home = hostile();
    home.session(&[], &[]);
    let directory = home.path("state/hardline");
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with("-wal") || name.ends_with("-shm") {
            fs::remove_file(&path).unwrap();
        } else {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        }
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = home.command(&["audit", "sessions", "--format", "json"]);
    if rustix::process::geteuid().is_root() {
        // File permissions do not stop root, so another user reads.
        let copy = home.path("hardline");
        fs::copy(HARDLINE, &copy).unwrap();
        for path in [home.path(""), home.path("state")] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut other = Command::new(copy);
        other.args(command.get_args());
        other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command = other;
        command.uid(65534).gid(65534);
    }
    let output = command.output().unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["sessions"].as_array().unwrap().len(), 1);
}

/// Starts a `wrap` whose client has listed the tools, and keeps it running.
fn start(home: &Home, name: &str) -> Child {
    let (server, tools) = (home.path("server"), home.path("tools.json"));
    let (server, tools) = (server.to_string_lossy(), tools.to_string_lossy());
    let mut command = home.command(&["wrap", "--name", name, "--", &server, &tools]);
    let errors = File::create(home.path(&format!("errors-{name}"))).unwrap();
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(errors);
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(script(&["look", "look"]).as_bytes()).unwrap();
    child
}

#[test]
fn a_hundred_wraps_that_are_killed_keep_what_they_told() {
    let home = hostile();
    let mut rng = Rng::new(u64::from(std::process::id()));
    for batch in 0..2 {
        let names: Vec<String> = (0..50).map(|number| format!("s{batch}-{number}")).collect();
        let mut children: Vec<Child> = names.iter().map(|name| start(&home, name)).collect();
        sleep(Duration::from_millis(300));
        for child in &mut children {
            sleep(Duration::from_millis(rng.below(40) as u64));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let findings = home.listed(&["findings", "--limit", "100000"]);
        let mut told = 0;
        for name in &names {
            let errors = home.read(&format!("errors-{name}"));
            for rule in ["content.hidden", "tool.poison", "tool.new", "tool.changed"] {
                let lines = errors.lines().filter(|line| line.contains(rule)).count();
                let kept =
                    findings.iter().filter(|it| it["server"] == **name && it["rule"] == rule);
                assert!(lines <= kept.count(), "{name}: {errors}");
                told += lines;
            }
        }
        assert!(told > 10, "{told}");
    }
    // The next session finds the database intact.
    let seen = home.session(&[], &[]);
    assert!(!seen.errors.contains("audit database"), "{}", seen.errors);
    let sessions = home.listed(&["sessions", "--limit", "1000"]);
    assert!(sessions.len() > 50);
    assert!(sessions.iter().filter(|it| it["state"] == "killed").count() + 1 == sessions.len());
}
