//! Random files: no panic, and no secret in any output.

use std::path::Path;

use hardline_client::config::{self, Dialect, Variables};
use hardline_testkit::generate::{self, Rng};

/// Value of every variable.
const SECRET: &str = "PLANTED-s3cr3t\u{1b}[31m";

struct Secrets;

impl Variables for Secrets {
    fn find(&self, name: &str) -> Option<String> {
        (name != "NONE").then(|| SECRET.to_owned())
    }
}

const PATHS: &[&str] = &[
    "x.json",
    "x.toml",
    "claude_desktop_config.json",
    ".claude.json",
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".vscode/settings.json",
    "/h/.codeium/mcp_config.json",
    "/h/.config/zed/settings.json",
    "/h/.gemini/settings.json",
    "/h/.codex/config.toml",
    "cline_mcp_settings.json",
    ".roo/mcp.json",
    "/h/.lmstudio/mcp.json",
];

const GROUPS: &[&str] =
    &["mcpServers", "servers", "context_servers", "mcp_servers", "mcp", "other"];

const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "envFile",
    "env_vars",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "type",
    "timeout",
    "disabled",
    "enabled",
    "oauth",
    "auth",
    "scopes",
    "comand",
    "settings",
    "source",
    "path",
];

const TEXTS: &[&str] = &[
    "x",
    "",
    "${V}",
    "$V",
    "${env:V}",
    "${input:V}",
    "${V:-d}",
    "${NONE}",
    "https://h.example/${V}",
    "https://${env:V}.example/?k=$V",
    "${V}://${V}",
    "http",
    "stdio",
    "sse",
    "/${V}/${env:V}",
    "~/${V}",
    "Bearer ${V}",
    "${workspaceFolder}",
    "a\\u0000b",
    "\\ud83d",
    "NONE",
    "V",
];

fn text(rng: &mut Rng) -> String {
    format!("\"{}\"", rng.pick(TEXTS))
}

fn value(rng: &mut Rng, depth: usize) -> String {
    match rng.below(if depth == 0 { 2 } else { 5 }) {
        0 => rng.pick(&["1", "-1", "true", "false", "null", "1e999", "30"]).to_owned(),
        1 => text(rng),
        2 => {
            let items: Vec<_> = (0..rng.below(4)).map(|_| value(rng, depth - 1)).collect();
            format!("[{}]", items.join(","))
        }
        3 => text(rng),
        _ => object(rng, depth - 1, KEYS),
    }
}

fn object(rng: &mut Rng, depth: usize, keys: &[&str]) -> String {
    let members: Vec<_> = (0..rng.below(5))
        .map(|_| format!("\"{}\":{}", rng.pick(keys), value(rng, depth)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Generates an entry that is likely to be a server.
fn entry(rng: &mut Rng) -> String {
    let first = rng.pick(&["command", "url", "httpUrl"]);
    let list = |rng: &mut Rng| (0..rng.below(3)).map(|_| text(rng)).collect::<Vec<_>>().join(",");
    let (main, args) = (text(rng), list(rng));
    let map = format!("{{\"{}\":{}}}", rng.pick(&["A", "Authorization", "a b"]), text(rng));
    let rest = if first == "command" {
        format!("\"args\":[{args}],\"env\":{map},\"cwd\":{}", text(rng))
    } else {
        format!("\"headers\":{map}")
    };
    match rng.below(4) {
        0 => value(rng, 2),
        _ => format!("{{\"{first}\":{main},{rest}}}"),
    }
}

fn file(rng: &mut Rng, path: &str) -> String {
    let servers: Vec<_> =
        (0..rng.below(4)).map(|index| format!("\"s{}\":{}", index % 3, entry(rng))).collect();
    let group = match path {
        _ if rng.one_in(8) => rng.pick(GROUPS),
        ".vscode/mcp.json" => "servers",
        ".vscode/settings.json" => "mcp.servers",
        "/h/.config/zed/settings.json" => "context_servers",
        _ => "mcpServers",
    };
    format!("{{\"{group}\":{{{}}}}}", servers.join(","))
}

#[track_caller]
fn examine(bytes: &[u8], path: &str, seed: u64) -> usize {
    let path = Path::new(path);
    let check = |shown: String| {
        assert!(!shown.contains("PLANTED") && !shown.contains('\u{1b}'), "seed {seed}: {shown}");
    };
    let file = match config::parse(path, bytes, Dialect::of(path)) {
        Ok(file) => file,
        Err(error) => {
            check(format!("{error} {error:?}"));
            return 0;
        }
    };
    check(format!("{file:?}"));
    for mistake in &file.mistakes {
        check(mistake.to_string());
    }
    for server in &file.servers {
        check(format!("{server:?} {} {}", server.describe(), server.fingerprint()));
        match server.resolve(&Secrets) {
            Ok(resolved) => check(format!("{resolved:?}")),
            Err(error) => check(format!("{error} {error:?}")),
        }
        if let Some(oauth) = server.oauth() {
            check(format!("{oauth:?}"));
            if let Err(error) = oauth.client_secret(&Secrets) {
                check(format!("{error} {error:?}"));
            }
        }
    }
    file.servers.len()
}

#[test]
fn no_text_panics_and_no_secret_is_told() {
    let mut servers = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let path = rng.pick(PATHS);
        let mut bytes = match rng.below(8) {
            0 => generate::value(&mut rng, 4).into_bytes(),
            _ => file(&mut rng, path).into_bytes(),
        };
        if rng.one_in(4) {
            generate::mutate(&mut rng, &mut bytes);
        }
        servers += examine(&bytes, path, seed);
    }
    assert!(2000 < servers, "the generator makes too few servers to show anything: {servers}");
}

#[test]
fn a_file_of_nothing_but_mistakes_is_read_in_no_time() {
    let many = |piece: &str, count: usize| vec![piece; count].join(",");
    let arguments = many("1", 200_000);
    let keys: Vec<_> = (0..50_000).map(|index| format!("\"commnad{index}\":1")).collect();
    let variables = "${".repeat(500_000);
    for text in [
        format!(r#"{{"mcpServers": {{"a": {{"command": "x", "args": [{arguments}]}}}}}}"#),
        format!(r#"{{"mcpServers": {{"a": {{{}}}}}}}"#, keys.join(",")),
        format!(r#"{{"mcpServers": {{"a": {{"command": "{variables}"}}}}}}"#),
        format!(r#"{{"mcpServers": {{{}}}}}"#, many(r#""a":{}"#, 200_000)),
    ] {
        let file = config::parse("x.json".as_ref(), text.as_bytes(), Dialect::Generic).unwrap();
        assert!(file.mistakes.len() <= 101);
    }
}
