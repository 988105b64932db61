//! `hardline policy check` and `show`, and the default policy.

use hardline_wire::limits::DEFAULT_FRAME_BYTES;
use serde_json::Value;

use crate::install::Home;

const POLICY: &str = "profile = \"strict\"\n[server.docs.rules]\ncontent.hidden = \"log\"\n\
    [server.docs.tool.read.rules]\ncontent.hidden = \"allow\"\n";

#[test]
fn checks_a_file_or_the_one_of_the_user() {
    let home = Home::new();
    let outcome = home.expect(2, &["policy", "check"]);
    assert!(outcome.stderr.contains("does not exist: name a file"), "{outcome:?}");
    home.write("team.toml", POLICY);
    let outcome = home.expect(0, &["policy", "check", "team.toml"]);
    assert!(outcome.stdout.contains("profile: strict"), "{outcome:?}");
    assert!(outcome.stdout.contains("docs"), "{outcome:?}");

    home.write(".config/hardline/policy.toml", "profile = \"lenient\"\n[rules]\nx = 1\n");
    let outcome = home.expect(2, &["policy", "check"]);
    for expected in ["policy.toml is not a valid policy", "line 1, column 11", "line 3, column 1"] {
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome:?}");
    }
    home.expect(2, &["policy", "check", "none.toml"]);
}

/// A name with a line end must not look like a line of ours.
#[cfg(unix)]
#[test]
fn line_ends_in_file_names_are_escaped() {
    let home = Home::new();
    let name = "x\npolicy: fine\u{1b}[31m";
    home.write(name, "profile = \"strict\"\n");
    home.write("y\nfine.ndjson", "garbage\n");
    let broken = "z\nfine.toml";
    home.write(broken, "profile = 1\n");
    for (code, args) in [
        (0, ["policy", "show", "--policy", name].as_slice()),
        (0, &["policy", "check", name]),
        (2, &["policy", "check", broken]),
        (2, &["policy", "check", "no\nfine.toml"]),
        (2, &["replay", "y\nfine.ndjson", "--", "true"]),
        (2, &["replay", "no\nfine.ndjson", "--", "true"]),
    ] {
        let outcome = home.expect(code, args);
        let text = outcome.stdout.clone() + &outcome.stderr;
        assert!(!text.contains("\nfine") && !text.contains("\npolicy: fine"), "{args:?}: {text}");
        assert!(text.contains("\\nfine") || text.contains("\\npolicy"), "{args:?}: {text}");
    }
}

#[test]
fn shows_which_line_decides() {
    let home = Home::new();
    home.write("policy.toml", POLICY);
    let show = |args: &[&str]| {
        let base = ["policy", "show", "--rule", "content.hidden", "--policy", "policy.toml"];
        home.expect(0, &[&base, args].concat()).stdout
    };
    let head = "RULE            FROM SERVER  FROM CLIENT  DECIDED BY\n";
    assert!(show(&[]).contains(head), "{}", show(&[]));
    let line = "content.hidden  ";
    let server = show(&["--server", "docs"]);
    assert!(server.contains(&format!("{line}log          ")), "{server}");
    assert!(server.contains("line 3, "), "{server}");
    let tool = show(&["--server", "docs", "--tool", "read"]);
    assert!(tool.contains(&format!("{line}allow        ")), "{tool}");
    assert!(tool.contains("line 5, "), "{tool}");
    assert!(tool.contains("from the server overrides log, by line 3"), "{tool}");
    home.expect(2, &["policy", "show", "--tool", "read"]);
    let outcome = home.expect(2, &["policy", "show", "--rule", "content.hiden"]);
    assert!(outcome.stderr.contains("did you mean content.hidden?"), "{outcome:?}");

    let all = home.expect(0, &["policy", "show", "--profile", "observe", "--format", "json"]);
    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!(all["profile"], "observe");
    let rules = all["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["rule"] == "content.frame" && rule["action"] == "log"));
}

#[test]
fn shows_a_server_as_it_is() {
    let home = Home::new();
    let limits = "[server.docs.limits]\nmax_depth = 9\nmax_content_bytes = 65536\n";
    home.write("policy.toml", format!("[server.docs]\nprofile = \"strict\"\n{limits}"));
    let show = |args: &[&str]| {
        home.expect(0, &[&["policy", "show", "--policy", "policy.toml"], args].concat()).stdout
    };
    let all = show(&[]);
    assert!(all.starts_with("policy: policy.toml, profile: balanced\n"), "{all}");
    let largest = format!("largest frame: {} MiB, ", DEFAULT_FRAME_BYTES >> 20);
    assert!(all.contains(&largest) && !all.contains("deepest"), "{all}");
    let row = |text: &str, rule: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(rule)).unwrap();
        line.split_whitespace().take(3).map(str::to_owned).collect()
    };
    assert_eq!(row(&all, "tool.changed"), ["tool.changed", "log", "-"]);
    let docs = show(&["--server", "docs"]);
    assert!(docs.starts_with("policy: policy.toml, profile of docs: strict\n"), "{docs}");
    assert!(docs.contains("deepest nesting: 9\nmost text in a frame: 64 KiB\n"), "{docs}");
    assert_eq!(row(&docs, "tool.changed"), ["tool.changed", "block", "-"]);
    let outcome = home.expect(0, &["policy", "check", "policy.toml"]);
    assert!(outcome.stdout.contains("servers named: docs"), "{outcome:?}");
}

#[test]
fn the_policy_of_the_user_holds_unless_another_is_named() {
    let home = Home::new();
    home.write(".config/hardline/policy.toml", "profile = \"strict\"\n");
    home.write("other.toml", "profile = \"observe\"\n");
    home.write("page.txt", "a\u{202e}b\n");
    let action = |args: &[&str]| {
        let base = ["scan", "--format", "json", "page.txt"];
        let report: Value =
            serde_json::from_str(&home.run(&[&base, args].concat()).stdout).unwrap();
        report["findings"][0]["action"].as_str().unwrap().to_owned()
    };
    assert_eq!(action(&[]), "block");
    assert_eq!(action(&["--policy", "other.toml"]), "log");
    assert_eq!(action(&["--profile", "balanced"]), "sanitize");
}
