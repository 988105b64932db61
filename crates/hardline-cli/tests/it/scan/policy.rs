//! Policies, severities and explanations.

use super::{PLANTED, file, json, text};
use crate::hardline;

#[test]
fn the_least_severity_that_fails_can_be_set() {
    let text = "a\u{2028}b\n".as_bytes();
    assert_eq!(json(&[], text).1, Some(0));
    assert_eq!(json(&["--fail-on", "low"], text).1, Some(1));
    assert_eq!(json(&["--fail-on", "critical"], PLANTED.as_bytes()).1, Some(1));
    let hidden = "a\u{202e}b\n".as_bytes();
    assert_eq!(json(&["--fail-on", "critical"], hidden).1, Some(0));
}

#[test]
fn every_finding_is_listed_whatever_is_done_about_it() {
    let directory = tempfile::tempdir().unwrap();
    let rules = "profile = \"strict\"\n[server.docs.rules]\n\"content.frame\" = \"allow\"\n";
    let policy = file(directory.path(), "policy.toml", rules);
    for (args, action) in [
        (&["--policy", &*policy, "--server", "docs"][..], "allow"),
        (&["--policy", &*policy], "block"),
        (&["--policy", &*policy, "--profile", "observe"], "log"),
        (&["--profile", "observe"], "log"),
        (&["--profile", "balanced"], "sanitize"),
        (&["--profile", "strict"], "block"),
    ] {
        let (report, code) = json(args, PLANTED.as_bytes());
        assert_eq!((&report["findings"][0]["action"], code), (&action.into(), Some(1)));
        let shown = text(args, PLANTED.as_bytes());
        assert!(shown.contains(&format!("; action: {action}\n")), "{shown}");
    }
}

#[test]
fn explains_rules() {
    let output = hardline(&["scan", "--explain", "content.frame"], b"");
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("content.frame"));
    let output = hardline(&["scan", "--explain", "content.frme"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("content.frame"));
}

#[test]
fn a_broken_policy_is_an_error_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let rules = "profile = \"balanced\"\n[rules]\ncontent.frme = \"block\"\n";
    let policy = file(directory.path(), "policy.toml", rules);
    let output = hardline(&["scan", "--policy", &policy], b"");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("line 3") && error.contains("content.frame"), "{error}");
}
