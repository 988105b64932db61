//! Files of the known clients, read as these clients read them.

use std::time::Duration;

use hardline_client::config::{FixedVariables, HttpTransport, Resolved, ServerConfig};

use super::{parse, sound};

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../../hardline-cli/tests/fixtures/configs/", $name))
    };
}

/// Formats a server as one line: name, description, and options.
fn line(server: &ServerConfig) -> String {
    let mut line = format!("{}: {}", server.name(), server.describe());
    if server.is_disabled() {
        line.push_str(", disabled");
    }
    if let Some(time) = server.timeout() {
        line.push_str(&format!(", {time:?}"));
    }
    if server.has_authorization() {
        line.push_str(", authorized");
    }
    line
}

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    let file = parse(path, text).unwrap();
    let lines: Vec<_> = file.servers.iter().map(line).collect();
    assert_eq!(lines, expected, "{path}: {:?}", file.mistakes);
}

#[test]
fn claude_desktop() {
    check(
        "claude_desktop_config.json",
        fixture!("claude-desktop.json"),
        &[
            "filesystem: npx -y @modelcontextprotocol/server-filesystem /home/ada/Desktop \
             \"/home/ada/Téléchargements – 下载\"",
            "github: docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN \
             ghcr.io/github/github-mcp-server",
            "windows: \"C:\\\\Program Files\\\\nodejs\\\\node.exe\" \
             C:\\\\Users\\\\Ada\\\\server\\\\index.js --root=C:\\\\ \"say \\\"hello\\\"\"",
            "bare: /opt/servers/weather",
            "nothing: uvx",
        ],
    );
}

#[test]
fn claude_code_takes_its_own_servers_and_those_of_the_current_directory() {
    check(
        "/home/ada/.claude.json",
        fixture!("claude-code.json"),
        &[
            "sentry: https://mcp.sentry.dev/mcp",
            "linear: https://mcp.linear.app/sse, authorized",
            "time: uvx mcp-server-time",
            "database: node /home/ada/shop/db.js -- --readonly",
        ],
    );
}

#[test]
fn claude_code_prefers_the_server_of_a_project() {
    let text = r#"{
        "mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}},
        "projects": {
            "/home/ada/shop": {
                "mcpServers": {"a": {"command": "local"}, "c": {"command": "local"}},
                "disabledMcpServers": ["c"]
            },
            "/home/ada": {"mcpServers": {"d": {"command": "elsewhere"}}}
        }
    }"#;
    check("/home/ada/.claude.json", text, &["b: user", "a: local", "c: local, disabled"]);
}

#[test]
fn claude_code_of_a_project() {
    let text = fixture!("claude-code-project.json");
    check(
        "/home/ada/shop/.mcp.json",
        text,
        &[
            "api: ${API_BASE_URL:-https://api.example.com}/mcp, authorized",
            "local: ${CLAUDE_PLUGIN_ROOT}/servers/db --config ${CONFIG:-config.json}",
        ],
    );
    let mistakes = parse("/home/ada/shop/.mcp.json", text).unwrap().mistakes;
    assert_eq!(
        mistakes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["/home/ada/shop/.mcp.json:13:13: server \"gone\": mcpServers.gone: an object expected, \
          null found; write {\"command\": …} or {\"url\": …} here"]
    );
}

#[test]
fn cursor() {
    check(
        "/home/ada/shop/.cursor/mcp.json",
        fixture!("cursor.json"),
        &[
            "server-name: npx -y mcp-server",
            "python: python ${workspaceFolder}/tools/mcp-server.py",
            "remote: http://localhost:3000/mcp",
        ],
    );
}

#[test]
fn vscode() {
    check(
        "/h/.config/Code/User/mcp.json",
        fixture!("vscode-mcp.jsonc"),
        &[
            "playwright: npx -y @microsoft/mcp-server-playwright",
            "perplexity: docker run -i --rm -e PERPLEXITY_API_KEY mcp/perplexity-ask",
            "env first: /usr/bin/server",
            "github: https://api.githubcopilot.com/mcp/",
        ],
    );
    check(
        "/h/.config/Code/User/settings.json",
        fixture!("vscode-settings.jsonc"),
        &[
            "mcp-server-time: python -m mcp_server_time --local-timezone=America/Los_Angeles",
            "dotted: uvx x",
        ],
    );
}

#[test]
fn windsurf() {
    check(
        "/h/.codeium/windsurf/mcp_config.json",
        fixture!("windsurf.json"),
        &[
            "github: npx -y @modelcontextprotocol/server-github",
            "figma: https://mcp.figma.com/mcp",
            "off: mcp-remote, disabled",
        ],
    );
}

#[test]
fn zed_leaves_out_what_extensions_start() {
    let text = fixture!("zed-settings.jsonc");
    check(
        "/h/.config/zed/settings.json",
        text,
        &[
            "local-mcp-server: some-command arg-1 arg-2",
            "older: node /opt/mcp/index.js",
            "older-bare: /opt/mcp/bare",
            "remote: https://example.com/mcp, authorized",
        ],
    );
    let mistakes = parse("/h/.config/zed/settings.json", text).unwrap().mistakes;
    let [mistake] = &*mistakes else { panic!("{mistakes:?}") };
    assert!(!mistake.is_fatal());
    assert_eq!(mistake.server(), Some("mcp-server-postgres"));
    check(
        "/h/.config/zed/settings.json",
        r#"{"context_servers": {"a": {"command": "x", "timeout": 90, "enabled": false}}}"#,
        &["a: x, disabled, 90s"],
    );
}

#[test]
fn gemini() {
    check(
        "/h/.gemini/settings.json",
        fixture!("gemini.json"),
        &[
            "pythonTools: python -m my_mcp_server --port 8080, 15s",
            "httpServer: http://localhost:3000/mcp, 5s",
            // The server is not in the list of allowed ones.
            "sse: https://my-sse-server.com/events, disabled",
        ],
    );
}

#[test]
fn codex() {
    check(
        "/h/.codex/config.toml",
        fixture!("codex.toml"),
        &[
            "context7: npx -y @upstash/context7-mcp",
            "docs: C:\\\\tools\\\\docs.exe --root C:\\\\docs several\\nlines, disabled",
            "bare: bare-server",
            "with spaces & dots.v1: server",
            "figma: https://mcp.figma.com/mcp, authorized",
        ],
    );
    check(
        "/h/.codex/config.toml",
        fixture!("codex-inline.toml"),
        &["dotted: dotted", "inline: inline", "args: a b"],
    );
    check(
        "/h/.codex/config.toml",
        "[mcp_servers.a]\nurl = \"https://h.example/\"\ntool_timeout_sec = 2.5\nscopes = [\"x\"]\n\
         startup_timeout_sec = 10\nenabled_tools = [\"y\"]\n",
        &["a: https://h.example/, 2.5s"],
    );
}

#[test]
fn cline_and_roo_count_seconds() {
    check(
        "cline_mcp_settings.json",
        fixture!("cline.json"),
        &[
            "git: uvx mcp-server-git --repository /path/to/repo, 60s",
            "off: node index.js --api-key [redacted], disabled",
            "remote: https://example.com/mcp",
        ],
    );
    check(
        "mcp_settings.json",
        fixture!("roo.json"),
        &[
            "数据库: cmd /c npx -y @example/db",
            "-dash: uv run x.py",
            "quote \" and \\: uv run y.py",
            "http: https://example.com/mcp",
        ],
    );
}

#[test]
fn lm_studio() {
    check(
        "/h/.lmstudio/mcp.json",
        fixture!("lm-studio.json"),
        &[
            "hf-mcp-server: https://huggingface.co/mcp, authorized",
            "fetch: docker run -i --rm mcp/fetch",
        ],
    );
}

#[test]
fn what_install_wrote_is_a_command_as_any_other() {
    let servers = sound(
        "x.json",
        r#"{"mcpServers": {"git": {"command": "/usr/bin/hardline",
        "args": ["wrap", "--name", "git", "--", "uvx", "mcp-server-git"]}}}"#,
    );
    assert_eq!(line(&servers[0]), "git: /usr/bin/hardline wrap --name git -- uvx mcp-server-git");
}

#[test]
fn a_file_of_any_name_may_have_the_servers_of_any_client() {
    for text in [
        r#"{"mcpServers": {"a": {"command": "x"}}}"#,
        "\u{feff}// first\r\n{\r\n\"mcpServers\": {\"a\": {\"command\": \"x\",},},}\r\n",
        r#"{"servers": {"a": {"command": "x"}}, "inputs": []}"#,
        r#"{"mcp": {"servers": {"a": {"command": "x"}}}}"#,
        r#"{"context_servers": {"a": {"command": {"path": "x"}}}}"#,
        r#"{"a": {"command": "x"}}"#,
        "[mcp_servers.a]\ncommand = \"x\"\n",
    ] {
        check("servers", text, &["a: x"]);
    }
    check("servers.json", r#"{"mcpServers": {}}"#, &[]);
    check(
        "mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "timeout": 1500}}}"#,
        &["a: x, 1.5s"],
    );
}

#[test]
fn what_a_client_does_not_look_at_is_no_server() {
    check(".vscode/settings.json", r#"{"servers": {"a": {"command": "x"}}}"#, &[]);
    check("/h/.config/zed/settings.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#, &[]);
    check("/h/.codex/config.toml", "", &[]);
    check("/h/.claude.json", "", &[]);
}

#[test]
fn the_way_is_as_the_file_says() {
    for (path, entry, expected) in [
        ("x.json", r#""url": "https://h/""#, HttpTransport::Any),
        ("x.json", r#""type": "http", "url": "https://h/""#, HttpTransport::Streamable),
        ("x.json", r#""type": "streamable-http", "url": "https://h/""#, HttpTransport::Streamable),
        ("x.json", r#""type": "streamableHttp", "url": "https://h/""#, HttpTransport::Streamable),
        ("x.json", r#""type": "sse", "url": "https://h/""#, HttpTransport::Sse),
        ("x.json", r#""transport": "sse", "url": "https://h/""#, HttpTransport::Sse),
        (".mcp.json", r#""type": "http", "url": "https://h/""#, HttpTransport::Streamable),
        (".vscode/mcp.json", r#""type": "http", "url": "https://h/""#, HttpTransport::Any),
        ("/h/.gemini/settings.json", r#""httpUrl": "https://h/""#, HttpTransport::Streamable),
        ("/h/.gemini/settings.json", r#""url": "https://h/""#, HttpTransport::Any),
        ("/h/.gemini/settings.json", r#""url": "https://h/", "type": "sse""#, HttpTransport::Sse),
        (
            "/h/.gemini/settings.json",
            r#""url": "https://a/", "httpUrl": "https://h/""#,
            HttpTransport::Streamable,
        ),
        ("/h/.codeium/mcp_config.json", r#""serverUrl": "https://h/""#, HttpTransport::Any),
    ] {
        let group = if path.contains(".vscode") { "servers" } else { "mcpServers" };
        let servers = sound(path, &format!(r#"{{"{group}": {{"a": {{{entry}}}}}}}"#));
        match servers[0].resolve(&FixedVariables::new()).unwrap() {
            Resolved::Url { config, transport } => {
                assert_eq!((config.url(), transport), ("https://h/", expected), "{path}: {entry}");
            }
            resolved => panic!("{resolved:?}"),
        }
    }
}

#[test]
fn what_is_said_about_logging_in_is_read_from_each_clients_block() {
    let variables = FixedVariables::new().with("ID", "me").with("SECRET", "s3cr3t");
    let none = (None, None, vec![], None);
    let scopes = vec!["a".to_owned(), "b".to_owned()];
    for (path, entry, expected) in [
        (
            ".mcp.json",
            r#""oauth": {"clientId": "me", "callbackPort": 8080, "scopes": "a b"}"#,
            (Some("me"), None, scopes.clone(), Some(8080)),
        ),
        (
            ".cursor/mcp.json",
            r#""auth": {"CLIENT_ID": "${env:ID}", "CLIENT_SECRET": "${env:SECRET}", "scopes": ["a", "b"]}"#,
            (Some("me"), Some("s3cr3t"), scopes.clone(), None),
        ),
        (
            "/h/.gemini/settings.json",
            r#""oauth": {"enabled": true, "clientId": "$ID", "clientSecret": "$SECRET",
                "scopes": ["a", "b"], "redirectUri": "http://localhost:7777/oauth/callback"}"#,
            (Some("me"), Some("s3cr3t"), scopes.clone(), Some(7777)),
        ),
        (
            "/h/.config/zed/settings.json",
            r#""oauth": {"client_id": "me", "client_secret": "s3cr3t"}"#,
            (Some("me"), Some("s3cr3t"), vec![], None),
        ),
        ("x.json", r#""scopes": ["a", "b"]"#, (None, None, scopes, None)),
        ("x.json", r#""oauth": {}"#, none),
    ] {
        let group = if path.contains("zed") { "context_servers" } else { "mcpServers" };
        let text = format!(r#"{{"{group}": {{"a": {{"url": "https://h/", {entry}}}}}}}"#);
        let servers = sound(path, &text);
        let oauth = servers[0].oauth().unwrap();
        let (id, secret) = (oauth.client_id(&variables), oauth.client_secret(&variables));
        assert_eq!(id.unwrap().as_deref(), expected.0, "{path}");
        assert_eq!(secret.unwrap().as_deref(), expected.1, "{path}");
        assert_eq!(oauth.scopes(), expected.2, "{path}");
        assert_eq!(oauth.callback_port(), expected.3, "{path}");
    }
}

#[test]
fn a_fingerprint_is_that_of_what_a_server_is() {
    let print = |entry: &str| {
        sound("x.json", &format!(r#"{{"mcpServers": {{"a": {{{entry}}}}}}}"#))[0].fingerprint()
    };
    let same = print(r#""command": "x", "args": ["y"], "env": {"A": "1", "B": "2"}"#);
    assert_eq!(same.len(), 64);
    for entry in [
        r#""env": {"B": "2", "A": "1"}, "command": "x", "args": ["y"]"#,
        r#""command": "x", "args": ["y"], "env": {"A": "1", "B": "2"}, "timeout": 5, "disabled": true"#,
    ] {
        assert_eq!(print(entry), same, "{entry}");
    }
    let mut all = vec![same];
    for entry in [
        r#""command": "x", "args": ["y"]"#,
        r#""command": "x", "args": ["y"], "env": {"A": "1"}"#,
        r#""command": "x", "args": ["y"], "cwd": "/"}, "unused": {"command": "z""#,
        r#""command": "x", "args": ["y", ""]"#,
        r#""command": "xy""#,
        r#""url": "https://x/""#,
        r#""url": "https://x/", "type": "sse""#,
        r#""url": "https://x/", "headers": {"A": "1"}"#,
        r#""url": "https://x/", "headers": {"A": "2"}"#,
    ] {
        all.push(print(entry));
    }
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn the_same_words_in_two_projects_are_two_servers() {
    let print = |path: &str, entry: &str| {
        sound(path, &format!(r#"{{"mcpServers": {{"a": {{{entry}}}}}}}"#))[0].fingerprint()
    };
    let (one, other) = ("/p/one/.mcp.json", "/p/two/.mcp.json");
    for entry in [
        r#""command": "python3", "args": ["server.py"]"#,
        r#""command": "python3", "cwd": "src""#,
        r#""command": "python3", "cwd": "${DIR}""#,
        r#""command": "python3", "cwd": "/srv", "envFile": ".env""#,
    ] {
        assert_eq!(print(one, entry), print(one, entry), "{entry}");
        assert_ne!(print(one, entry), print(other, entry), "{entry}");
    }
    for entry in [r#""command": "python3", "cwd": "/srv""#, r#""url": "https://h/""#] {
        assert_eq!(print(one, entry), print(other, entry), "{entry}");
    }
}

#[test]
fn timeouts_are_in_the_clients_unit() {
    for (path, expected) in [
        (".mcp.json", Duration::from_millis(30)),
        ("/h/.gemini/settings.json", Duration::from_millis(30)),
        ("cline_mcp_settings.json", Duration::from_secs(30)),
        (".roo/mcp.json", Duration::from_secs(30)),
        ("x.json", Duration::from_millis(30)),
    ] {
        let text = r#"{"mcpServers": {"a": {"command": "x", "timeout": 30}}}"#;
        assert_eq!(sound(path, text)[0].timeout(), Some(expected), "{path}");
    }
}
