//! Tests that redaction keeps the structure of messages, and that it is cheap.

use std::borrow::Cow;
use std::hint::black_box;

use hardline_guard::redact::redact;
use hardline_testkit::generate::{Rng, message, mutate};
use hardline_testkit::sample;
use hardline_testkit::work::{Case, Otherwise, assert_linear};
use serde_json::Value;

#[test]
fn messages_without_secrets_stay_as_they_are() {
    let mut rng = Rng::new(3);
    for _ in 0..20_000 {
        let line = message(&mut rng);
        // Some messages have a key that sounds like that of a secret.
        if line.contains("token") || line.contains("ecret") {
            continue;
        }
        assert_eq!(redact(line.as_bytes()), Cow::Borrowed(line.as_bytes()));
    }
    for frame in
        [sample::text_frame, sample::english_frame, sample::quoted_frame, sample::dense_frame]
    {
        let frame = frame(100_000);
        assert!(matches!(redact(frame.as_bytes()), Cow::Borrowed(_)));
    }
}

#[test]
fn broken_lines_are_redacted_without_harm() {
    let mut rng = Rng::new(5);
    for _ in 0..50_000 {
        let secret = r#","password":"hunter2hunter2"}"#;
        let mut line = message(&mut rng);
        if line.ends_with('}') {
            line.pop();
            line.push_str(secret);
        }
        let mut line = line.into_bytes();
        let whole = redact(&line);
        assert!(!String::from_utf8_lossy(&whole).contains("hunter2"));
        let outline =
            |line: &[u8]| serde_json::from_slice::<Value>(line).map(|it| it["id"].clone());
        if let Ok(before) = outline(&line) {
            assert_eq!(outline(&whole).unwrap(), before);
        }
        mutate(&mut rng, &mut line);
        let once = redact(&line).into_owned();
        assert_eq!(redact(&once), once.as_slice());
    }
}

const LENGTH: usize = 8_000;

#[test]
fn cost_is_linear() {
    let pieces = [
        "a",
        "sk-",
        "eyJ",
        "eyJ-",
        "eyJa.",
        "ghp_",
        "SG.",
        "AKIA",
        "password",
        "password ",
        "password=",
        "password=\"",
        "password:\\\"",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY ",
        "Bearer ",
        "a://",
        "a://a:b",
        "--token ",
        "<password>",
        "cookie: ",
        "\\",
        "curl -u ",
        "curl!-u!",
        "curl -u '",
        "mysql -p",
        "machine a login b password ",
        "machine ",
        "?sig=",
        "?sig=a1",
        "hooks.slack.com/services/",
        "8Q~",
        "a8Q~.",
        "110201543:AA",
        "MTk4NjIyNDgzNDcxOTI1MjQ4.",
        "pat",
        "lsv2_",
        "EAAA",
    ];
    assert_linear("redact::cost_is_linear", Otherwise::Nothing, || {
        let run = |text: &[u8]| {
            black_box(redact(text));
        };
        let texts = pieces.into_iter().map(move |piece| {
            Case::new(piece, run, LENGTH, |len| piece.repeat(len / piece.len() + 1).into_bytes())
        });
        let values = [
            "\"x\",",
            "{\"token\":{\"a\":\"",
            "{\"secrets\":{\"a\":[\"x\"]}},",
            "{\"properties\":{\"token\":{\"type\":\"string\",\"a\":\"x1x1x1\"}}},",
            "[\"token\",\"x\"],",
            "\"--token\",\"x\",",
            "{\"name\":\"token\",\"value\":\"x\"},",
            "\"{\\\"token\\\":\\\"x\\\"}\",",
        ];
        let documents = values.into_iter().map(move |value| {
            Case::new(value, run, LENGTH, |len| {
                format!("[{}0]", value.repeat(len / value.len() + 1)).into_bytes()
            })
        });
        let nested = ["{\"token\":", "{\"properties\":{\"token\":", "{\"a\":["];
        let nested = nested.into_iter().map(move |open| {
            let close: String = open
                .chars()
                .rev()
                .filter_map(|char| match char {
                    '{' => Some('}'),
                    '[' => Some(']'),
                    _ => None,
                })
                .collect();
            Case::new(open, run, LENGTH, move |len| {
                let levels = format!("{}\"x\"{}", open.repeat(20), close.repeat(20));
                format!("[{}0]", format!("{levels},").repeat(len / levels.len() + 1)).into_bytes()
            })
        });
        texts.chain(documents).chain(nested)
    });
}
