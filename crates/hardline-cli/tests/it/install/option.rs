//! Options, files without anything to do, and malformed files.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{HARDLINE, Home, read};

const CONFIG: &str =
    r#"{"mcpServers": {"a": {"command": "npx", "args": ["x"]}, "b": {"command": "uvx"}}}"#;

#[test]
fn files_without_servers_stay_as_they_are() {
    let home = Home::new();
    for (name, text) in [
        ("empty.json", ""),
        ("blank.json", " \r\n\t"),
        ("mark.json", "\u{feff}"),
        ("comment.jsonc", "// nothing here\n/* yet */"),
        ("object.json", "{}"),
        ("servers.json", "{\"mcpServers\": {}}"),
        ("null.json", "{\"mcpServers\": null}"),
        ("list.json", "{\"mcpServers\": []}"),
        ("remote.json", "{\"mcpServers\": {\"a\": {\"url\": \"https://x\"}}}"),
        ("empty.toml", ""),
        ("comment.toml", "# nothing\n"),
        ("other.toml", "model = \"x\"\n[mcp_servers]\n"),
    ] {
        let path = home.write(name, text);
        for command in ["install", "uninstall"] {
            let outcome = home.expect(0, &[command, "--config", name]);
            assert!(outcome.stdout.contains("nothing to do"), "{name}: {outcome:?}");
            assert_eq!(read(&path), text, "{name}");
        }
    }
    assert_eq!(home.backups().len(), 0);
}

#[test]
fn a_broken_file_is_told_with_its_place_and_stays_as_it_is() {
    let home = Home::new();
    let good = home.write(".cursor/mcp.json", CONFIG);
    for (name, text, expected) in [
        ("comma.json", "{\n  \"a\": 1\n  \"b\": 2}", "line 2, column 9: expected comma"),
        ("open.json", "{\"mcpServers\": {", "line 1, column"),
        ("half.json", "{\"mcpServers\": {\"a\": {\"comm", "line 1, column 23: unterminated string"),
        (
            "twice.json",
            "{\"mcpServers\": {},\n\"mcpServers\": {}}",
            "line 2: the key mcpServers occurs twice",
        ),
        (
            "names.json",
            "{\"mcpServers\": {\"a\": {},\n \"\\u0061\": {}}}",
            "line 2: there are two servers named a",
        ),
        ("array.json", "[1]", "line 1: the file is not an object"),
        ("html.json", "<html>", "line 1, column 1: "),
        ("two.json", "{}\n{}", "line 2, column 1: "),
        ("deep.json", &"[".repeat(100_000), "nesting depth"),
        ("broken.toml", "[mcp_servers.a]\ncommand = npx\n", "line 2, column 11: "),
        ("twice.toml", "[mcp_servers.a]\n[mcp_servers.a]\n", "line 2, column 14: duplicate key"),
    ] {
        let path = home.write(name, text);
        for command in ["install", "uninstall"] {
            let args = [command, "--config", name, "--client", "cursor"];
            let outcome = home.expect(2, &args);
            assert!(outcome.stderr.contains(&format!("hardline: {name}: ")), "{outcome:?}");
            assert!(outcome.stderr.contains(expected), "{name}: {outcome:?}");
            assert!(outcome.stderr.contains("nothing was written"), "{outcome:?}");
            assert_eq!(read(&path), text, "{name}");
            let is_wrapped = command == "install";
            assert_eq!(read(&good).contains("wrap"), is_wrapped, "others are done all the same");
        }
    }
    for (bytes, expected) in [
        (&b"\xff\xfe{\0}\0"[..], "it is UTF-16; save it as UTF-8"),
        (b"{\n\"\xff\": 1}", "line 2, column 2: this is not UTF-8"),
    ] {
        let path = home.write("bytes.json", bytes);
        let outcome = home.expect(2, &["install", "--config", "bytes.json"]);
        assert!(outcome.stderr.contains(expected), "{outcome:?}");
        assert_eq!(fs::read(path).unwrap(), bytes);
    }
    let outcome = home.expect(2, &["install", "--config", "."]);
    assert!(outcome.stderr.contains("it is not a regular file but a directory"), "{outcome:?}");
    let outcome = home.expect(2, &["install", "--config", "none.json"]);
    assert!(outcome.stderr.contains("the file does not exist"), "{outcome:?}");
    assert_eq!(outcome.stdout, "nothing was changed\n");
    home.write("one.json", CONFIG);
    let outcome =
        home.expect(0, &["install", "--config", "one.json", "--server", "a", "--dry-run"]);
    assert!(outcome.stdout.contains("  would be put in front of a\n"), "{outcome:?}");
    home.expect(0, &["install", "--config", "one.json", "--server", "a"]);
    let outcome = home.expect(0, &["uninstall", "--config", "one.json"]);
    assert!(
        outcome.stdout.contains("removed from 1 server; it runs without a guard"),
        "{outcome:?}"
    );
}

#[test]
fn a_file_over_the_limit_is_refused() {
    let home = Home::new();
    let path = home.write("large.json", "{}");
    fs::File::options().append(true).open(&path).unwrap().set_len(65 << 20).unwrap();
    let outcome = home.expect(2, &["install", "--config", "large.json"]);
    assert!(outcome.stderr.contains("larger than 64 MiB"), "{outcome:?}");
}

#[test]
fn odd_entries_are_left_alone_and_told() {
    let home = Home::new();
    let text = r#"{"mcpServers": {
        "a": {"command": "x", "args": "y"},
        "b": {"command": "x", "args": ["y", 1]},
        "c": {"command": ["x", "y"]},
        "d": {"command": ""},
        "e": "x y",
        "f": {"command": "x", "url": "https://y"},
        "g": {"command": "x", "command": "y"},
        "h": {"command": {"args": []}},
        "i": {"command": "x", "args": null},
        "evil\u001b[2Jname": {"command": 1},
        "good": {"command": "x"}
    }}"#;
    let path = home.write("mcp.json", text);
    let outcome = home.expect(1, &["install", "--config", "mcp.json"]);
    for expected in [
        "mcp.json: line 2: server a: args is not a list; the entry stays unchanged",
        "line 3: server b: args has an item that is not a string",
        "line 4: server c: command is not a string",
        "line 5: server d: command is empty",
        "line 6: server e: it is not an object",
        "line 7: server f: it has both a command and an address",
        "line 8: server g: the key command occurs twice",
        "line 9: server h: command.path is missing",
        "line 10: server i: args is not a list",
        "line 11: server evil\\u{1b}[2Jname: command is not a string",
    ] {
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome:?}");
    }
    let wrapped = format!(
        r#""good": {{"command": "{HARDLINE}", "args": ["wrap", "--name", "good", "--config-dir", "{}", "--state-dir", "{}", "--", "x"]}}"#,
        home.path(".config/hardline").display(),
        home.path("state/hardline").display()
    );
    assert_eq!(read(&path), text.replace(r#""good": {"command": "x"}"#, &wrapped));
    assert!(!outcome.stdout.contains('\u{1b}'), "{outcome:?}");
    home.expect(1, &["uninstall", "--config", "mcp.json"]);
    assert_eq!(read(&path), text);
}

#[test]
fn one_server_at_a_time() {
    let home = Home::new();
    let path = home.write(".cursor/mcp.json", CONFIG);
    home.expect(0, &["install", "--server", "b"]);
    let only_b = read(&path);
    assert!(only_b.contains(r#""a": {"command": "npx""#), "{only_b}");
    home.expect(0, &["install"]);
    let both = read(&path);
    home.expect(0, &["uninstall", "--server", "a"]);
    assert_eq!(read(&path), only_b);
    home.expect(0, &["install", "--server", "a"]);
    assert_eq!(read(&path), both);
    home.expect(0, &["uninstall", "--server", "b", "--server", "a"]);
    assert_eq!(read(&path), CONFIG);
    let outcome = home.expect(2, &["install", "--server", "c"]);
    assert!(outcome.stderr.contains("no server named c"), "{outcome:?}");
}

#[test]
fn a_server_that_is_added_later_is_wrapped_by_the_next_run() {
    let home = Home::new();
    let path = home.write(".cursor/mcp.json", CONFIG);
    home.expect(0, &["install"]);
    let add = |text: &str| text.replace("}}}", "}, \"c\":{\"command\":\"new\"}}}");
    fs::write(&path, add(&read(&path))).unwrap();
    home.expect(0, &["install"]);
    assert_eq!(read(&path).matches("\"wrap\"").count(), 3, "{}", read(&path));
    let [backup] = &*home.backups() else { panic!("{:?}", home.backups()) };
    assert_eq!(read(&backup.join("original")), add(CONFIG));
    home.expect(0, &["uninstall"]);
    assert_eq!(read(&path), add(CONFIG));
}

#[test]
fn projects_are_touched_only_if_asked_for() {
    let home = Home::new();
    let files = [".mcp.json", ".vscode/mcp.json", ".roo/mcp.json", ".gemini/settings.json"];
    let servers = CONFIG.replace("mcpServers", "servers");
    let texts = [CONFIG, &servers, CONFIG, CONFIG];
    let paths: Vec<_> =
        files.iter().zip(texts).map(|(file, text)| home.write(file, text)).collect();
    // In the home directory, one of these project files is also the user's own.
    home.expect(0, &["install"]);
    for (path, text) in paths.iter().zip(texts).take(3) {
        assert_eq!(read(path), text);
    }
    home.expect(0, &["install", "--project", "--command", "hardline"]);
    for path in paths.iter().take(3) {
        assert!(read(path).contains(r#""command": "hardline""#), "{}", read(path));
    }
    home.expect(0, &["uninstall", "--project"]);
    for (path, text) in paths.iter().zip(texts) {
        assert_eq!(read(path), text);
    }
}

#[test]
fn options_of_wrap_are_written_into_the_entries() {
    let home = Home::new();
    let path = home.write("mcp.json", CONFIG);
    home.write("my policy.toml", "profile = \"strict\"");
    let options = [
        "--profile",
        "observe",
        "--policy",
        "my policy.toml",
        "--lock",
        "hardline.lock",
        "--command",
        "/opt/hardline",
    ];
    let outcome = home.expect(0, &[&["install", "--config", "mcp.json"], &options[..]].concat());
    assert!(outcome.stderr.contains("/opt/hardline does not exist yet"), "{outcome:?}");
    let config: Value = serde_json::from_str(&read(&path)).unwrap();
    let whole =
        |name: &str| fs::canonicalize(home.path("")).unwrap().join(name).display().to_string();
    let (policy, lock) = (whole("my policy.toml"), whole("hardline.lock"));
    let args = json!([
        "wrap",
        "--name",
        "a",
        "--profile",
        "observe",
        "--policy",
        policy,
        "--lock",
        lock,
        "--state-dir",
        home.path("state/hardline"),
        "--",
        "npx",
        "x"
    ]);
    assert_eq!(config["mcpServers"]["a"], json!({"command": "/opt/hardline", "args": args}));

    home.write("broken.toml", "profile = 1");
    let outcome = home.expect(2, &["install", "--config", "mcp.json", "--policy", "broken.toml"]);
    assert!(outcome.stderr.contains("is not a valid policy"), "{outcome:?}");
    for command in ["bin/hardline", "/bin/sh"] {
        home.expect(2, &["install", "--config", "mcp.json", "--command", command]);
    }
}

#[test]
fn entries_written_by_hand_are_undone() {
    let home = Home::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/configs/by-hand.json");
    let path = home.write("mcp.json", fs::read(fixture).unwrap());
    let before = read(&path);
    let outcome = home.expect(1, &["install", "--config", "mcp.json"]);
    assert!(outcome.stderr.contains("hardline wrap has no --"), "{outcome:?}");
    assert_eq!(read(&path), before);
    home.expect(1, &["uninstall", "--config", "mcp.json"]);
    let config: Value = serde_json::from_str(&read(&path)).unwrap();
    let expected = json!({
        "mine": {"command": "uvx", "args": ["mcp-server-git"]},
        "twice": {"command": "node", "args": ["a.js"]},
        "bare": {"command": "server", "args": []},
        "broken": {"command": "hardline", "args": ["wrap", "--name", "x"]},
    });
    assert_eq!(config["mcpServers"], expected);
}

#[test]
fn clients_without_files_are_no_error_unless_asked_for() {
    let home = Home::new();
    let outcome = home.expect(0, &["install"]);
    assert!(outcome.stdout.contains("no client configuration was found"), "{outcome:?}");
    let outcome = home.expect(2, &["install", "--client", "zed"]);
    assert!(outcome.stderr.contains("Zed: no configuration file was found"), "{outcome:?}");
    let outcome = home.expect(2, &["install", "--client", "emacs"]);
    assert!(outcome.stderr.contains("claude-desktop, claude-code, cursor"), "{outcome:?}");
}

#[test]
fn codex_and_claude_code_are_found_where_their_variables_say() {
    let home = Home::new();
    let codex = home.write("elsewhere/config.toml", "[mcp_servers.a]\ncommand = \"x\"\n");
    let claude = home.write("claude/.claude.json", CONFIG);
    let status = home
        .command(&["install"])
        .env("CODEX_HOME", home.path("elsewhere"))
        .env("CLAUDE_CONFIG_DIR", home.path("claude"))
        .status();
    assert!(status.unwrap().success());
    assert!(read(&codex).contains("\"wrap\"") && read(&claude).contains("\"wrap\""));
}
