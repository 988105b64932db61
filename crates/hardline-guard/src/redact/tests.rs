//! Tests of redaction: how keys, shapes and texts are read. `planted` tests every kind of secret.

use hardline_testkit::generate::Rng;

use super::*;

#[track_caller]
pub(super) fn check(text: &str, expected: &str) {
    let redacted = redact(text.as_bytes());
    assert_eq!(String::from_utf8_lossy(&redacted), expected);
    assert_eq!(redact(&redacted), redacted, "not the same when done again");
}

/// Checks that the secret, inserted for `*`, is removed.
#[track_caller]
pub(super) fn check_planted(with: &str, secret: &str) {
    check(&with.replace('*', secret), &with.replace('*', REDACTED));
}

/// Checks that not a byte is changed and nothing is copied.
#[track_caller]
pub(super) fn check_benign(text: &str) {
    let redacted = redact(text.as_bytes());
    assert_eq!(String::from_utf8_lossy(&redacted), text);
    assert!(matches!(redacted, Cow::Borrowed(_)));
}

/// One secret of each kind. They are made up, and assembled here so that no scanner reports a leak.
fn shapes() -> Vec<String> {
    let body = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEfGh";
    let prefixes = [
        "sk-",
        "sk-ant-api03-",
        "sk-proj-",
        "sk_live_",
        "rk_live_",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "xoxb-1234-",
        "xoxp-",
        "xoxa-",
        "xoxr-",
        "xoxs-",
        "AIza",
        "ya29.",
        "npm_",
        "hf_",
        "pypi-",
        "hvs.",
        "shpat_",
        "gsk_",
        "r8_",
    ];
    let mut shapes: Vec<String> = prefixes.iter().map(|it| format!("{it}{body}")).collect();
    shapes.push(["AKIA", "IOSFODNN7EXAMPLE"].concat());
    shapes.push(["ASIA", "IOSFODNN7EXAMPLE"].concat());
    shapes.push(format!("SG.{}.{body}", "aB3dE5fG7hJ9kL1mN2pQ4r"));
    shapes.push(
        ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "dozjgNryP4J3jVmNHl0w5N"].join("."),
    );
    let lines = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ".repeat(4);
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let (begin, end) = ("-----BEGIN", "-----END");
        shapes
            .push(format!("{begin} {kind}PRIVATE KEY-----\n{lines}\n{end} {kind}PRIVATE KEY-----"));
    }
    shapes
}

#[test]
fn known_shapes_are_found_anywhere() {
    for secret in shapes() {
        for with in
            ["*", "before * after", "see (*), or not", "x=\"*\"", "a\n*\nb", "<*>", "'*'", "é*é"]
        {
            check_planted(with, &secret);
            // Inside of JSON, at any depth of quotes.
            let mut quoted = with.replace('*', &secret);
            let mut expected = with.replace('*', REDACTED);
            for _ in 0..3 {
                quoted = serde_json::json!({"a": [quoted]}).to_string();
                expected = serde_json::json!({"a": [expected]}).to_string();
                check(&quoted, &expected);
            }
        }
        // In a broken line, where the quotes are escaped.
        let line = format!("{{\"a\": {}, ", serde_json::json!({"text": format!("x {secret} y")}));
        let redacted = String::from_utf8_lossy(&redact(line.as_bytes())).into_owned();
        assert!(!redacted.contains(secret.get(12..).unwrap()), "{redacted}");
    }
}

#[test]
fn values_under_keys_of_secrets_are_hidden() {
    for key in ["password", "apiKey", "X-Api-Key", "client_secret", "GITHUB_TOKEN", "Authorization"]
    {
        for (value, hidden) in [
            (r#""hunter2""#, r#""[redacted]""#),
            ("12345", r#""[redacted]""#),
            (r#""a\"b\\""#, r#""[redacted]""#),
            (r#"["one","two"]"#, r#"["[redacted]","[redacted]"]"#),
            (r#"{"value":"x","n":1}"#, r#"{"value":"[redacted]","n":"[redacted]"}"#),
            ("null", "null"),
            ("true", "true"),
            (r#""""#, r#""""#),
        ] {
            let line = |value: &str| {
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"params":{{"a":[{{"{key}": {value},"b":"c"}}]}}}}"#
                )
            };
            check(&line(value), &line(hidden));
        }
    }
    check(
        r#"{"headers":[{"value":"abc","name":"X-Api-Key"},{"name":"Accept","value":"text/html"}]}"#,
        r#"{"headers":[{"value":"[redacted]","name":"X-Api-Key"},{"name":"Accept","value":"text/html"}]}"#,
    );
    check(
        r#"{"text":"{\"user\":\"bob\",\"password\":\"hunter2\"}"}"#,
        r#"{"text":"{\"user\":\"bob\",\"password\":\"[redacted]\"}"}"#,
    );
    check(
        r#"{"secrets":{"A":"x","B":{"C":"y"}}}"#,
        r#"{"secrets":{"A":"[redacted]","B":{"C":"[redacted]"}}}"#,
    );
}

#[test]
fn values_after_keys_in_text_are_hidden() {
    for with in [
        "password=*",
        "PASSWORD=*\nUSER=x",
        "password: \"*\"",
        "{'api_key': '*'}",
        "{\"api_key\" : \"*\" and broken",
        "{\\\"api_key\\\": \\\"*\\\"} and broken",
        "export OPENAI_API_KEY=*",
        "Server=db;User Id=me;Password=*;Encrypt=true",
        "https://example.com/cb?access_token=*&state=1",
        "curl -H 'Authorization: Bearer *' https://example.com",
        "Authorization: Bearer *",
        "say Bearer * to it",
        "db: postgres://me:*@db.example.com:5432/app",
        "run --password * now",
        "run --api-key=* now",
        "  password: *\n  user: me",
        "client_secret = \"*\"",
        "<password>*</password>",
        "token => '*'",
        "let apiKey = `*`;",
    ] {
        let expected = with.replace("Bearer *", "*").replace('*', REDACTED);
        let is_header = with.contains("Authorization");
        let expected = if is_header { expected } else { with.replace('*', REDACTED) };
        check(&with.replace('*', "hunter2hunter2"), &expected);
    }
    check("postgres://me:%40secret@db/app", "postgres://me:[redacted]@db/app");
    check("postgres://me:%40@db/app", "postgres://me:[redacted]@db/app");
    for same in [
        "postgres://me:%PASSWORD%@db/app",
        "postgres://me:$PASSWORD@db/app",
        "ssh://git@github.com/a/b",
        "https://some.long.user.name@example.com/",
        "https://example.com:8080/@user",
        "https://$GITHUB_TOKEN_FOR_PACKAGES_1@github.com/",
    ] {
        check(same, same);
    }
    let token = format!("ghp_{}", "aB3dE5fG7hJ9".repeat(3));
    for token in [&*token, "0123456789abcdef0123456789abcdef01234567"] {
        for rest in ["@github.com/a/b", ":@api.example.com/v1"] {
            let text = format!("git clone https://{token}{rest} .");
            check(&text, &format!("git clone https://[redacted]{rest} ."));
        }
        let text = format!("https://{token}:x-oauth-basic@github.com/a");
        check(&text, "https://[redacted]:[redacted]@github.com/a");
    }
    check("Cookie: sid=abc; theme=dark\nAccept: */*", "Cookie: [redacted]\nAccept: */*");
    check("Authorization: Basic dXNlcjpwYXNz", "Authorization: [redacted]");
    check("password=\"never ended", "password=\"[redacted]");
    check("-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]");
    assert_eq!(redact(b"\xff password=x\xff\xfe \xff").as_ref(), b"\xff password=[redacted] \xff");
}

#[test]
fn command_lines_are_redacted() {
    let check = |words: &[&str], expected: &[&str]| {
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(redact_command(&words), expected);
    };
    check(&["npx", "s", "--token", "abc", "-v"], &["npx", "s", "--token", "[redacted]", "-v"]);
    check(&["s", "--api-key=abc", "x"], &["s", "--api-key=[redacted]", "x"]);
    check(&["s", "--api-key=1234", "x"], &["s", "--api-key=[redacted]", "x"]);
    check(&["s", "postgres://u:p@h/d"], &["s", "postgres://u:[redacted]@h/d"]);
    check(&["env", "API_KEY=abc", "s"], &["env", "API_KEY=[redacted]", "s"]);
    check(&["s", "--token", "--verbose"], &["s", "--token", "--verbose"]);
    check(
        &["uvx", "mcp-server-git", "--repository", "/r"],
        &["uvx", "mcp-server-git", "--repository", "/r"],
    );
}

#[test]
fn ordinary_traffic_is_not_touched() {
    for line in [
        r#"{"jsonrpc":"2.0","id":"sk-aB3dE5fG7hJ9kL1mN2pQ4rS6","method":"tools/list","params":{"_meta":{"progressToken":"abc"},"cursor":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"eyJwYWdlIjoyfQ==","requestState":"abc"}}"#,
        r#"{"result":{"tools":[{"name":"login","inputSchema":{"type":"object","properties":{"token":{"type":"string","description":"The token"},"password":{"type":"string"}},"required":["token","password"]}}]}}"#,
        r#"{"params":{"maxTokens":512,"usage":{"total_tokens":17,"tokens":["a","b"]}}}"#,
        r#"{"authorization_servers":["https://example.com"],"token_endpoint":"https://example.com/token","token_type":"Bearer"}"#,
        r#"{"text":"Bearer authentication and basic understanding of the token: it is a string.\nPassword: required\ntoken: string"}"#,
        r#"{"text":"let token = getToken(); const password = process.env.PASSWORD; password = ${PASSWORD}"}"#,
        r#"{"text":"task-runner disk-usage-of-everything risk-assessment-for-all sk-fading-circle-animation-name"}"#,
        r#"{"text":"see https://example.com:8080/a@b and mailto:me@example.com, ssh://git@example.com/x.git"}"#,
        r#"{"text":"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----"}"#,
        r#"{"text":"\u0041 escapes \/ stay \u00e9 as they are, PWD=/home/me"}"#,
        r#"{"text":"the secret: people know. A cookie: sweet. Authorization: see the next chapter of this"}"#,
        "starting server on port 8080, token bucket size 10",
        "",
        "{",
        "\\",
    ] {
        check_benign(line);
    }
}

/// Checks with any bytes that JSON stays JSON with the same outline, and that redacting twice
/// changes nothing.
#[test]
fn any_line_stays_what_it_is() {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\"",
        ":",
        ",",
        "\\",
        "\\\"",
        "password",
        "api_key",
        "token",
        "=",
        " ",
        "\n",
        "a",
        "1",
        "Bearer ",
        "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6",
        "://u:p@h",
        "-----BEGIN PRIVATE KEY-----",
        "é",
        "-----END",
        "'",
        "`",
        "<",
        ">",
        "--",
        "sk-",
        "eyJ",
        ".",
        "-",
        "[redacted]",
        "curl ",
        "-u ",
        "mysql -p",
        "machine a login b password ",
        "?sig=",
        "aB3dE5fG7hJ9kL1mN2pQ4rS6",
        "hooks.slack.com/services/",
        "8Q~",
        "110201543:AA",
        "properties",
        "type",
        "string",
        "--password",
        "{\"a\":\"",
        "\"}",
        "value",
        "name",
    ];
    let mut rng = Rng::new(7);
    for _ in 0..100_000 {
        let text: String = (0..rng.below(30)).map(|_| rng.pick(&pieces)).collect();
        let lines = [
            text.clone(),
            serde_json::json!({"password": 1, "x": [&text], &text: {"token": &text}}).to_string(),
        ];
        for line in lines {
            let once = redact(line.as_bytes()).into_owned();
            let twice = redact(&once).into_owned();
            assert_eq!(
                String::from_utf8_lossy(&once),
                String::from_utf8_lossy(&twice),
                "from {line:?}"
            );
            assert!(str::from_utf8(&once).is_ok());
            let is_json = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).is_ok();
            assert!(!is_json(line.as_bytes()) || is_json(&once), "{line}");
        }
    }
}
