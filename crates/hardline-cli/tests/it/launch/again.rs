//! Servers that are restarted.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::home::{HARDLINE, Home, script};

/// A running session that a test drives line by line.
struct Live {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: i64,
}

impl Live {
    fn new(home: &Home, profile: &str, command: &str) -> Self {
        let args = ["wrap", "--name", "shop", "--profile", profile, "--", command];
        Self::start(home.command(&args))
    }

    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Another test may have forked while the program was written; its child holds the file open
        // until it calls `exec`.
        let mut child = loop {
            match command.spawn() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {}
                child => break child.unwrap(),
            }
        };
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut live = Self { child, input, output, next: 1 };
        for line in script(&[]).lines().take(2) {
            writeln!(live.input, "{line}").unwrap();
        }
        assert!(live.answer().get("result").is_some());
        live
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, method: &str) -> Value {
        self.next += 1;
        let line = json!({"jsonrpc": "2.0", "id": self.next, "method": method});
        writeln!(self.input, "{line}").unwrap();
        self.answer()
    }

    fn end(self) -> (Option<i32>, String) {
        drop(self.input);
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Counts the starts of a server in the last session.
fn launches(home: &Home) -> usize {
    let sessions = home.run(&["audit", "sessions", "--format", "json"], "");
    let sessions: Value = serde_json::from_slice(&sessions.stdout).unwrap();
    let id = sessions.pointer("/sessions/0/session").and_then(Value::as_str).unwrap();
    let session = home.run(&["audit", "show", id, "--format", "json"], "");
    let text = String::from_utf8(session.stdout).unwrap();
    text.matches("\"kind\":\"launch\"").count()
}

/// Returns a server that answers pings, and exits with code 3 on request.
fn server(version: &str) -> String {
    let answer = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;
    format!(
        "#!/bin/sh\n# {version}\nwhile IFS= read -r line; do\n\
         id=$(printf '%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n\
         case \"$line\" in\n\
         *initialize\\\"*) printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{answer}}}\\n' \"$id\";;\n\
         *end*) exit 3;;\n\
         *ping*) printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{{}}}}\\n' \"$id\";;\n\
         esac\ndone\n"
    )
}

#[test]
fn another_executable_is_noticed_when_the_server_is_started_again() {
    for (profile, is_strict) in [("balanced", false), ("strict", true)] {
        let home = Home::new();
        let program = home.write_program("bin/tool", &server("1"));
        let mut live = Live::new(&home, profile, &program);
        assert!(live.ask("end")["error"].is_object());
        // A restart with the same executable is no finding.
        assert!(live.ask("ping")["result"].is_object());
        home.write_program("bin/other", &server("2"));
        fs::rename(home.path("bin/other"), &program).unwrap();
        assert!(live.ask("end")["error"].is_object());
        let answer = live.ask("ping");
        if is_strict {
            assert_eq!(answer.pointer("/error/data/hardline/rule"), Some(&json!("launch.changed")));
            let again = live.ask("ping");
            let message = again["error"]["message"].as_str().unwrap();
            assert!(message.contains("hardline pin approve shop"), "{message}");
        } else {
            assert!(answer["result"].is_object(), "{answer}");
        }
        let (code, errors) = live.end();
        assert_eq!(errors.matches("launch.changed (").count(), 1, "{profile} {errors}");
        assert_eq!(code, Some(i32::from(is_strict)), "{errors}");
        assert_eq!(launches(&home), 3, "{errors}");
        // A refused executable waits for approval.
        assert_eq!(home.run(&["pin", "diff"], "").status.code(), Some(i32::from(is_strict)));
    }
}

#[test]
fn a_server_is_started_again_after_hardline_itself_was_replaced() {
    let home = Home::new();
    let program = home.write_program("bin/tool", &server("1"));
    let this = home.path("bin/hardline");
    fs::copy(HARDLINE, &this).unwrap();
    let mut command = Command::new(&this);
    command.args(["wrap", "--name", "shop", "--", &program]).current_dir(home.path(""));
    for (key, value) in home.command(&[]).get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    let mut live = Live::start(command);
    // Replaces the file by a rename, as an update does.
    fs::copy(HARDLINE, home.path("bin/new")).unwrap();
    fs::rename(home.path("bin/new"), &this).unwrap();
    assert!(live.ask("end")["error"].is_object());
    let answer = live.ask("ping");
    assert!(answer["result"].is_object(), "{answer}");
    let (code, errors) = live.end();
    assert_eq!(code, Some(0), "{errors}");
}

#[test]
fn secrets_in_standard_error_reach_neither_the_client_nor_what_is_kept() {
    let home = Home::new();
    // Made up, and put together here so that no scanner takes this file for a leak.
    let token = ["ghp_", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbC"].concat();
    let jwt =
        ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N"].join(".");
    let key = ["-----BEGIN RSA PRIVATE", " KEY-----"].concat();
    let end = ["-----END RSA PRIVATE", " KEY-----"].concat();
    let body = "MIIEowIBAAKCAQEAx1Q2w3E4r5T6y7U8i9O0pAsDfGhJkLzXcVbNmQwErTyUiOpA";
    // Longer than the stored part of standard error, so that its first line is missing.
    let long = [&*key, &*vec![body; 50].join("\n"), &end].join("\n");
    let cut = format!("{} {token}", "x".repeat(1010));
    for (words, secret) in [
        (format!("cannot log in with {token}"), &*token),
        ("DB_PASSWORD=hunter2hunter2".to_owned(), "hunter2"),
        ("{'api_key': 'hunter2hunter2'}".to_owned(), "hunter2"),
        ("GET https://me:hunter2@example.com/".to_owned(), "hunter2"),
        (format!("Authorization: Bearer {jwt}"), &jwt),
        (long, body),
        (cut, "ghp_aB3d"),
        // Redaction cannot recognize this as a secret.
        ("the word is correct horse battery staple".to_owned(), "correct horse"),
    ] {
        home.write("words", &words);
        let script = format!(
            "{}\ncat '{}' >&2\nexit 3\n",
            server("1").replace("*end*) exit 3;;", "*end*) break;;"),
            home.text("words")
        );
        let program = home.write_program("bin/tool", &script);
        let mut live = Live::new(&home, "balanced", &program);
        let failed = live.ask("end");
        let message = failed.pointer("/error/message").and_then(Value::as_str).unwrap();
        assert_eq!(message, "the server exited with code 3");
        assert!(!failed.to_string().contains(secret), "{failed}");
        assert!(live.ask("ping")["result"].is_object());
        assert!(live.ask("end").to_string().contains("exited with code 3"));
        let (_, errors) = live.end();
        // The server's own lines are shown unchanged; only our lines are redacted.
        let ours = errors.lines().filter(|line| line.starts_with("[hardline]"));
        let ours: Vec<_> = ours.filter(|line| line.contains("exited with code 3")).collect();
        assert!(!ours.is_empty(), "{errors}");
        let sessions = home.run(&["audit", "sessions", "--format", "json"], "");
        let sessions: Value = serde_json::from_slice(&sessions.stdout).unwrap();
        let id = sessions.pointer("/sessions/0/session").and_then(Value::as_str).unwrap();
        let kept = home.run(&["audit", "show", id, "--format", "json"], "");
        let kept = String::from_utf8(kept.stdout).unwrap();
        assert!(kept.contains("server-ended"), "{kept}");
        if !secret.contains(' ') {
            assert!(!kept.contains(secret), "{kept}");
            assert!(!ours.concat().contains(secret), "{errors}");
        }
    }
}
