//! Policies: a text is a policy or has faults with positions, and a policy's actions match its
//! explanations.

use hardline_guard::policy::{Place, Policy, PolicyError, Profile};
use hardline_guard::{Action, Direction, Rule, Severity};

use crate::generate::Rng;

const DIRECTIONS: [Direction; 2] = [Direction::ServerToClient, Direction::ClientToServer];

/// Reads `data` if it begins like TOML, else a text that it chooses.
pub fn policy(data: &[u8]) {
    let begins = |it: &u8| it.is_ascii_alphabetic() || b"[#\n \"".contains(it);
    if data.first().is_none_or(begins) {
        return check(&String::from_utf8_lossy(data));
    }
    check(&written(&mut Rng::scripted(data)));
}

fn check(text: &str) {
    match Policy::parse(text) {
        Ok(policy) => {
            assert_agreement(&policy, text);
            // A profile on the command line takes precedence over the text, and may make it too
            // weak.
            for profile in Profile::ALL {
                if let Ok(other) = Policy::parse_with_profile(text, profile) {
                    assert_eq!(other.base(), profile);
                    assert!(profile != policy.base() || other == policy);
                }
            }
        }
        Err(error) => assert_placed(&error, text),
    }
}

fn assert_agreement(policy: &Policy, text: &str) {
    let lines = text.split('\n').count();
    let servers = policy.servers();
    let servers = servers.iter().map(|it| Some(*it)).chain([None, Some("unknown")]);
    for server in servers {
        let settings = policy.settings(server);
        assert!(settings.max_content_bytes() >= 1);
        assert!(settings.max_content_bytes() <= settings.limits().max_frame_bytes());
        assert!(settings.burst().count() > 0 && !settings.burst().window().is_zero());
        let tools = server.map(|it| policy.tools(it)).unwrap_or_default();
        for tool in tools.iter().map(|it| Some(*it)).chain([None, Some("nothing")]) {
            let actions = policy.actions(server, tool);
            assert_eq!(actions.allows_jsonrpc(), policy.allows_jsonrpc(server, tool));
            for (&rule, direction) in Rule::ALL.iter().flat_map(|it| DIRECTIONS.map(|to| (it, to)))
            {
                let why = policy.explain(rule, server, tool, direction);
                assert_eq!(why.action, policy.action(rule, server, tool, direction), "{why}");
                // Three ways to ask must give the same action.
                assert_eq!(why.action, actions.action_at(rule, rule.severity(), direction));
                if let Place::Line(line) = why.decided_by.place {
                    assert!((1..=lines).contains(&line), "{why}");
                }
                assert!(!why.to_string().chars().any(|it| it.is_control() && it != '\n'), "{why}");
            }
        }
    }
    // Only a setting with `danger` in its name may weaken a profile.
    if !text.contains("danger") {
        assert_not_weakened(policy);
    }
}

/// Checks that the settings for all servers are at least as strict as the profile.
fn assert_not_weakened(policy: &Policy) {
    for (&rule, direction) in Rule::ALL.iter().flat_map(|it| DIRECTIONS.map(|to| (it, to))) {
        for severity in Severity::ALL {
            let own = policy.base().action(rule, severity, direction);
            let action = policy.actions(None, None).action_at(rule, severity, direction);
            assert!(own <= action, "{rule} is {action:?} instead of {own:?}");
        }
    }
}

fn assert_placed(error: &PolicyError, text: &str) {
    let lines: Vec<_> = text.split('\n').collect();
    assert!(!error.faults().is_empty() && error.faults().len() <= PolicyError::MAX_FAULTS);
    for fault in error.faults() {
        let line = lines.get(fault.line.wrapping_sub(1)).unwrap_or_else(|| panic!("{fault}"));
        // A fault at the end of a line points just behind it.
        assert!((1..=line.chars().count() + 2).contains(&fault.column), "{fault} in {line:?}");
        assert!(!fault.message.is_empty());
        assert!(!fault.to_string().chars().any(char::is_control), "{fault:?}");
    }
}

/// Returns a text that is often a policy.
fn written(rng: &mut Rng) -> String {
    const TABLES: &[(&str, &[&str])] = &[
        ("", &["profile = \"strict\"", "profile = 'observe'", "close_after = 8"]),
        ("", &["danger_allow_jsonrpc = true", "rules.frame.bom = \"block\""]),
        ("[rules]", &[]),
        ("[client_rules]", &[]),
        ("[danger_rules]", &[]),
        ("[danger_client_rules]", &[]),
        ("[limits]", &["max_frame_bytes = 4096", "max_content_bytes = 0x10", "max_depth = 1_0"]),
        ("[burst]", &["count = 1", "window_ms = 3_600_000"]),
        ("[server.a]", &["profile = \"balanced\"", "allow_jsonrpc = true", "close_after = 1"]),
        ("[server.a.rules]", &[]),
        ("[server.a.client_rules]", &[]),
        ("[server.a.limits]", &["max_depth = 7"]),
        ("[server.a.tool.t]", &["allow_jsonrpc = false", "allow_jsonrpc = true"]),
        ("[server.a.tool.t.rules]", &[]),
        ("[server.\"b.c\"]", &["profile = \"strict\"", "allow_jsonrpc = true"]),
        ("[server.\"b.c\".tool.\"*\".rules]", &[]),
        ("[[allow]]", &[]),
        ("[[allow]]", &[]),
    ];
    /// Lines that are invalid in some or all places.
    const ODD: &[&str] = &[
        "profile = \"stric\"",
        "close_after = 0",
        "allow_jsonrpc = 1",
        "max_depth = -1",
        "[server]",
        "[allow]",
        "[x]",
        "rule = \"content\"",
        "reason = \"\"",
        "x = [[[1, 2.5, 1979-05-27]]]",
        "\"\\u0000\" = 1",
        "content.frame = { a = 1 }",
    ];
    let mut text = String::new();
    for (header, settings) in TABLES {
        if rng.is_spent() {
            break;
        }
        if !rng.one_in(3) {
            continue;
        }
        text.push_str(header);
        text.push('\n');
        if *header == "[[allow]]" {
            let rule = one_rule(rng);
            let (server, tool) = (rng.pick(&["a", "z", "b.c"]), rng.pick(&["t", "*", "\\u001b"]));
            text.push_str(&format!(
                "rule = \"{rule}\"\nserver = \"{server}\"\ntool = \"{tool}\"\n"
            ));
            text.push_str("reason = \"why \\u001b not\"\n");
        }
        for setting in *settings {
            text.push_str(if rng.one_in(2) { setting } else { "" });
            text.push_str(rng.pick(&["\n", "\r\n", " # x\n"]));
        }
        for _ in 0..if header.ends_with("rules]") { rng.below(4) } else { 0 } {
            let (rule, quote) = (one_rule(rng), rng.pick(&["", "\""]));
            let action = Action::ALL.get(rng.below(Action::ALL.len())).copied();
            let action = action.unwrap_or(Action::Block).name();
            text.push_str(&format!("{quote}{rule}{quote} = \"{action}\"\n"));
        }
        match rng.below(16) {
            0 => text.push_str(rng.pick(ODD)),
            1 => text.push_str(&String::from_utf8_lossy(&rng.bytes(30))),
            _ => {}
        }
        text.push('\n');
    }
    text
}

fn one_rule(rng: &mut Rng) -> Rule {
    Rule::ALL.get(rng.below(Rule::ALL.len())).copied().unwrap_or(Rule::FrameBom)
}
