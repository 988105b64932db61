//! `hardline doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::home::{self, tool};
use crate::install::{HARDLINE, Home, Outcome, read};

const CONFIG: &str = "{\"mcpServers\": {\"a\": {\"command\": \"sh\", \"args\": [\"x\"]}, \"b\": {\"command\": \"sh\"}}}";

#[test]
fn all_is_well_where_there_is_nothing() {
    let home = Home::new();
    let outcome = home.expect(0, &["doctor"]);
    for expected in
        ["program", env!("CARGO_PKG_VERSION"), "no client configuration was found", "no problems, "]
    {
        assert!(outcome.stdout.contains(expected), "{expected}: {outcome:?}");
    }
    assert!(!home.path("state").exists(), "looking writes nothing");
}

#[test]
fn says_which_servers_are_guarded() {
    let home = Home::new();
    home.write(".cursor/mcp.json", CONFIG);
    let outcome = home.expect(0, &["doctor"]);
    assert!(outcome.stdout.contains("2 not guarded (hardline install)"), "{outcome:?}");
    home.expect(0, &["install", "--server", "a"]);
    let report = json(&home.expect(0, &["doctor", "--format", "json"]));
    assert_eq!(report["summary"]["fail"], 0);
    let servers = &report["clients"][0]["servers"];
    assert_eq!((&servers[0]["name"], &servers[0]["kind"]), (&"a".into(), &"wrapped".into()));
    assert_eq!(servers[0]["command"], HARDLINE);
    assert_eq!((&servers[1]["name"], &servers[1]["kind"]), (&"b".into(), &"plain".into()));
}

#[test]
fn an_entry_that_cannot_be_started_is_not_guarded() {
    let home = Home::new();
    let policy = home.write("policy.toml", "profile = \"strict\"\n");
    let wrapped = |options: &[&str]| {
        let args = [&["wrap"], options, &["--", "sh"]].concat();
        json!({"command": HARDLINE, "args": args})
    };
    let entries = json!({"mcpServers": {
        "fine": wrapped(&["--policy", policy.to_str().unwrap()]),
        "elsewhere": wrapped(&["--policy", "policy-of-the-project.toml"]),
        "typo": wrapped(&["--porfile", "strict"]),
        "value": wrapped(&["--profile", "stern"]),
        "gone": wrapped(&["--policy", "/nonexistent/policy.toml"]),
    }});
    home.write(".cursor/mcp.json", entries.to_string());
    let outcome = home.expect(1, &["doctor"]);
    for expected in [
        "2 guarded, 3 broken",
        "typo: it cannot start: unexpected argument '--porfile'",
        "value: it cannot start: invalid value 'stern'",
        "gone: it cannot start: cannot read /nonexistent/policy.toml",
    ] {
        assert!(outcome.stdout.contains(expected), "{expected}: {outcome:?}");
    }
}

#[test]
fn looks_at_the_servers_of_its_own_file() {
    let home = Home::new();
    let outcome = home.expect(0, &["doctor"]);
    assert!(outcome.stdout.contains("mcp.json does not exist; it is optional"), "{outcome:?}");
    let place = home.write(".config/hardline/mcp.json", CONFIG);
    let outcome = home.expect(0, &["doctor"]);
    assert!(outcome.stdout.contains("mcp.json: 2 servers\n"), "{outcome:?}");
    let wrong = "{\"mcpServers\": {\"a\": {\"command\": 1}, \"b\": {\"command\": \"sh\", \"disabled\": true}, \"c\": {\"url\": \"http://x/${HARDLINE_NO_SUCH}\"}}}";
    fs::write(&place, wrong).unwrap();
    let report = json(&home.expect(1, &["doctor", "--format", "json"]));
    let own: Vec<_> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["title"] == "own servers")
        .collect();
    let words =
        ["mcp.json: 2 servers, 1 disabled", "mcpServers.a.command", "HARDLINE_NO_SUCH is not set"];
    for ((check, status), words) in own.iter().zip(["fail", "fail", "warn"]).zip(words) {
        assert_eq!(check["status"], status);
        assert!(check["detail"].as_str().unwrap().contains(words), "{check}");
    }
    assert_eq!((own.len(), &report["summary"]["fail"]), (3, &1.into()));
    fs::write(&place, "{").unwrap();
    home.expect(1, &["doctor"]);
}

#[test]
fn mends_a_program_that_has_moved() {
    let home = Home::new();
    let path = home.write(".cursor/mcp.json", CONFIG);
    home.expect(0, &["install", "--command", "/opt/gone/hardline"]);
    let outcome = home.expect(1, &["doctor"]);
    assert!(outcome.stdout.contains("/opt/gone/hardline does not exist any more"), "{outcome:?}");
    assert!(outcome.stdout.contains(": 0 guarded, 2 broken"), "{outcome:?}");
    assert!(outcome.stdout.contains("2 problems, "), "{outcome:?}");
    assert!(outcome.stdout.contains("; hardline doctor --fix repairs 2\n"), "{outcome:?}");

    let moved = read(&path);
    let outcome = home.expect(1, &["doctor", "--fix", "--dry-run"]);
    assert!(outcome.stdout.contains(&format!("\"command\": \"{HARDLINE}\"")), "{outcome:?}");
    assert!(
        outcome.stdout.contains("  would be repaired: a, b\n2 entries would be repaired;"),
        "{outcome:?}"
    );
    assert_eq!(read(&path), moved);

    let outcome = home.expect(0, &["doctor", "--fix"]);
    assert!(outcome.stdout.starts_with("Cursor: "), "{outcome:?}");
    assert!(outcome.stdout.contains("\n2 entries repaired; restart the clients\n"), "{outcome:?}");
    assert_eq!(read(&path), moved.replace("/opt/gone/hardline", HARDLINE));
    home.expect(0, &["doctor"]);
    home.expect(0, &["uninstall"]);
    assert_eq!(read(&path), CONFIG, "the original is still known");
}

#[test]
fn notices_another_program_of_the_same_name() {
    let home = Home::new();
    let other = home.write("bin/hardline", "#!/bin/sh\n");
    let name = other.to_str().unwrap();
    let path = home.write(".cursor/mcp.json", CONFIG);
    home.expect(0, &["install", "--command", name]);
    let outcome = home.expect(1, &["doctor"]);
    assert!(outcome.stdout.contains("bin/hardline is not executable"), "{outcome:?}");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = home.expect(1, &["doctor"]);
    assert!(outcome.stdout.contains("is not this hardline, which is "), "{outcome:?}");
    // A copy with the same bytes is accepted.
    fs::copy(HARDLINE, &other).unwrap();
    home.expect(0, &["doctor"]);
    fs::write(&other, "#!/bin/sh\n").unwrap();
    home.expect(0, &["doctor", "--fix"]);
    assert!(read(&path).contains(HARDLINE));
}

#[test]
fn notices_what_is_broken() {
    let home = Home::new();
    home.write(".config/hardline/policy.toml", "profile = \"lenient\"\n");
    home.write("state/hardline/hardline.lock", "{}");
    home.write("state/hardline/audit.db", "certainly not a database of anything");
    home.write(".gemini/settings.json", "{\"mcpServers\": {");
    home.write(
        ".cursor/mcp.json",
        format!(
            "{{\"mcpServers\": {{\"a\": {{\"command\": \"{HARDLINE}\", \"args\": [\"wrap\", \"--\", \"no-such-command\"]}},\n\
            \"b\": {{\"command\": 1}}}}}}"
        ),
    );
    let outcome = home.expect(1, &["doctor"]);
    for expected in [
        "policy.toml is not a valid policy",
        "hardline.lock: ",
        "audit.db is not an audit database; move it away",
        "settings.json: line 1, column ",
        "a: its command no-such-command is not in PATH",
        "line 2: b: command is not a string",
    ] {
        assert!(outcome.stdout.contains(expected), "{expected}: {outcome:?}");
    }
    let report = json(&home.expect(1, &["doctor", "--format", "json"]));
    assert!(report["checks"].as_array().unwrap().iter().all(|check| check["id"].is_string()));
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn notices_a_name_that_stands_for_two_servers() {
    let home = Home::new();
    home.write(".cursor/mcp.json", CONFIG);
    home.write(".gemini/settings.json", CONFIG.replace("\"x\"", "\"y\""));
    home.expect(0, &["install"]);
    let outcome = home.expect(0, &["doctor"]);
    assert_eq!(outcome.stdout.matches("has another server of this name").count(), 1, "{outcome:?}");
}

#[test]
fn notices_a_server_that_waits_for_approval() {
    let home = home::Home::new();
    let doctor = || {
        let output = home.run(&["doctor"], "");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    home.list(&json!([tool("look", "Looks.")]));
    home.session(&[], &[]);
    assert!(!doctor().contains("approval"), "{}", doctor());
    home.list(&json!([tool("look", "Looks twice.")]));
    home.session(&[], &[]);
    let told = "warn  pinned tools     1 server waits for approval: hardline pin diff\n";
    assert!(doctor().contains(told), "{}", doctor());
    home.run(&["pin", "approve", "shop"], "");
    assert!(!doctor().contains("approval"), "{}", doctor());
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap()
}
