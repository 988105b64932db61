//! Names of peers, files and arguments never reach a terminal unescaped.

use serde_json::{Value, json};

use crate::home::{Home, tool};

/// Moves the cursor, sets the title, ends a line in three ways, and reverses text.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\u{202e}x\u{2028}\u{9b}31m\u{85}\u{2067}";

fn is_obeyed(char: char) -> bool {
    let turns =
        matches!(char, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (char.is_control() && char != '\n')
}

#[track_caller]
fn check(home: &Home, args: &[&str], is_json: bool) {
    let output = home.run(args, "");
    let (out, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        !out.contains(is_obeyed) && !errors.contains(is_obeyed),
        "{args:?}: {out:?} {errors:?}"
    );
    if is_json {
        let value: Value = serde_json::from_str(&out).unwrap();
        assert!(value.to_string().contains("1b"), "{args:?}: {out}");
    }
}

#[test]
fn what_peers_wrote_is_escaped_in_every_format() {
    let home = Home::new();
    let recording = home.text("recording.jsonl");
    let options = ["--profile", "observe", "--audit-bodies", "--record", &recording];
    for text in ["one", "two"] {
        home.list(&json!([tool(&format!("a{EVIL}"), &format!("{text}{EVIL}"))]));
        home.session(&options, &[EVIL]);
    }
    for args in [
        &["pin", "list", "--format", "json"][..],
        &["pin", "diff", "--format", "json"],
        &["audit", "messages", "--format", "json"],
        &["audit", "findings", "--format", "json"],
        &["scan", "--format", "json", &recording],
        &["scan", "--format", "sarif", &recording],
    ] {
        check(&home, args, args.first() != Some(&"scan"));
    }
    for args in [
        &["pin", "list"][..],
        &["pin", "diff"],
        &["audit", "messages"],
        &["audit", "findings"],
        &["scan", &recording],
    ] {
        check(&home, args, false);
    }
    let named = ["policy", "show", "--server", EVIL, "--format", "json"];
    check(&home, &named, true);
}

#[test]
fn what_users_wrote_is_escaped_in_errors() {
    let home = Home::new();
    let path = format!("/nowhere/{EVIL}");
    for args in [
        &["wrap", "--", &path][..],
        &["wrap", "--policy", &path, "--", "true"],
        &["wrap", "--max-frame", EVIL, "--", "true"],
        &["policy", "check", &path],
        &["replay", &path, "--", "true"],
        &["scan", &path],
        &["frames", &path],
        &["install", "--config", &path],
        &["pin", "approve", EVIL],
        &["audit", "show", EVIL],
        &["audit", "sessions", "--since", EVIL],
        &["doctor", "--config", &path],
        &[EVIL],
    ] {
        check(&home, args, false);
        assert_ne!(home.run(args, "").status.code(), Some(0), "{args:?}");
    }
    for args in [&["\u{1b}]0;title\u{7}"][..], &["scan", "--format", "\u{1b}[31mred"]] {
        let output = home.command(args).env("CLICOLOR_FORCE", "1").output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!errors.contains(is_obeyed) && errors.starts_with("error: "), "{errors:?}");
        assert_eq!(output.status.code(), Some(2));
    }
    let output = home.run(&["policy", "check", &path], "");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("/nowhere/\\u{1b}[2J"), "{errors}");
}
