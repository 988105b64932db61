//! `hardline tools` and `hardline call` with servers from configurations.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::call::run_in;
use crate::home::{HARDLINE, Home, tool};
use crate::screen::whole_screen;
use crate::session::ended_within;

/// Returns the configuration entry of the demo server.
fn demo() -> Value {
    json!({"command": HARDLINE, "args": ["demo-server"]})
}

/// Returns a home with the given servers in Hardline's own configuration.
fn home(servers: &Value) -> Home {
    let home = Home::new();
    home.write("config/hardline/mcp.json", &json!({"mcpServers": servers}).to_string());
    home
}

/// Returns an entry whose server lists the tools in `tools.json`, and exits with 4 without that
/// file.
fn own(home: &Home) -> Value {
    let script = format!(
        "test -f '{0}' || {{ echo gone >&2; exit 4; }}; exec '{1}' '{0}'",
        home.text("tools.json"),
        home.text("server")
    );
    json!({"command": "sh", "args": ["-c", script]})
}

fn rows(out: &str) -> Vec<Vec<&str>> {
    out.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn all_servers_are_listed_and_the_others_named() {
    let home = home(&json!({
        "one": demo(),
        "hang": {"command": "sleep", "args": ["3600"]},
        "dead": {"command": "sh", "args": ["-c", "echo 'no \u{1b}database' >&2; exit 3"]},
        "unset": {"command": "x", "args": ["${HARDLINE_NO_SUCH}"]},
        "far": {"url": "http://127.0.0.1:1/mcp"},
        "off": {"command": "x", "disabled": true},
        // A different configuration: an identical one would be the same program under two names.
        "two": {"command": HARDLINE, "args": ["demo-server"], "env": {"HARDLINE_TEST": "2"}},
    }));
    let begun = Instant::now();
    let (out, err) = run_in(&home, &["tools", "--timeout", "3s"], 0);
    assert!(begun.elapsed() < Duration::from_secs(30));
    let rows = rows(&out);
    assert_eq!(rows[0], ["SERVER", "TOOL", "ARGUMENTS", "DESCRIPTION"]);
    for server in ["one", "two"] {
        assert!(rows.iter().any(|it| it.starts_with(&[server, "echo", "text*"])), "{out}");
    }
    assert_eq!(rows.len(), 1 + 2 * 6, "{out}");
    for words in [
        "hang is not available: no answer",
        "dead is not available: the server exited with code 3; its last stderr lines: no \\u{1b}database",
        "unset cannot be used: ",
        "the variable HARDLINE_NO_SUCH is not set",
        "far is not available: cannot reach http://127.0.0.1:1",
        "warning: two and one both have big, echo, env",
    ] {
        assert!(err.contains(words), "{words}: {err}");
    }
    assert!(!err.contains("off") && !out.contains('\u{1b}') && !err.contains('\u{1b}'), "{err}");

    for command in ["resources", "prompts"] {
        let (out, err) = run_in(&home, &[command, "--timeout", "3s"], 0);
        assert_eq!(out.lines().count(), 3, "{out}");
        assert_eq!(err.lines().count(), 4, "{err}");
    }
}

#[test]
fn one_program_under_two_names_is_listed_twice_and_no_warning() {
    let home = home(&json!({"one": demo(), "two": demo()}));
    let (out, err) = run_in(&home, &["tools"], 0);
    assert_eq!(rows(&out).len(), 1 + 2 * 6, "{out}");
    assert_eq!(err, "");
}

#[test]
fn programs_get_each_server_with_its_state() {
    let dead = json!({"command": "sh", "args": ["-c", "exit 3"]});
    let home = home(&json!({"one": demo(), "z-dead": dead}));
    for (command, key) in [("tools", "tools"), ("resources", "resources"), ("prompts", "prompts")] {
        let (out, _) = run_in(&home, &[command, "--format", "json"], 0);
        let value: Value = serde_json::from_str(&out).unwrap();
        let [one, dead] = value["servers"].as_array().unwrap().as_slice() else { panic!("{out}") };
        assert_eq!((&one["name"], &one["state"]), (&json!("one"), &json!("current")));
        assert_eq!(one["reason"], Value::Null);
        assert!(one[key].as_array().unwrap().iter().all(|it| it["name"].is_string()), "{out}");
        assert_eq!((&dead["name"], &dead["state"]), (&json!("z-dead"), &json!("away")));
        assert!(dead["reason"].as_str().unwrap().contains("code 3"), "{out}");
        assert!(dead.get(key).is_none(), "{out}");
        let (out, _) = run_in(&home, &[command, "one", "--format", "json"], 0);
        let value: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(value[key], one[key]);
        assert!(value.get("servers").is_none());
        let (out, err) = run_in(&home, &[command, "z-dead"], 1);
        assert!(out.is_empty() && err.contains("code 3") && err.lines().count() == 1, "{err}");
    }
}

#[test]
fn nobody_to_list_is_a_failure() {
    let home = home(&json!({"dead": {"command": "sh", "args": ["-c", "exit 3"]}}));
    for command in ["tools", "resources", "prompts"] {
        let (out, err) = run_in(&home, &[command], 1);
        assert!(err.contains("dead is not available") && out.is_empty(), "{out}{err}");
    }
}

#[test]
fn tools_of_a_server_that_is_away_are_those_of_last_time() {
    let home = home(&json!({}));
    let write = |server: &Value| {
        home.write(
            "config/hardline/mcp.json",
            &json!({"mcpServers": {"shop": server}}).to_string(),
        );
    };
    write(&own(&home));
    home.list(&json!([tool("look", "Looks.")]));
    let (out, err) = run_in(&home, &["tools"], 0);
    assert_eq!((out.lines().count(), err.as_str()), (2, ""), "{out}");
    std::fs::remove_file(home.path("tools.json")).unwrap();

    let (out, err) = run_in(&home, &["tools"], 0);
    assert!(out.contains("shop (cached)  look"), "{out}");
    assert!(err.contains("shop is shown from the cache: ") && err.contains("gone"), "{err}");
    let (out, _) = run_in(&home, &["tools", "--format", "json"], 0);
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["servers"][0]["state"], "cached");
    // For a named server, the cached list is shown, but the command fails.
    let (out, err) = run_in(&home, &["tools", "shop"], 1);
    assert!(out.contains("look") && err.contains("is shown from the cache"), "{out}{err}");
    // Calls are never answered from the cache.
    let (out, err) = run_in(&home, &["call", "shop", "look"], 1);
    assert!(out.is_empty() && err.contains("gone"), "{err}");

    // A different server under the same name does not use that cached list.
    let mut other = own(&home);
    other["env"] = json!({"OTHER": "1"});
    write(&other);
    let (out, _) = run_in(&home, &["tools"], 1);
    assert!(!out.contains("look"), "{out}");
}

#[test]
fn a_call_goes_to_its_server_alone() {
    let home = home(&json!({
        "demo": demo(),
        "other": {"command": "sh", "args": ["-c", "touch started; sleep 3600"]},
    }));
    let (out, err) = run_in(&home, &["call", "demo", "echo", r#"{"text": "hi"}"#], 0);
    assert_eq!((out.as_str(), err.as_str()), ("hi\n", ""));
    assert!(!home.path("started").exists());
    let (out, _) = run_in(&home, &["prompts", "demo", "greet", r#"{"name": "Ada"}"#], 0);
    assert_eq!(out, "user:\nWrite a short greeting for Ada.\n");
}

#[test]
fn mistakes_are_answered_with_what_to_write() {
    let both = home(
        &json!({"github": demo(), "files": demo(), "off": {"command": "x", "disabled": true}}),
    );
    let check = |home: &Home, args: &[&str], code: i32, words: &str| {
        let (out, err) = run_in(home, args, code);
        assert!(err.contains(words) && out.is_empty(), "{args:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    };
    check(
        &both,
        &["tools", "githb"],
        2,
        "no server githb; did you mean github? Known servers: files, github",
    );
    check(&both, &["tools", "zzz"], 2, "there is no server zzz. Known servers: files, github");
    check(&both, &["tools", "off"], 2, "the server off is disabled in ");
    check(
        &both,
        &["call", "github"],
        2,
        "name a tool of github; `hardline tools github` lists them",
    );
    check(&both, &["call", "echo", "{}"], 2, "name a server: `hardline call SERVER echo`");
    check(&both, &["call", "githb", "echo"], 2, "did you mean github?");
    check(&both, &["call", "github", "ecko"], 1, "github has no tool ecko; did you mean echo?");
    check(&both, &["call", "github", "echo", "{"], 2, "the arguments are not JSON");
    check(&both, &["tools", "github", "ecko"], 1, "did you mean echo? Its tools: big, echo");
    check(&both, &["resources", "github", "x:"], 1, "`hardline resources github` lists");
    check(&both, &["prompts", "github", "x"], 1, "`hardline prompts github` lists");
    check(&both, &["prompts", "github", "greet", r#"{"name":1}"#], 2, "write name as \"1\"");
    check(&both, &["tools", "--header", "A: b"], 2, "--header needs a server at a --url");
    check(&both, &["login", "github"], 2, "github is started by a command and needs no login");
    let one = home(&json!({"demo": demo()}));
    check(&one, &["call", "echo"], 2, "`hardline call demo echo`; known servers: demo");
    check(&one, &["tools", "--config", "no.json"], 2, "no.json: there is no such file");
    one.write("broken.json", "{\n  \"mcpServers\": {,}\n}");
    check(&one, &["tools", "--config", "broken.json"], 2, "broken.json:2:");
    one.write("wrong.json", r#"{"mcpServers": {"a": {"command": 1}}}"#);
    check(&one, &["call", "a", "x", "--config", "wrong.json"], 2, "mcpServers.a.command");
    let none = Home::new();
    check(&none, &["tools"], 2, "no configuration with servers was found: searched .mcp.json");
    check(&none, &["call", "a", "b"], 2, "Give a file with --config FILE");
}

#[test]
fn what_lies_in_this_directory_is_for_who_names_it() {
    let trap = |home: &Home| {
        let script = format!("touch '{}'; exec '{HARDLINE}' demo-server", home.text("sprung"));
        let servers = json!({"demo": {"command": "sh", "args": ["-c", script]}, "b": demo()});
        home.write(".mcp.json", &json!({ "mcpServers": servers }).to_string());
        home.write(".cursor/mcp.json", "{}");
    };
    let alone = Home::new();
    trap(&alone);
    for command in ["tools", "resources", "prompts"] {
        let (out, err) = run_in(&alone, &[command], 2);
        assert!(out.is_empty() && err.contains("name one to use it, or give --config"), "{err}");
    }
    let beside = home(&json!({"demo": demo()}));
    trap(&beside);
    let (out, err) = run_in(&beside, &["tools"], 0);
    assert!(rows(&out).iter().skip(1).all(|it| it[0] == "demo"), "{out}");
    assert!(err.contains("may be written by others: b, demo@claude-code"), "{err}");
    // The user's own server keeps its name.
    run_in(&beside, &["call", "demo", "echo", r#"{"text": "x"}"#], 0);
    assert!(!alone.path("sprung").exists() && !beside.path("sprung").exists());
    run_in(&beside, &["call", "demo@claude-code", "echo", r#"{"text": "x"}"#], 0);
    assert!(beside.path("sprung").exists());
    run_in(&alone, &["tools", "--config", ".mcp.json"], 0);
    assert!(alone.path("sprung").exists());
}

#[test]
fn one_tool_is_shown_in_full() {
    let home = home(&json!({"shop": demo()}));
    let (out, err) = run_in(&home, &["tools", "shop", "progress"], 0);
    assert!(err.is_empty(), "{err}");
    let rows = rows(&out);
    assert_eq!(rows[0], ["progress", "(Progress)"]);
    assert!(
        rows.iter().any(|it| it.starts_with(&["steps", "integer", "required", "Number"])),
        "{out}"
    );
    assert!(out.contains("(default 0, at least 0, at most 60000)"), "{out}");
    assert!(out.contains("According to the server, it changes nothing"), "{out}");
    assert!(out.ends_with("hardline call shop progress '{\"steps\":1}'\n"), "{out}");
    let (out, _) = run_in(&home, &["tools", "shop", "progress", "--format", "json"], 0);
    let tool: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(tool["name"], "progress");
    let (out, _) = run_in(&home, &["tools", "echo", "--", HARDLINE, "demo-server"], 0);
    assert!(out.starts_with("echo (Echo)\n"), "{out}");
}

#[test]
fn what_servers_say_of_tools_is_harmless() {
    let home = home(&json!({}));
    home.write(
        "config/hardline/mcp.json",
        &json!({"mcpServers": {"shop": own(&home)}}).to_string(),
    );
    let evil = "\u{1b}[2J\u{202e}\u{e0041}\u{200b}";
    let schema = json!({"properties": {evil: {"type": evil, "description": evil, "default": evil, "enum": [evil]}}, "required": [evil]});
    let tool = json!({"name": evil, "title": evil, "description": evil, "inputSchema": schema, "outputSchema": schema});
    home.list(&json!([tool, 7, {"name": "plain"}]));
    for args in
        [&["tools"][..], &["tools", "shop"], &["tools", "shop", evil], &["tools", "shop", "x"]]
    {
        let output = home.command(args).current_dir(home.path("")).output().unwrap();
        let all = [output.stdout, output.stderr].concat();
        let all = String::from_utf8(all).unwrap();
        assert!(
            !all.contains(['\u{1b}', '\u{202e}', '\u{e0041}', '\u{200b}']),
            "{args:?}: {all:?}"
        );
        assert!(all.contains("\\u{1b}"), "{args:?}: {all}");
    }
}

#[test]
fn a_terminal_has_colors_progress_and_what_is_waited_for() {
    let home = home(&json!({"demo": demo()}));
    let on_screen = |args: &[&str]| {
        let mut command = home.command(args);
        command.current_dir(home.path("")).env("TERM", "xterm");
        let (status, screen) = whole_screen(command, 80);
        assert!(status.success(), "{args:?}: {screen}");
        screen
    };
    let screen = on_screen(&["call", "demo", "progress", r#"{"steps": 4, "ms": 20}"#]);
    assert!(screen.contains("██████████░░░░░░░░░░  50 %"), "{screen:?}");
    assert!(screen.ends_with("\r\u{1b}[Ktook 4 steps\n"), "{screen:?}");
    let screen = on_screen(&["tools"]);
    assert!(screen.contains("\u{1b}[1mecho\u{1b}[0m"), "{screen:?}");
    for line in screen.lines() {
        assert!(line.chars().filter(|it| !it.is_control()).count() <= 100, "{line:?}");
    }
    let slow = format!("sleep 1; exec {HARDLINE} demo-server");
    home.write(
        "config/hardline/mcp.json",
        &json!({"mcpServers": {"late": {"command": "sh", "args": ["-c", slow]}}}).to_string(),
    );
    for args in [&["tools"][..], &["tools", "late"], &["prompts"], &["call", "late", "env"]] {
        let screen = on_screen(args);
        assert!(screen.starts_with("\rconnecting to late\u{1b}[K"), "{args:?}: {screen:?}");
        assert!(screen.contains("\r\u{1b}[K"), "{args:?}: {screen:?}");
    }
}

/// Returns a server that never answers, and writes a file once its standard input is closed.
fn installer(home: &Home) -> Value {
    let script = format!(
        "trap 'exit 0' TERM; touch '{0}'; cat > /dev/null; touch '{1}'",
        home.text("begun"),
        home.text("cleaned")
    );
    json!({"command": "sh", "args": ["-c", script]})
}

#[test]
fn a_server_that_is_too_slow_can_clean_up() {
    for command in ["tools", "resources", "prompts"] {
        for is_named in [false, true] {
            let home = home(&json!({}));
            let servers = json!({"mcpServers": {"slow": installer(&home)}});
            home.write("config/hardline/mcp.json", &servers.to_string());
            let mut args = vec![command, "--timeout", "1s"];
            args.extend(is_named.then_some("slow"));
            let (out, err) = run_in(&home, &args, 1);
            assert!(out.is_empty() && err.contains("within 1 s"), "{args:?}: {out}{err}");
            assert!(home.path("cleaned").exists(), "{args:?}");
        }
    }
}

#[test]
fn a_signal_while_a_server_is_started_lets_it_clean_up() {
    for args in [&["tools"][..], &["tools", "slow"], &["prompts"], &["call", "slow", "x"]] {
        let home = home(&json!({}));
        let servers = json!({"mcpServers": {"slow": installer(&home)}});
        home.write("config/hardline/mcp.json", &servers.to_string());
        let mut child = home.command(args).current_dir(home.path("")).spawn().unwrap();
        let begun = Instant::now();
        while !home.path("begun").exists() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{args:?}: nothing was started");
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(ended_within(&mut child, Duration::from_secs(30)).code(), Some(143));
        assert!(home.path("cleaned").exists(), "{args:?}");
    }
}

#[test]
fn warnings_are_about_the_servers_that_are_used() {
    let home = home(&json!({"demo": demo(), "other": {"command": 1}}));
    let (_, err) = run_in(&home, &["call", "demo", "echo", r#"{"text": "x"}"#], 0);
    assert_eq!(err, "");
    let (_, err) = run_in(&home, &["tools"], 0);
    assert!(err.contains("mcpServers.other.command"), "{err}");
    home.write("one.json", r#"{"mcpServers": {"off": {"command": "x", "disabled": true}}}"#);
    let (_, err) = run_in(&home, &["tools", "--config", "one.json"], 2);
    assert!(err.contains("the only server of the configuration is disabled"), "{err}");
    let (_, err) = run_in(&home, &["tools", "--json"], 2);
    assert!(err.contains("did you mean --format json?") && !err.contains("-- --json"), "{err}");
    home.write("wrong.json", r#"{"mcpServers": {"a": {"command": 1}}}"#);
    let (out, err) = run_in(&home, &["tools", "--config", "wrong.json"], 1);
    assert!(out.is_empty() && err.contains("a cannot be used: "), "{out}{err}");
}
