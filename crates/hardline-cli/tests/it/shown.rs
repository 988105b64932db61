//! Text of servers as people see it: nothing added, nothing changed, nothing hidden.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use hardline_testkit::http::Server;
use serde_json::json;

use crate::call::{greet, run_in};
use crate::home::{Home, tool};
use crate::screen::screen;
use crate::session::ended_within;

/// Writes a configuration whose server lists the tools in `tools.json`, or runs the script
/// `instead` if it exists.
fn shop(home: &Home) {
    let script = format!(
        "if test -f '{0}'; then . '{0}'; fi; exec '{1}' '{2}'",
        home.text("instead"),
        home.text("server"),
        home.text("tools.json"),
    );
    let servers = json!({"mcpServers": {"shop": {"command": "sh", "args": ["-c", script]}}});
    home.write("config/hardline/mcp.json", &servers.to_string());
}

#[test]
fn structured_content_is_shown_as_the_server_wrote_it() {
    const STRUCTURED: &str = "{\"z\": 123456789012345678901234567890,\"a\":[1.10, \"caf\\u00e9 \\u200b\",\
        \"x\u{200b}\u{e0041}y\u{fe01}\u{202e} 👩\u{200d}💻\"],\"\u{feff}k\":{}, \"e\":[]}";
    let server = Server::start(async |it| {
        if !greet(it).await {
            let is_null = it.request.member("params").unwrap()["name"] == "null";
            let content = if is_null { "null" } else { "[]" };
            it.answer(&format!("{{\"content\":{content},\"structuredContent\":{STRUCTURED}}}"))
                .await;
        }
    });
    let (home, url) = (Home::new(), server.url("/mcp"));
    let (out, _) = run_in(&home, &["call", "x", "--url", &url], 0);
    let expected = "{\n  \"z\": 123456789012345678901234567890,\n  \"a\": [\n    1.10,\n    \"café \\u{200b}\",\n    \
        \"x\\u{200b}\\u{e0041}y\\u{fe01}\\u{202e} 👩\u{200d}💻\"\n  ],\n  \"\\u{feff}k\": {},\n  \"e\": []\n}\n";
    assert_eq!(out, expected);
    let (out, _) = run_in(&home, &["call", "null", "--url", &url], 0);
    assert_eq!(out, expected);
    let (out, _) = run_in(&home, &["call", "x", "--url", &url, "--raw"], 0);
    assert_eq!(out.trim_end(), STRUCTURED);
    let (out, _) = run_in(&home, &["call", "x", "--url", &url, "--format", "json"], 0);
    // JSON output has an escape for each character that is not seen, which means the same.
    let escape = |text: String, char: char| {
        let units = char
            .encode_utf16(&mut [0; 2])
            .iter()
            .map(|it| format!("\\u{it:04x}"))
            .collect::<String>();
        text.replace(char, &units)
    };
    let unseen = ['\u{200b}', '\u{200d}', '\u{202e}', '\u{feff}', '\u{fe01}', '\u{e0041}'];
    let escaped = unseen.into_iter().fold(STRUCTURED.to_owned(), escape);
    assert!(out.contains(&escaped), "{out}");
}

#[test]
fn a_tool_is_shown_in_the_order_and_with_the_digits_of_its_server() {
    let home = Home::new();
    shop(&home);
    let schema = r#"{"properties":{"zebra":{"type":"integer","default":123456789012345678901234567890,
        "minimum":1.50},"apple":{"enum":["caf\u00e9",1e400,{"y":1,"b":2}]},
        "mango":{"default":{"y":1.0,"b":"x\u200by"}}},"required":["zebra","mango"]}"#;
    home.write(
        "tools.json",
        &format!(r#"[{{"name":"look","inputSchema":{}}}]"#, schema.replace('\n', "")),
    );
    let (out, _) = run_in(&home, &["tools", "shop"], 0);
    assert!(out.contains("zebra* apple mango*"), "{out}");
    let (out, _) = run_in(&home, &["tools", "shop", "look"], 0);
    assert!(out.contains("default 123456789012345678901234567890, at least 1.50"), "{out}");
    assert!(out.contains(r#""café" | 1e400 | {"y":1,"b":2}"#), "{out}");
    assert!(out.contains(r#"default {"y":1.0,"b":"x\u{200b}y"}"#), "{out}");
    let places: Vec<_> = ["zebra ", "apple ", "mango "].map(|it| out.find(it).unwrap()).into();
    assert!(places.is_sorted(), "{out}");
    assert!(out.ends_with("hardline call shop look '{\"zebra\":1,\"mango\":\"…\"}'\n"), "{out}");
}

#[test]
fn a_name_as_long_as_a_story_leaves_the_others_where_they_are() {
    let home = Home::new();
    shop(&home);
    let long = "x".repeat(300);
    home.list(&json!([tool("look", "Looks."), tool(&long, "Is long."), tool("buy", "Buys.")]));
    let mut command = home.command(&["tools", "--color", "never"]);
    command.current_dir(home.path("")).stderr(Stdio::null());
    let (status, out) = screen(command, 80);
    assert!(status.success(), "{out}");
    assert!(out.contains(&long), "{out}");
    for line in out.lines().filter(|it| !it.contains(&long)) {
        assert!(line.len() <= 80, "{line:?}");
    }
    assert!(
        out.lines().any(|it| it.starts_with("shop    look") && it.ends_with("Looks.")),
        "{out}"
    );
    let (out, _) = run_in(&home, &["tools"], 0);
    assert!(out.lines().all(|it| !it.contains('…')) && out.lines().count() == 4, "{out}");
}

#[test]
fn a_tool_that_may_not_be_used_is_listed_nowhere() {
    let server = Server::start(async |it| {
        let schema =
            |header: &str| json!({"properties": {"a": {"type": "string", "x-mcp-header": header}}});
        let result = match it.rpc_method().as_str() {
            "server/discover" => json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}},
            }),
            "tools/list" => json!({"resultType": "complete", "tools": [
                {"name": "good", "inputSchema": schema("Region")},
                {"name": "bad", "inputSchema": schema("")},
            ]}),
            _ => return it.status(400).await,
        };
        it.answer(&result.to_string()).await;
    });
    let (home, url) = (Home::new(), server.url("/mcp"));
    let servers = json!({"mcpServers": {"far": {"url": url}}});
    home.write("config/hardline/mcp.json", &servers.to_string());
    for args in [&["tools"][..], &["tools", "far"], &["tools", "--url", &url]] {
        let (out, err) = run_in(&home, args, 0);
        assert!(out.contains("good") && !out.contains("bad"), "{args:?}: {out}{err}");
    }
    let (_, err) = run_in(&home, &["tools", "bad", "--url", &url], 1);
    assert!(err.contains("has no tool bad"), "{err}");
}

#[test]
fn a_list_of_last_time_is_there_before_a_slow_server_has_ended() {
    for is_named in [true, false] {
        let home = Home::new();
        shop(&home);
        home.list(&json!([tool("look", "Looks.")]));
        run_in(&home, &["tools"], 0);
        // The server exits by itself once the test has seen the list, and not before.
        let script = format!(
            "trap '' TERM; cat > /dev/null; until test -f '{}'; do sleep 0.02; done; touch '{}'; exit 0",
            home.text("seen"),
            home.text("ended")
        );
        home.write("instead", &script);
        let args: &[&str] = if is_named {
            &["tools", "shop", "--timeout", "500ms"]
        } else {
            // Without a name, the cached list is shown after two seconds.
            &["tools"]
        };
        let mut command = home.command(args);
        command.current_dir(home.path("")).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("look") && out.read_line(&mut text).unwrap() != 0 {}
        home.write("seen", "");
        let status = ended_within(&mut child, Duration::from_secs(30));
        assert_eq!(status.code(), Some(i32::from(is_named)), "{text}");
        assert!(text.contains("look"), "{text}");
        assert!(home.path("ended").exists(), "it was ended before its list was shown");
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert!(err.contains("is shown from the cache: no answer"), "{err}");
    }
}

#[test]
fn arguments_of_prompts_are_named_as_they_were_written() {
    let args = [
        "prompts",
        "x",
        r#"{"n": 123456789012345678901234567890}"#,
        "--url",
        "http://127.0.0.1:1/",
    ];
    let (_, err) = run_in(&Home::new(), &args, 2);
    assert!(err.contains("write n as \"123456789012345678901234567890\""), "{err}");
}
