//! Resolution of servers with variables.

use std::fs;
use std::path::Path;

use hardline_client::config::{self, Dialect, FixedVariables, Resolved, ServerConfig};
use hardline_transport::process::Command;

use super::sound;

fn command(server: &ServerConfig, variables: &FixedVariables) -> Command {
    match server.resolve(variables).unwrap() {
        Resolved::Command(command) => command,
        resolved => panic!("{resolved:?}"),
    }
}

fn variable(command: &Command, name: &str) -> Option<String> {
    let found = command.variables().into_iter().find(|(it, _)| it == name);
    found.map(|(_, value)| value.into_string().unwrap())
}

#[test]
fn a_command_has_its_arguments_and_environment() {
    let text = r#"{"mcpServers": {"a": {"command": "${BIN}", "args": ["--root", "${ROOT:-/srv}", "$HOME"],
        "env": {"TOKEN": "${TOKEN}", "LITERAL": "a$b"}, "cwd": "/"}}}"#;
    let servers = sound("x.json", text);
    let variables = FixedVariables::new().with("BIN", "/bin/x").with("TOKEN", "s3cr3t");
    let command = command(&servers[0], &variables);
    assert_eq!(variable(&command, "TOKEN").as_deref(), Some("s3cr3t"));
    assert_eq!(variable(&command, "LITERAL").as_deref(), Some("a$b"));
    // Of our own environment, only the basic variables.
    assert_eq!(variable(&command, "CARGO_MANIFEST_DIR"), None);
    assert!(variable(&command, "PATH").is_some());
    let shown = format!("{command:?}");
    assert!(
        shown.contains(
            r#"program: "/bin/x", args: ["--root", "/srv", "$HOME"], directory: Some("/")"#
        ),
        "{shown}"
    );
}

#[test]
fn variables_are_put_in_anew_each_time() {
    let servers =
        sound("x.json", r#"{"mcpServers": {"a": {"command": "x", "env": {"K": "${K}"}}}}"#);
    for value in ["1", "2"] {
        let command = command(&servers[0], &FixedVariables::new().with("K", value));
        assert_eq!(variable(&command, "K").as_deref(), Some(value));
    }
}

#[test]
fn a_missing_variable_is_named_with_file_server_and_key() {
    for (entry, expected) in [
        (r#""command": "${X}""#, "1:34: server \"a\": mcpServers.a.command"),
        (r#""command": "x", "args": ["", "${X}"]"#, "1:52: server \"a\": mcpServers.a.args[1]"),
        (r#""command": "x", "env": {"T": "${X}"}"#, "1:52: server \"a\": mcpServers.a.env.T"),
        (r#""command": "x", "cwd": "${X}""#, "1:46: server \"a\": mcpServers.a.cwd"),
        (r#""url": "https://${X}/""#, "1:30: server \"a\": mcpServers.a.url"),
        (
            r#""url": "https://h/", "headers": {"T": "${X}"}"#,
            "1:61: server \"a\": mcpServers.a.headers.T",
        ),
    ] {
        let servers = sound("x.json", &format!(r#"{{"mcpServers": {{"a": {{{entry}}}}}}}"#));
        let error = servers[0].resolve(&FixedVariables::new()).unwrap_err();
        let help =
            "the variable X is not set; set it in the environment, or write ${X:-default} here";
        assert_eq!(error.to_string(), format!("x.json:{expected}: {help}"));
        assert!(error.is_fatal());
    }
}

#[test]
fn what_variables_make_is_checked_and_not_shown() {
    let variables = FixedVariables::new()
        .with("BAD", "s3cr3t://[s3cr3t")
        .with("LINES", "s3cr3t\r\nX: y")
        .with("NUL", "s3cr3t\0")
        .with("EMPTY", " ");
    for (entry, expected) in [
        (
            r#""url": "${BAD}""#,
            "url: with its variables expanded, this is not a valid server URL; write it as \
             https://example.com/mcp",
        ),
        (
            r#""url": "https://h/", "headers": {"T": "${LINES}"}"#,
            "headers.T: the value of the header T has a line break or a control character; correct \
             or remove this header",
        ),
        (
            r#""command": "x", "args": ["${NUL}"]"#,
            "args[0]: a NUL character, which no program can be given; remove it",
        ),
        (r#""command": "${EMPTY}""#, "command: the command is empty; name the program to start"),
        (
            r#""command": "x", "envFile": "/${BAD}""#,
            "envFile: cannot read the variables in /${BAD}: No such file or directory (os error \
             2); correct the path or the file",
        ),
    ] {
        let servers = sound("x.json", &format!(r#"{{"mcpServers": {{"a": {{{entry}}}}}}}"#));
        let error = servers[0].resolve(&variables).unwrap_err();
        let shown = error.to_string();
        assert!(shown.ends_with(&format!("mcpServers.a.{expected}")), "{shown}");
        assert!(!format!("{error:?} {shown}").contains("s3cr3t"), "{error:?}");
    }
}

#[test]
fn codex_names_the_variables_that_are_passed_on() {
    let servers = sound(
        "/h/.codex/config.toml",
        "[mcp_servers.a]\ncommand = \"x\"\nenv_vars = [\"K\", {name = \"L\", source = \"local\"}, \"M\"]\n\
         env = {K = \"own\"}\n[mcp_servers.b]\nurl = \"https://h/\"\nbearer_token_env_var = \"K\"\n\
         env_http_headers = {\"X-Key\" = \"L\"}\n",
    );
    let variables = FixedVariables::new().with("K", "s3cr3t").with("L", "other");
    let command = command(&servers[0], &variables);
    assert_eq!(variable(&command, "K").as_deref(), Some("own"));
    assert_eq!(variable(&command, "L").as_deref(), Some("other"));
    assert_eq!(variable(&command, "M"), None);
    assert!(servers[1].has_authorization());
    assert!(servers[1].resolve(&variables).is_ok());
    let error = servers[1].resolve(&FixedVariables::new().with("L", "")).unwrap_err().to_string();
    assert!(error.ends_with("mcp_servers.b.bearer_token_env_var: the variable K is not set; set it in the environment"), "{error}");
}

/// A server as VS Code starts it in a project.
#[test]
fn a_projects_server_runs_in_the_project_and_has_its_env_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".vscode/mcp.json");
    let text = br#"{"servers": {
        "a": {"command": "x", "args": ["${workspaceFolder}"], "envFile": "${workspaceFolder}/.env", "env": {"B": "own", "N": 1, "Z": null}},
        "b": {"command": "x", "cwd": "sub", "envFile": ".env"}
    }}"#;
    let file = config::parse(&path, text, Dialect::of(&path)).unwrap();
    assert_eq!(file.mistakes, []);
    let variables = FixedVariables::new();
    let missing = file.servers[0].resolve(&variables).unwrap_err().to_string();
    assert!(missing.contains("servers.a.envFile: cannot read the variables"), "{missing}");
    for value in ["1", "2"] {
        fs::write(folder.path().join(".env"), format!("# c\nA={value}\nB=file\n")).unwrap();
        let command = command(&file.servers[0], &variables);
        assert_eq!(variable(&command, "A").as_deref(), Some(value));
        assert_eq!(variable(&command, "B").as_deref(), Some("own"));
        assert_eq!(variable(&command, "N").as_deref(), Some("1"));
        assert_eq!(variable(&command, "Z"), None);
    }
    let directory = |index: usize| format!("{:?}", command(&file.servers[index], &variables));
    let quoted = |path: &Path| format!("directory: Some({path:?})");
    assert!(directory(0).contains(&quoted(folder.path())));
    assert!(directory(1).contains(&quoted(&folder.path().join("sub"))));
    fs::write(folder.path().join(".env"), "s3cr3t line\n").unwrap();
    let broken = file.servers[0].resolve(&variables).unwrap_err().to_string();
    assert!(broken.contains("line 1 is not NAME=value"), "{broken}");
    assert!(!broken.contains("s3cr3t"), "{broken}");
}
