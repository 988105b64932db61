//! Each kind of mistake has its own message, with file, server and key.

use std::fs;
use std::path::Path;

use hardline_client::config::{self, Dialect, Problem};

use super::parse;

/// Checks the mistakes of an entry, without their common location. Fatal ones leave no server.
#[track_caller]
fn check(entry: &str, expected: &[&str]) {
    let text = format!("{{\"mcpServers\": {{\"a\":\n{entry}\n}}}}");
    let file = parse("x.json", &text).unwrap();
    let shown: Vec<_> = file
        .mistakes
        .iter()
        .map(|mistake| {
            assert_eq!(mistake.server(), Some("a"));
            let shown = mistake.to_string();
            let (line, rest) = shown.split_once(": server \"a\": mcpServers.a").expect(&shown);
            assert!(line.starts_with("x.json:2:"), "{shown}");
            rest.trim_start_matches('.').to_owned()
        })
        .collect();
    assert_eq!(shown, expected, "{entry}");
    let is_fatal = file.mistakes.iter().any(config::ConfigError::is_fatal);
    assert_eq!(file.servers.is_empty(), is_fatal, "{entry}");
}

#[test]
fn unknown_keys() {
    check(
        r#"{"comand": "x", "command": "y"}"#,
        &["comand: unknown key, which is ignored; did you mean command?"],
    );
    check(
        r#"{"command": "y", "zzzzzz": 1}"#,
        &["zzzzzz: unknown key, which is ignored; remove it if it was meant for Hardline"],
    );
    check(r#"{"command": "y", "alwaysAllow": [], "description": "d", "gallery": true}"#, &[]);
    check(
        r#"{"url": "https://h/", "headersHelper": "x"}"#,
        &[
            "headersHelper: this is not supported here and is ignored; put the headers that it gives \
           into headers",
        ],
    );
}

#[test]
fn neither_or_both() {
    check(
        r#"{"command": "x", "url": "https://h/"}"#,
        &["url: both a command and url are set; remove one of them"],
    );
    check(r#"{}"#, &[": neither a command nor a url is given; add one of them"]);
    check(
        r#"{"url": "https://a/", "serverUrl": "https://b/"}"#,
        &["url: both serverUrl and url are set; remove one of them"],
    );
    check(r#"{"command": "x", "url": ""}"#, &[]);
    check(r#"{"command": "x", "url": null, "env": null}"#, &[]);
}

#[test]
fn kinds_of_values() {
    for (entry, expected) in [
        (
            r#"7"#,
            ": an object expected, a number found; write {\"command\": …} or {\"url\": …} here",
        ),
        (
            r#"{"command": 1}"#,
            "command: a string expected, a number found; put the value in quotes",
        ),
        (
            r#"{"command": ["x"]}"#,
            "command: a string expected, a list found; put the value in quotes",
        ),
        (
            r#"{"command": "x", "args": "-y z"}"#,
            "args: a list of strings expected, a string found; write it as [\"first\", \"second\"]",
        ),
        (
            r#"{"command": "x", "args": ["a", "b", 3]}"#,
            "args[2]: a string expected, a number found; put the value in quotes",
        ),
        (
            r#"{"command": "x", "env": ["A=1"]}"#,
            "env: an object expected, a list found; write it as {\"NAME\": \"value\"}",
        ),
        (
            r#"{"command": "x", "env": {"A": {}}}"#,
            "env.A: a string expected, an object found; put the value in quotes",
        ),
        (
            r#"{"command": "x", "cwd": true}"#,
            "cwd: a string expected, a boolean found; put the value in quotes",
        ),
        (
            r#"{"command": "x", "disabled": "yes"}"#,
            "disabled: true or false expected, a string found; write one of them",
        ),
        (
            r#"{"command": "x", "timeout": "30s"}"#,
            "timeout: a number expected, a string found; write it without quotes",
        ),
        (
            r#"{"url": "https://h/", "headers": "A: b"}"#,
            "headers: an object expected, a string found; write it as {\"NAME\": \"value\"}",
        ),
        (r#"{"url": 5}"#, "url: a string expected, a number found; put the value in quotes"),
        (
            r#"{"url": "https://h/", "oauth": {"clientId": 5}}"#,
            "oauth.clientId: a string expected, a number found; put the value in quotes",
        ),
    ] {
        check(entry, &[expected]);
    }
}

#[test]
fn numbers_in_env_are_accepted_with_a_warning() {
    check(
        r#"{"command": "x", "env": {"PORT": 8080, "DEBUG": true}}"#,
        &[
            "env.PORT: expected a string, found a number; it is used as written, put it in quotes",
            "env.DEBUG: expected a string, found a boolean; it is used as written, put it in \
             quotes",
        ],
    );
}

#[test]
fn types() {
    check(
        r#"{"type": "ws", "url": "https://h/"}"#,
        &["type: unknown type ws; expected stdio, http or sse"],
    );
    check(
        r#"{"type": "stdio", "url": "https://h/"}"#,
        &["type: type stdio needs command, and there is url; change one of them"],
    );
    check(
        r#"{"type": "http", "command": "x"}"#,
        &["type: type http needs url, and there is command; change one of them"],
    );
    check(
        r#"{"url": "https://h/", "args": ["x"], "env": {}}"#,
        &["args: this is for servers that are started and is ignored; remove it"],
    );
    check(
        r#"{"command": "x", "headers": {"A": "b"}}"#,
        &["headers: this is for servers at an address and is ignored; remove it"],
    );
}

#[test]
fn what_cannot_be_started_or_reached() {
    check(r#"{"command": "  "}"#, &["command: the command is empty; name the program to start"]);
    check(
        r#"{"command": "x", "args": ["a\u0000b"]}"#,
        &["args[0]: a NUL character, which no program can be given; remove it"],
    );
    check(
        r#"{"command": "x", "env": {"A=B": "c"}}"#,
        &["env.A=B: this cannot be the name of an environment variable; it may not be empty or \
           have a \"=\""],
    );
    check(
        r#"{"url": "example.com/mcp"}"#,
        &["url: not a URL: it must begin with http:// or https://; write it as \
           https://example.com/mcp"],
    );
    check(
        r#"{"url": "ftp://h/"}"#,
        &["url: a server's URL begins with http:// or https://, not ftp:; write it as \
           https://example.com/mcp"],
    );
    check(
        r#"{"url": "https://h/", "headers": {"a b": "c"}}"#,
        &["headers.a b: \"a b\" is not the name of a header; correct or remove this header"],
    );
    check(
        r#"{"url": "https://h/", "headers": {"A": "b\r\nC: s3cr3t"}}"#,
        &["headers.A: the value of the header A has a line break or a control character; correct \
           or remove this header"],
    );
    check(
        r#"{"url": "https://h/", "headers": {"Authorization": "a", "authorization": "b"}}"#,
        &["headers.authorization: the key is there twice; remove one of them"],
    );
    for time in ["-5", "0", "1e300"] {
        let expected =
            format!("timeout: {time} is not a time; give a number of milliseconds above zero");
        check(&format!(r#"{{"command": "x", "timeout": {time}}}"#), &[&*expected]);
    }
    check(
        r#"{"url": "https://h/", "oauth": {"callbackPort": 70000}}"#,
        &["oauth.callbackPort: 70000 is not a port; give a number from 1 to 65535"],
    );
}

#[test]
fn all_mistakes_of_an_entry_are_told_and_hide_no_other_server() {
    let text = r#"{"mcpServers": {
        "bad": {"command": 1, "args": 2, "timeout": -1},
        "good": {"command": "x"}
    }}"#;
    let file = parse("x.json", text).unwrap();
    assert_eq!(file.servers.len(), 1);
    let keys: Vec<_> = file.mistakes.iter().filter_map(config::ConfigError::key).collect();
    assert_eq!(keys, ["mcpServers.bad.command", "mcpServers.bad.timeout"]);
    assert_eq!(file.mistakes[0].position(), Some((2, 28)));
}

#[test]
fn names_that_are_there_twice_or_empty() {
    let file = parse(
        "x.json",
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "a": {"command": "z"},
            "": {"command": "x"}, "c": {"command": "x", "command": "y"}}}"#,
    )
    .unwrap();
    let names: Vec<_> = file.servers.iter().map(config::ServerConfig::name).collect();
    assert_eq!(names, ["b"]);
    let shown: Vec<_> = file.mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "x.json:1:63: server \"a\": mcpServers.a: there are two servers of this name; rename \
             or remove one of them",
            "x.json:2:17: server \"\": mcpServers.: the server has no name; write one between the \
             quotes",
            "x.json:2:68: server \"c\": mcpServers.c.command: the key is there twice; remove one of \
             them",
        ]
    );
}

#[test]
fn whole_files() {
    for (path, text, expected) in [
        (
            "x.json",
            "{\n  \"mcpServers\": tru\n}",
            "x.json:2:17: unexpected word; correct the JSON here",
        ),
        ("x.json", "{\"a\": 1", "x.json:1:1: unterminated object; correct the JSON here"),
        (
            "x.toml",
            "[a]\nb = \n",
            "x.toml:2:5: string values must be quoted, expected literal string; correct the TOML here",
        ),
        (
            "x.json",
            "[]",
            "x.json:1:1: an object expected, a list found; write {\"mcpServers\": {…}}",
        ),
        (
            "x.json",
            "",
            "x.json: there are no servers in it; put them under \"mcpServers\": {\"name\": {…}}",
        ),
        (
            "x.json",
            "{\"theme\": 1}",
            "x.json: there are no servers in it; put them under \"mcpServers\": {\"name\": {…}}",
        ),
    ] {
        assert_eq!(parse(path, text).unwrap_err().to_string(), expected, "{text}");
    }
    for (text, expected) in [
        (
            "{\"mcpServers\": []}",
            "x.json:1:16: mcpServers: an object expected, a list found; write the servers as {\"name\": {…}}",
        ),
        (
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            "x.json:1:34: mcpServers: the key is there twice; remove one of them",
        ),
    ] {
        let file = parse("x.json", text).unwrap();
        let [mistake] = &*file.mistakes else { panic!("{text}: {:?}", file.mistakes) };
        assert_eq!(mistake.to_string(), expected);
        assert!(mistake.is_fatal() && mistake.server().is_none());
    }
    let file = parse(".vscode/mcp.json", "{\"mcpServers\": {}}").unwrap();
    assert_eq!(
        file.mistakes[0].to_string(),
        ".vscode/mcp.json:1:16: mcpServers: unknown key, which is ignored; did you mean servers?"
    );
}

#[test]
fn encodings_and_sizes() {
    let problem = |bytes: &[u8]| {
        let error = config::parse("x.json".as_ref(), bytes, Dialect::Generic).unwrap_err();
        (error.to_string(), error.problem().clone())
    };
    assert_eq!(problem(b"\xff\xfe{\0}\0").0, "x.json: this is UTF-16; save the file as UTF-8");
    assert_eq!(problem(b"{\n \"\xe9\"").0, "x.json:2:3: this is not UTF-8; save the file as UTF-8");
    let large = vec![b' '; config::MAX_FILE_BYTES + 1];
    assert!(matches!(problem(&large).1, Problem::TooLarge { .. }));
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let problem = |path: &Path| config::read(path).unwrap_err().problem().clone();
    assert_eq!(problem(folder.path()), Problem::Directory);
    assert_eq!(problem(&folder.path().join("none.json")), Problem::NoFile);
    let large = folder.path().join("large.json");
    fs::write(&large, vec![b' '; config::MAX_FILE_BYTES + 1]).unwrap();
    assert!(matches!(problem(&large), Problem::TooLarge { .. }));
    let good = folder.path().join("good.json");
    fs::write(&good, r#"{"mcpServers": {"a": {"command": "x"}}}"#).unwrap();
    let file = config::read(&good).unwrap();
    assert_eq!(file.servers[0].file(), good);
}

#[test]
fn what_a_file_says_is_escaped_and_shortened() {
    let long = "x".repeat(100_000);
    let text = format!(r#"{{"mcpServers": {{"\u001b[2J\n{long}": {{"\u202ekey{long}": 1}}}}}}"#);
    for mistake in parse("x\u{1b}.json", &text).unwrap().mistakes {
        let shown = mistake.to_string();
        assert!(shown.len() < 1000, "{}", shown.len());
        assert!(!shown.contains(['\u{1b}', '\n', '\u{202e}']), "{shown}");
    }
}
