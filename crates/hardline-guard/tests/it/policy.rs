//! Policies: their statements, the servers and tools that they apply to, and the faults of invalid
//! ones.

use std::fs;
use std::path::Path;
use std::time::Duration;

use hardline_guard::policy::{Policy, Profile};
use hardline_guard::{Action, Direction, Rule, Severity};
use hardline_testkit::generate::Rng;
use hardline_wire::limits::{DEFAULT_FRAME_BYTES, FRAME_BYTES_CEILING};

use Direction::{ClientToServer, ServerToClient};

mod fault;

/// A query to a policy: rule, server, tool, direction.
type Question<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Direction);

/// Queries a policy, and expects the explanation to agree.
#[track_caller]
fn check(text: &str, expected: &[(Question<'_>, Action)]) {
    let policy = Policy::parse(text).unwrap();
    for ((rule, server, tool, direction), action) in expected {
        let rule: Rule = rule.parse().unwrap();
        assert_eq!(policy.action(rule, *server, *tool, *direction), *action, "{rule} {tool:?}");
        assert_eq!(policy.explain(rule, *server, *tool, *direction).action, *action);
    }
}

fn docs(rule: &str) -> Question<'_> {
    (rule, Some("docs"), Some("read_page"), ServerToClient)
}

#[test]
fn profiles_are_the_table_of_the_design() {
    use Action::{Allow, Block, Log, Sanitize};
    let rows: &[(&[&str], Action, Action)] = &[
        (&["frame.noise"], Block, Block),
        (&["frame.split"], Sanitize, Sanitize),
        (&["frame.lone-surrogate"], Sanitize, Block),
        (&["frame.bom"], Log, Log),
        (&["frame.not-json", "frame.concatenated", "frame.duplicate-key"], Block, Block),
        (&["frame.ambiguous-key", "frame.invalid-utf8", "frame.control-character"], Block, Block),
        (&["frame.too-large", "frame.too-deep", "frame.not-jsonrpc"], Block, Block),
        (&["frame.content-length"], Block, Block),
        (&["session.unsolicited-response", "session.duplicate-response"], Block, Block),
        (&["session.id-type", "session.duplicate-id", "session.wrong-direction"], Block, Block),
        (&["session.capability", "session.lifecycle", "session.burst"], Block, Block),
        (&["session.unknown-method"], Allow, Log),
        (&["content.frame", "content.encoded-frame"], Sanitize, Block),
        (&["content.control", "content.hidden"], Sanitize, Block),
        (&["content.line-separator"], Allow, Sanitize),
        (&["content.jsonrpc", "content.content-length"], Allow, Log),
        (&["tool.changed", "tool.poison"], Log, Block),
        (&["tool.new", "tool.shadow"], Log, Block),
        (&["launch.program"], Block, Block),
        (&["launch.inline-code", "launch.changed"], Log, Block),
    ];
    let mut seen = 0;
    for (rules, balanced, strict) in rows {
        for rule in *rules {
            let rule: Rule = rule.parse().unwrap();
            let at = |profile| Policy::profile(profile).action(rule, None, None, ServerToClient);
            assert_eq!(at(Profile::Observe), Log, "{rule}");
            assert_eq!(at(Profile::Balanced), *balanced, "{rule}");
            assert_eq!(at(Profile::Strict), *strict, "{rule}");
            seen += 1;
        }
    }
    assert_eq!(seen, Rule::ALL.len());
}

#[test]
fn profiles_weigh_the_severity_where_the_design_says_so() {
    let at = |profile: Profile, rule, severity| profile.action(rule, severity, ServerToClient);
    let rows = [
        (Rule::ContentFrame, Severity::Critical, Action::Sanitize, Action::Block),
        (Rule::ContentFrame, Severity::Medium, Action::Log, Action::Log),
        (Rule::ContentEncodedFrame, Severity::High, Action::Sanitize, Action::Block),
        (Rule::ContentEncodedFrame, Severity::Medium, Action::Log, Action::Block),
        (Rule::FrameSplit, Severity::High, Action::Sanitize, Action::Sanitize),
        (Rule::FrameSplit, Severity::Critical, Action::Sanitize, Action::Block),
    ];
    for (rule, severity, balanced, strict) in rows {
        assert_eq!(at(Profile::Balanced, rule, severity), balanced, "{rule} {severity}");
        assert_eq!(at(Profile::Strict, rule, severity), strict, "{rule} {severity}");
    }
}

#[test]
fn arguments_to_a_tool_are_never_edited_by_a_profile() {
    for profile in Profile::ALL {
        let policy = Policy::profile(profile);
        for &rule in Rule::ALL {
            let from_client = policy.action(rule, None, None, ClientToServer);
            match rule {
                _ if rule.group() == "content" => assert!(from_client <= Action::Log),
                Rule::SessionBurst => assert!(from_client <= Action::Log),
                _ => assert_eq!(from_client, policy.action(rule, None, None, ServerToClient)),
            }
        }
    }
}

#[test]
fn an_empty_text_is_balanced() {
    assert_eq!(Policy::parse("").unwrap(), Policy::default());
    assert_eq!(Policy::parse("\u{feff}# nothing").unwrap(), Policy::default());
}

#[test]
fn an_allow_silences_one_rule_of_one_tool_of_one_server() {
    let text = r#"
        [[allow]]
        rule = "content.frame"
        server = "docs"
        tool = "read_page"
        reason = "it is documentation"
    "#;
    check(
        text,
        &[
            (docs("content.frame"), Action::Allow),
            (("content.frame", Some("docs"), Some("read_page"), ClientToServer), Action::Allow),
            (docs("content.hidden"), Action::Sanitize),
            (("content.frame", Some("docs"), Some("other"), ServerToClient), Action::Sanitize),
            (("content.frame", Some("docs"), None, ServerToClient), Action::Sanitize),
            (("content.frame", Some("mail"), Some("read_page"), ServerToClient), Action::Sanitize),
            (("content.frame", None, Some("read_page"), ServerToClient), Action::Sanitize),
            (("content.frame", None, None, ServerToClient), Action::Sanitize),
        ],
    );
}

#[test]
fn an_allow_for_all_tools_says_so() {
    let text = r#"
        allow = [
            { rule = "content.frame", server = "docs", tool = "*", reason = "documentation" },
            { rule = "frame.bom", server = "docs", reason = "an old editor" },
        ]
        [server.docs.tool.post.rules]
        content.frame = "block"
    "#;
    check(
        text,
        &[
            (docs("content.frame"), Action::Allow),
            (docs("frame.bom"), Action::Allow),
            (("content.frame", Some("docs"), Some("post"), ServerToClient), Action::Block),
            (("frame.bom", Some("mail"), None, ServerToClient), Action::Log),
        ],
    );
}

#[test]
fn the_particular_beats_the_general() {
    let text = r#"
        profile = "strict"
        [rules]
        content.hidden = "close"
        [client_rules]
        "content.hidden" = "block"
        [server.docs]
        profile = "observe"
        [server.docs.rules]
        content.control = "sanitize"
        [server.docs.tool.read_page.rules]
        content.control = "block"
    "#;
    check(
        text,
        &[
            (("content.hidden", None, None, ServerToClient), Action::Close),
            (("content.hidden", Some("mail"), None, ClientToServer), Action::Block),
            (docs("content.hidden"), Action::Log),
            (("content.control", Some("docs"), None, ServerToClient), Action::Sanitize),
            (docs("content.control"), Action::Block),
            (("content.control", None, None, ServerToClient), Action::Block),
        ],
    );
}

#[test]
fn jsonrpc_may_be_what_a_tool_is_about() {
    let text = r#"
        profile = "strict"
        [server.docs]
        allow_jsonrpc = true
        [server.docs.tool.search]
        allow_jsonrpc = false
        [server.docs.tool.read_page.rules]
        content.frame = "sanitize"
    "#;
    let search = |rule| (rule, Some("docs"), Some("search"), ServerToClient);
    let list = |rule| (rule, Some("docs"), Some("list"), ServerToClient);
    check(
        text,
        &[
            (docs("content.frame"), Action::Sanitize),
            (docs("content.encoded-frame"), Action::Log),
            (list("content.frame"), Action::Log),
            (list("content.jsonrpc"), Action::Log),
            (list("content.hidden"), Action::Block),
            (search("content.frame"), Action::Block),
            (("content.frame", None, None, ServerToClient), Action::Block),
        ],
    );
    check(
        "[server.docs]\nallow_jsonrpc = true",
        &[(docs("content.jsonrpc"), Action::Allow), (docs("content.frame"), Action::Log)],
    );
    let policy = Policy::parse(text).unwrap();
    assert!(policy.allows_jsonrpc(Some("docs"), Some("list")));
    assert!(policy.allows_jsonrpc(Some("docs"), None));
    assert!(!policy.allows_jsonrpc(Some("docs"), Some("search")));
    assert!(!policy.allows_jsonrpc(None, None));
}

/// The page is the only one that repeats the defaults; all others link to it.
#[test]
fn the_table_of_limits_in_docs_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let page = fs::read_to_string(path).unwrap();
    let cell = |key: &str, at: usize| -> String {
        let start = format!("| `{key}` |");
        let row = page.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("{key} has no row"));
        row.split('|').nth(at).unwrap().trim().to_owned()
    };
    let (balanced, strict) = (Policy::default(), Policy::profile(Profile::Strict));
    let (settings, stricter) = (balanced.settings(None), strict.settings(None));
    let default = |key| cell(key, 3);
    let most = |key| cell(key, 4);
    let frame = settings.limits().max_frame_bytes();
    assert_eq!(default("limits.max_frame_bytes"), format!("{} MiB", frame >> 20));
    assert_eq!(most("limits.max_frame_bytes"), format!("{} GiB", FRAME_BYTES_CEILING >> 30));
    assert_eq!(default("limits.max_content_bytes"), "the frame limit");
    assert_eq!(settings.max_content_bytes(), frame);
    assert_eq!(default("limits.max_depth"), settings.limits().max_depth().to_string());
    let bursts = (settings.burst().count(), stricter.burst().count());
    assert_eq!(default("burst.count"), format!("{}, under `strict` {}", bursts.0, bursts.1));
    let window = settings.burst().window().as_millis().to_string();
    assert_eq!(default("burst.window_ms"), window);
    let close_after = stricter.close_after().unwrap();
    assert_eq!(default("close_after"), format!("never, under `strict` {close_after}"));
}

#[test]
fn settings_come_from_the_profile_and_the_text() {
    let balanced = Policy::default();
    let settings = balanced.settings(Some("docs"));
    assert_eq!(settings.limits().max_frame_bytes(), DEFAULT_FRAME_BYTES);
    assert_eq!(settings.limits().max_depth(), 128);
    assert_eq!(settings.max_content_bytes(), DEFAULT_FRAME_BYTES);
    assert_eq!(
        (settings.burst().count(), settings.burst().window()),
        (256, Duration::from_secs(2))
    );
    assert_eq!(settings.close_after(), None);

    let strict = Policy::profile(Profile::Strict);
    assert_eq!(strict.settings(None).burst().count(), 64);
    assert_eq!(strict.settings(None).close_after(), Some(8));

    let policy = Policy::parse("close_after = 1048576\nlimits.max_content_bytes = 1_000_000_000");
    let greatest = policy.unwrap();
    assert_eq!(greatest.settings(None).close_after(), Some(1 << 20));
    assert_eq!(
        greatest.settings(None).max_content_bytes(),
        DEFAULT_FRAME_BYTES,
        "a frame has no more"
    );

    let policy = Policy::parse(
        "close_after = 3
         [limits]
         max_frame_bytes = 0x10_0000
         max_content_bytes = 4096
         max_depth = 64
         [burst]
         count = 10
         [server.shop]
         profile = \"strict\"
         limits.max_depth = 32
         [server.chatty.burst]
         count = 5_000
         window_ms = 1000",
    )
    .unwrap();
    let everybody = policy.settings(None);
    assert_eq!(everybody.limits().max_frame_bytes(), 1 << 20);
    assert_eq!((everybody.max_content_bytes(), everybody.limits().max_depth()), (4096, 64));
    assert_eq!((everybody.burst().count(), everybody.close_after()), (10, Some(3)));
    let shop = policy.settings(Some("shop"));
    assert_eq!((shop.limits().max_frame_bytes(), shop.limits().max_depth()), (1 << 20, 32));
    assert_eq!((shop.burst().count(), shop.close_after()), (64, Some(8)));
    let chatty = policy.settings(Some("chatty"));
    assert_eq!(chatty.burst().window(), Duration::from_secs(1));
    assert_eq!((chatty.burst().count(), chatty.close_after()), (5000, Some(3)));
}

#[test]
fn a_profile_from_outside_counts_instead_of_the_text_s() {
    let text = "profile = \"observe\"\n[rules]\ncontent.frame = \"log\"";
    assert_eq!(Policy::parse(text).unwrap().base(), Profile::Observe);
    assert!(Policy::parse_with_profile(text, Profile::Strict).is_err());
    let policy = Policy::parse_with_profile("profile = \"observe\"", Profile::Strict).unwrap();
    assert_eq!(policy.action(Rule::ContentFrame, None, None, ServerToClient), Action::Block);
    assert_eq!(
        policy.explain(Rule::ContentFrame, None, None, ServerToClient).to_string(),
        "content.frame (server-to-client): block, by the profile `strict`"
    );
}

#[test]
fn an_explanation_names_every_line_that_spoke() {
    let policy = Policy::parse(
        "profile = \"strict\"\n\
         [server.docs]\n\
         allow_jsonrpc = true\n\
         [server.docs.tool.read_page.rules]\n\
         content.frame = \"sanitize\"\n",
    )
    .unwrap();
    let why = |tool| policy.explain(Rule::ContentFrame, Some("docs"), tool, ServerToClient);
    assert_eq!(
        why(Some("read_page")).to_string(),
        "content.frame (server-to-client): sanitize, by line 5, \
         server.docs.tool.read_page.rules.content.frame = \"sanitize\"\n  \
         overrides log, by line 3, server.docs.allow_jsonrpc = true\n  \
         overrides block, by line 1, profile = \"strict\""
    );
    assert_eq!(why(None).overridden.len(), 1);
}

#[test]
fn explanations_agree_with_actions_in_random_policies() {
    for seed in 0..2000 {
        let text = random_policy(&mut Rng::new(seed));
        let Ok(policy) = Policy::parse(&text) else { continue };
        for &rule in Rule::ALL {
            for server in [None, Some("a"), Some("b c"), Some("z")] {
                for tool in [None, Some("t"), Some("u")] {
                    for direction in [ServerToClient, ClientToServer] {
                        let action = policy.action(rule, server, tool, direction);
                        let why = policy.explain(rule, server, tool, direction);
                        assert_eq!(why.action, action, "seed {seed}: {why}\n{text}");
                    }
                }
            }
        }
    }
}

#[test]
fn no_text_makes_the_parser_panic_and_every_fault_has_a_place() {
    let mut accepted = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::new(seed);
        let mut bytes = random_policy(&mut rng).into_bytes();
        if !rng.one_in(4) {
            hardline_testkit::generate::mutate(&mut rng, &mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        match Policy::parse(&text) {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert!(!error.faults().is_empty());
                let lines = text.split('\n').count();
                for fault in error.faults() {
                    assert!((1..=lines).contains(&fault.line), "seed {seed}: {fault}");
                    assert!(0 < fault.column && !fault.message.is_empty(), "seed {seed}");
                }
            }
        }
    }
    assert!(1000 < accepted, "{accepted}");
}

/// Generates a policy that is often valid.
fn random_policy(rng: &mut Rng) -> String {
    let mut text = String::new();
    if rng.one_in(2) {
        text +=
            rng.pick(&["profile = \"strict\"\n", "profile = 'observe'\n", "profile = \"no\"\n"]);
    }
    if rng.one_in(3) {
        text +=
            rng.pick(&["close_after = 3\n", "danger_allow_jsonrpc = true\n", "close_after = -1\n"]);
    }
    let tables = [
        "[rules]",
        "[client_rules]",
        "[danger_rules]",
        "[server.a.rules]",
        "[server.a.client_rules]",
        "[server.\"b c\".rules]",
        "[server.a.tool.t.rules]",
        "[server.\"b c\".tool.u.client_rules]",
    ];
    for table in tables {
        if !rng.one_in(3) {
            continue;
        }
        text += table;
        text += "\n";
        for &rule in Rule::ALL {
            if rng.one_in(20) {
                let action = rng.pick(&["allow", "log", "sanitize", "block", "close", "close"]);
                text += &format!("{rule} = \"{action}\"\n");
            }
        }
    }
    for _ in 0..rng.below(3) {
        let rule = Rule::ALL[rng.below(Rule::ALL.len())];
        let server = rng.pick(&["a", "b c"]);
        let tool = rng.pick(&["t", "u", "*"]);
        text += &format!("[[allow]]\nrule = \"{rule}\"\nserver = \"{server}\"\n");
        text += &format!("tool = \"{tool}\"\nreason = \"because\"\n");
    }
    if rng.one_in(3) {
        text += rng.pick(&[
            "[server.a]\nallow_jsonrpc = true\n",
            "[server.a.tool.t]\nallow_jsonrpc = false\n",
            "[server.a]\nprofile = \"strict\"\n",
            "[server.a.burst]\ncount = 7\n",
        ]);
    }
    text
}
