//! A home directory, and a server that a test controls.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const HARDLINE: &str = env!("CARGO_BIN_EXE_hardline");

/// A server that answers the usual requests, and lists the tools in the file of its first argument.
/// Writes its environment to the second argument, if there is one.
const SERVER: &str = r#"#!/bin/sh
if [ -n "$2" ]; then env > "$2"; fi
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}\n' "$id" "$(cat "$1")" ;;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id" ;;
  esac
done
"#;

/// A temporary home directory.
pub(crate) struct Home {
    directory: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap() };
        home.write_program("server", SERVER);
        home.list(&json!([]));
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> String {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), content).unwrap();
        self.text(name)
    }

    pub(crate) fn write_program(&self, name: &str, content: &str) -> String {
        let path = self.write(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Sets the tools that the server lists from now on.
    pub(crate) fn list(&self, tools: &Value) {
        self.write("tools.json", &tools.to_string());
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(HARDLINE);
        // A policy may react to variables of the user who runs the tests.
        command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.directory.path());
        command.env("XDG_STATE_HOME", self.path("state"));
        command.env("XDG_CONFIG_HOME", self.path("config"));
        command
    }

    pub(crate) fn run(&self, args: &[&str], input: &str) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Ignores errors, because the command may exit before it reads.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// Runs a session of `wrap` with the server: lists its tools, and calls each of `calls`.
    pub(crate) fn session(&self, options: &[&str], calls: &[&str]) -> Seen {
        let (server, tools) = (self.text("server"), self.text("tools.json"));
        let options: Vec<&str> = ["--name", "shop"].iter().chain(options).copied().collect();
        self.session_with(&options, &[&server, &tools], calls)
    }

    /// Like [`Self::session`], with any server; its name is among the options.
    pub(crate) fn session_with(&self, options: &[&str], server: &[&str], calls: &[&str]) -> Seen {
        let args: Vec<&str> =
            [&["wrap"], options, &["--"], server].into_iter().flatten().copied().collect();
        let mut command = self.command(&args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let _ = input.write_all(script(&[]).as_bytes());
        let mut text = String::new();
        // A client calls tools only after it has listed them.
        while !text.contains("\"id\":2,") && output.read_line(&mut text).unwrap() != 0 {}
        let calls: String = script(calls).lines().skip(3).map(|it| format!("{it}\n")).collect();
        let _ = input.write_all(calls.as_bytes());
        drop(input);
        output.read_to_string(&mut text).unwrap();
        let mut output = child.wait_with_output().unwrap();
        output.stdout = text.into_bytes();
        Seen::new(&output)
    }
}

/// Returns the lines of a client that lists the tools and calls each of `calls`.
pub(crate) fn script(calls: &[&str]) -> String {
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
    ];
    for (id, tool) in (3..).zip(calls) {
        lines.push(
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}}),
        );
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The outcome of a session.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: Option<i32>,
    pub(crate) errors: String,
    answers: Vec<Value>,
}

impl Seen {
    pub(crate) fn new(output: &Output) -> Self {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        Self {
            code: output.status.code(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
            answers: text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        }
    }

    pub(crate) fn answer(&self, id: i64) -> &Value {
        let mut all = self.answers.iter().filter(|it| it["id"] == id);
        all.next().unwrap_or(&Value::Null)
    }

    /// Returns the tools that the client sees.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.answer(2).pointer("/result/tools").and_then(Value::as_array);
        tools.into_iter().flatten().map(|tool| tool["name"].as_str().unwrap()).collect()
    }

    /// Returns the rule that refused a call, if any.
    pub(crate) fn refusal(&self, id: i64) -> Option<&str> {
        self.answer(id).pointer("/error/data/hardline/rule").and_then(Value::as_str)
    }
}

pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}
