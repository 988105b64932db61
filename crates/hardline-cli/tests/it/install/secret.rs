//! The diff shows no secrets, and only a part of a long line.

use super::{Home, read};

#[test]
fn a_configuration_on_one_line_is_shown_near_the_change() {
    let home = Home::new();
    let history: Vec<_> = (0..2000).map(|it| format!("\"question {it}\"")).collect();
    let text = format!(
        "{{\"primaryApiKey\":\"LEAK1\",\"oauthAccount\":{{\"token\":\"LEAK2\",\"name\":\"me\"}},\
        \"history\":[{}],\"mcpServers\":{{\"one\":{{\"command\":\"npx\",\"args\":[\"a\"],\
        \"env\":{{\"X\":\"LEAK3\"}}}},\"two\":{{\"command\":\"uvx\",\"clientSecret\":\"LEAK4\"}}}},\
        \"more\":[{}]}}",
        history.join(","),
        history.join(",")
    );
    let path = home.write("c.json", &text);
    let outcome = home.expect(0, &["install", "--config", "c.json", "--command", "hardline"]);
    assert!(!outcome.stdout.contains("LEAK"), "{outcome:?}");
    assert!(outcome.stdout.len() < 3000, "{outcome:?}");
    for shown in ["-…", "+…", "\"npx\"", "\"uvx\"", "\"wrap\",\"--name\",\"two\""] {
        assert!(outcome.stdout.contains(shown), "{shown}: {outcome:?}");
    }
    home.expect(0, &["uninstall", "--config", "c.json"]);
    assert_eq!(read(&path), text);
}

#[test]
fn secrets_are_not_shown_wherever_they_stand() {
    let home = Home::new();
    home.write(
        "c.json",
        "{\"mcpServers\": {\n\
        \"remote\": {\"url\": \"https://u:LEAK1@h/sse?k=LEAK2\", \"requestInit\": {\"headers\": {\"X\": \"LEAK3\"}}},\n\
        \"a\": {\"command\": \"npx\", \"args\": [\"-e\", \"A=LEAK4\", \"--api-key\", \"LEAK5\"], \"environment\": {\"A\": \"LEAK6\"}},\n\
        \"b\": {\"command\": \"npx\", \"oauth\": {\"clientSecret\": \"LEAK7\"}} // password: \"LEAK8\"\n\
        }, \"env\": {\"ANY\": \"LEAK9\"}}\n",
    );
    let outcome = home.expect(0, &["install", "--config", "c.json"]);
    assert!(!outcome.stdout.contains("LEAK"), "{outcome:?}");
    assert!(outcome.stdout.contains("\"--api-key\""), "{outcome:?}");
}

#[test]
fn a_server_whose_name_cannot_be_an_argument_is_left_alone() {
    let home = Home::new();
    let text = "{\"mcpServers\": {\"a\\u0000b\": {\"command\": \"npx\"}}}\n";
    let path = home.write("c.json", text);
    let outcome = home.expect(1, &["install", "--config", "c.json"]);
    assert!(outcome.stderr.contains("contains a NUL character"), "{outcome:?}");
    assert_eq!(read(&path), text);
}
