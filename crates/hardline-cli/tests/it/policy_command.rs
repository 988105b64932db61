//! `hardline policy check` and `show`, and the policy that holds unless another is named.

use serde_json::Value;

use crate::install::Home;

const POLICY: &str = "profile = \"strict\"\n[server.docs.rules]\ncontent.hidden = \"log\"\n\
    [server.docs.tool.read.rules]\ncontent.hidden = \"allow\"\n";

#[test]
fn checks_a_file_or_the_one_of_the_user() {
    let home = Home::new();
    let outcome = home.expect(2, &["policy", "check"]);
    assert!(outcome.stderr.contains("there is no"), "{outcome:?}");
    home.write("team.toml", POLICY);
    let outcome = home.expect(0, &["policy", "check", "team.toml"]);
    assert!(outcome.stdout.contains("profile: strict"), "{outcome:?}");
    assert!(outcome.stdout.contains("docs"), "{outcome:?}");

    home.write(".config/hardline/policy.toml", "profile = \"lenient\"\n[rules]\nx = 1\n");
    let outcome = home.expect(2, &["policy", "check"]);
    for expected in ["policy.toml is no policy", "line 1, column 11", "line 3, column 1"] {
        assert!(outcome.stderr.contains(expected), "{expected}: {outcome:?}");
    }
    home.expect(2, &["policy", "check", "none.toml"]);
}

#[test]
fn shows_which_line_decides() {
    let home = Home::new();
    home.write("policy.toml", POLICY);
    let show = |args: &[&str]| {
        let base = ["policy", "show", "--rule", "content.hidden", "--policy", "policy.toml"];
        home.expect(0, &[&base, args].concat()).stdout
    };
    let line = "content.hidden (server-to-client): ";
    assert!(show(&[]).contains(&format!("{line}block, by line 1")), "{}", show(&[]));
    let server = show(&["--server", "docs"]);
    assert!(server.contains(&format!("{line}log, by line 3")), "{server}");
    let tool = show(&["--server", "docs", "--tool", "read"]);
    assert!(tool.contains(&format!("{line}allow, by line 5")), "{tool}");
    assert!(tool.contains("overrides log, by line 3"), "{tool}");
    home.expect(2, &["policy", "show", "--tool", "read"]);
    home.expect(2, &["policy", "show", "--rule", "content.none"]);

    let all = home.expect(0, &["policy", "show", "--profile", "observe", "--format", "json"]);
    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    assert_eq!(all["profile"], "observe");
    let rules = all["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["rule"] == "content.frame" && rule["action"] == "log"));
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
