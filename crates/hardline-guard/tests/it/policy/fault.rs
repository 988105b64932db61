//! The faults of texts that are not valid policies.

use hardline_guard::Action;
use hardline_guard::policy::Policy;

use super::{check, docs};

/// Expects exactly these faults.
#[track_caller]
fn check_faults(text: &str, expected: &[&str]) {
    let error = Policy::parse(text).expect_err("a policy with faults");
    let actual: Vec<_> = error.faults().iter().map(ToString::to_string).collect();
    assert_eq!(actual, expected);
}

#[test]
fn what_weakens_every_server_has_danger_in_its_name() {
    check_faults(
        "[rules]\ncontent.frame = \"log\"",
        &["line 2, column 17: rules.content.frame: `log` for every server is weaker than the \
           profile `balanced`, which has `sanitize`; silence one false alarm with an `[[allow]]` \
           that names rule, server and tool; change one server in `[server.NAME.rules]`; or, if \
           it must hold everywhere, write `danger_rules.content.frame`"],
    );
    check_faults(
        "profile = \"strict\"\n[client_rules]\nframe.split = \"sanitize\"",
        &["line 3, column 15: client_rules.frame.split: `sanitize` for every server is weaker \
           than the profile `strict`, which has `block`; silence one false alarm with an \
           `[[allow]]` that names rule, server and tool; change one server in \
           `[server.NAME.rules]`; or, if it must hold everywhere, write \
           `danger_client_rules.frame.split`"],
    );
    check_faults(
        "allow_jsonrpc = true",
        &["line 1, column 17: allow_jsonrpc: at the top level it would apply to every server; \
           write it in `[server.NAME.tool.NAME]` or `[server.NAME]`"],
    );
    check(
        "danger_allow_jsonrpc = true\n[danger_rules]\ncontent.hidden = \"allow\"",
        &[(docs("content.hidden"), Action::Allow), (docs("content.frame"), Action::Log)],
    );
}

#[test]
fn an_allow_must_be_narrow_and_have_a_reason() {
    check_faults(
        "[[allow]]\nrule = \"content.frame\"",
        &[
            "line 1, column 1: allow[0]: `server` is missing; add `server = \"NAME\"`, the name \
             that findings show; to change a rule for every server there is `[danger_rules]`",
            "line 1, column 1: allow[0]: `reason` is missing; explain why it is a false alarm",
            "line 1, column 1: allow[0]: `tool` is missing; add `tool = \"NAME\"`, or `tool = \"*\"` \
             for every tool of this server",
        ],
    );
    check_faults(
        "[[allow]]\nrule = \"frame.bom\"\nserver = \" \"\nreason = \"x\"",
        &["line 3, column 10: allow[0].server: it is empty; add `server = \"NAME\"`, the name \
           that findings show; to change a rule for every server there is `[danger_rules]`"],
    );
    check_faults(
        "[allow]\nrule = \"content.frame\"",
        &["line 1, column 1: allow: expected a list; write `[[allow]]`, with two brackets: there \
           may be several"],
    );
}

#[test]
fn two_statements_may_not_contradict_each_other() {
    check_faults(
        r#"[server.docs.rules]
content.frame = "log"
[[allow]]
rule = "content.frame"
server = "docs"
tool = "*"
reason = "x"
"#,
        &["line 4, column 8: allow[0]: decided already by line 2, \
           server.docs.rules.content.frame = \"log\"; keep one of the two"],
    );
    check_faults(
        "[rules]\nframe.bom = \"block\"\n\"frame.bom\" = \"close\"",
        &["line 3, column 15: rules.frame.bom: decided already by line 2, \
           rules.frame.bom = \"block\"; keep one of the two"],
    );
}

#[test]
fn all_faults_are_reported_with_place_and_suggestion() {
    check_faults(
        r#"profil = "balanced"
close_after = 0

[limits]
max_frame_bytes = "1 MiB"
max_deph = 3

[server.docs]
profile = "paranoid"
allow_jsonrpc = "yes"
rules = []

[server.docs.tool."a b"]
profile = "strict"

[server]
mail = 1
"#,
        &[
            "line 1, column 1: profil: no such key; did you mean `profile`?",
            "line 2, column 15: close_after: it must be between 1 and 1048576",
            "line 5, column 19: limits.max_frame_bytes: expected a whole number, not a string",
            "line 6, column 1: limits.max_deph: no such key; did you mean `max_depth`?",
            "line 9, column 11: server.docs.profile: no such profile: `paranoid`; there are \
             `observe`, `balanced` and `strict`",
            "line 10, column 17: server.docs.allow_jsonrpc: expected `true` or `false`, not a \
             string",
            "line 11, column 9: server.docs.rules: expected a table, not an array",
            "line 14, column 1: server.docs.tool.\"a b\".profile: no such key; there are \
             `allow_jsonrpc`, `rules` and `client_rules`",
            "line 17, column 8: server.mail: expected a table, not an integer",
        ],
    );
}

#[test]
fn faults_of_rules_say_what_was_meant() {
    check_faults(
        r#"[rules]
content.frme = "block"
hidden = "block"
"session.id_type" = "block"
tool.changed = "blok"
tool.new = "explode"
frame.bom = 7
nothing.at-all = "log"
session = "block"
"#,
        &[
            "line 2, column 9: rules.content.frme: no such rule: `content.frme`; did you mean \
             `content.frame`?",
            "line 3, column 1: rules.hidden: no such rule: `hidden`; did you mean \
             `content.hidden`?",
            "line 4, column 1: rules.session.id_type: no such rule: `session.id_type`; did you \
             mean `session.id-type`?",
            "line 5, column 16: rules.tool.changed: no such action: `blok`; did you mean `block`?",
            "line 6, column 12: rules.tool.new: no such action: `explode`; there are `allow`, \
             `log`, `sanitize`, `block` and `close`",
            "line 7, column 13: rules.frame.bom: expected a string, not an integer",
            "line 8, column 9: rules.nothing.at-all: no such rule: `nothing.at-all`",
            "line 9, column 1: rules.session: `session` is a group, and rules are set one by \
             one; it has `session.unsolicited-response`, `session.duplicate-response`, \
             `session.id-type`, `session.duplicate-id`, `session.wrong-direction`, \
             `session.capability`, `session.lifecycle`, `session.unknown-method` and \
             `session.burst`",
        ],
    );
}

#[test]
fn all_faults_of_syntax_are_reported_and_nothing_is_guessed_after_them() {
    let error = Policy::parse("profile = \nclose_after = 1 2\nunknown = 3").unwrap_err();
    let lines: Vec<_> = error.faults().iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [1, 2], "{error}");
    let error = Policy::parse("profile = \"strict\"\nprofile = \"observe\"").unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 1: duplicate key");
    let error = Policy::parse(&" ".repeat(Policy::MAX_BYTES + 1)).unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 1: the text is longer than 1048576 bytes");
}

#[test]
fn columns_count_characters() {
    let mark = "\u{feff}";
    check_faults(
        &format!("{mark}server = {{ \"\u{e9}\u{1f600}\" = {{ tol = 1 }} }}"),
        &["line 1, column 21: server.\"\u{e9}\u{1f600}\".tol: no such key; did you mean `tool`?"],
    );
}

#[test]
fn names_in_faults_are_escaped() {
    check_faults("\"\\u001b[2J\" = 1", &["line 1, column 1: \"\\u{1b}[2J\": no such key"]);
}

#[test]
fn a_text_that_is_no_policy_at_all_is_not_worth_a_thousand_faults() {
    let tables: String = (0..50_000).map(|index| format!("k{index} = {{}},")).collect();
    let text = format!("server.docs.tool = {{{tables} x = 1, y = 2}}");
    assert_eq!(Policy::parse(&text).unwrap_err().faults().len(), 2);
    let keys: String = (0..50_000).map(|index| format!("profle{index}=1,")).collect();
    let error = Policy::parse(&format!("server.docs = {{{keys}}}")).unwrap_err();
    assert_eq!((error.faults().len(), error.more()), (100, 49_900));
    assert!(error.to_string().ends_with("\nand 49900 more"));
}

#[test]
fn a_name_with_a_dot_wants_quotes() {
    check_faults(
        "[server.my.server.rules]\nframe.bom = \"block\"",
        &["line 1, column 12: server.my.server: no such key; a name with a dot in it is written \
           in quotes, as in `[server.\"a.b\"]`"],
    );
    assert!(Policy::parse("[server.\"my.server\".rules]\nframe.bom = \"block\"").is_ok());
}
