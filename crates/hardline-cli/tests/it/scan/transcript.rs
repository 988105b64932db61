//! Transcripts: one message per line, of either side.

use super::{MESSAGE, PLANTED, file, found, found_at, json, text};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Returns an answer with a text.
fn answer(id: u32, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}]}}}}"#
    )
}

#[test]
fn judges_a_transcript_frame_by_frame() {
    let input = format!("{PING}\n\n{}\n", answer(1, PLANTED));
    let escaped = MESSAGE.replace('"', "\\\"");
    let expected = (
        "content.frame".to_owned(),
        3,
        Some("$.result.content[0].text".to_owned()),
        escaped.into_bytes(),
    );
    assert_eq!(found(&[], input.as_bytes()), [expected]);
    let (report, code) = json(&[], input.as_bytes());
    assert_eq!(code, Some(1));
    let scanned = &report["scanned"];
    assert_eq!((&scanned["frames"], &scanned["transcripts"]), (&2.into(), &1.into()));
    assert_eq!(scanned["strings"], 5 + 9);
    assert_eq!(scanned["bytes"], input.len());
    // Scanned as a text, the same line is a planted message.
    let (report, _) = json(&["--as", "text"], format!("{PING}\n").as_bytes());
    assert_eq!(report["findings"][0]["rule"], "content.frame");
}

#[test]
fn what_either_side_wrote_is_judged() {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":{}}}}}}}"#,
        serde_json::to_string(PLANTED).unwrap()
    );
    let input = format!("{PING}\n{}\n{call}\n{}\n", answer(1, "fine"), answer(2, "\u{202e}"));
    let found: Vec<_> =
        found_at(&[], input.as_bytes()).into_iter().map(|it| (it.0, it.1)).collect();
    assert_eq!(found, [("content.frame".to_owned(), 3), ("content.hidden".to_owned(), 4)]);
}

#[test]
fn puts_a_torn_message_together() {
    for end in ["\n", "\r\n"] {
        let head = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"page"#;
        let tail = "end \u{200b}\u{200b}\u{200b}\"}]}}";
        let input = [PING, head, MESSAGE, tail, PING, ""].join(end);
        let found = found(&["--as", "transcript"], input.as_bytes());
        let path = Some("$.result.content[0].text".to_owned());
        let torn = input[input.find("page").unwrap() + 4..input.rfind(PING).unwrap()].to_owned();
        let hidden = "\u{200b}\u{200b}\u{200b}".to_owned();
        let expected = [
            ("frame.split".to_owned(), 2, None, torn.into_bytes()),
            ("frame.split".to_owned(), 3, None, MESSAGE.to_owned().into_bytes()),
            ("content.frame".to_owned(), 3, path.clone(), MESSAGE.to_owned().into_bytes()),
            ("content.hidden".to_owned(), 4, path, hidden.into_bytes()),
        ];
        assert_eq!(found, expected, "{end:?}");
        let (report, code) = json(&["--as", "transcript"], input.as_bytes());
        assert_eq!((&report["findings"][1]["severity"], code), (&"critical".into(), Some(1)));
        assert_eq!(
            (&report["scanned"]["frames"], &report["notScanned"]["refusedFrames"]),
            (&5.into(), &0.into())
        );
    }
}

#[test]
fn a_line_cut_short_costs_no_other_line() {
    let cut = r#"{"jsonrpc":"2.0","id":2,"result":{"text":"the server died"#;
    let input = format!(
        "{PING}\n{cut}\n{PING}\nstarting\n{}\n{}\n",
        answer(3, PLANTED),
        answer(4, "\u{202e}")
    );
    let found: Vec<_> = found_at(&["--as", "transcript"], input.as_bytes())
        .into_iter()
        .map(|it| (it.0, it.1))
        .collect();
    let expected =
        [("frame.not-json", 2), ("frame.noise", 4), ("content.frame", 5), ("content.hidden", 6)];
    assert_eq!(found, expected.map(|(rule, line)| (rule.to_owned(), line)));
    // The truncated line may also be the last one.
    let found = found_at(&["--as", "transcript"], format!("{PING}\n{cut}").as_bytes());
    assert_eq!((&*found[0].0, found[0].1, found.len()), ("frame.not-json", 2, 1));
}

#[test]
fn lines_that_never_come_together_are_not_kept_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let policy = file(directory.path(), "policy.toml", "[limits]\nmax_frame_bytes = 4096\n");
    let cut = r#"{"jsonrpc":"2.0","id":2,"result":{"text":"the server died"#;
    let pings = format!("{PING}\n").repeat(1000);
    let input = format!("{cut}\n{pings}{}\n{cut}\n{pings}", answer(3, PLANTED));
    let found = found_at(&["--as", "transcript", "--policy", &policy], input.as_bytes());
    let found: Vec<_> = found.into_iter().map(|it| (it.0, it.1)).collect();
    let expected = [("frame.not-json", 1), ("content.frame", 1002), ("frame.not-json", 1003)];
    assert_eq!(found, expected.map(|(rule, line)| (rule.to_owned(), line)));
    // A line over the size limit between them is not joined either.
    let long = answer(3, &"x".repeat(5000));
    let input = format!("{cut}\n{long}\n{}\n", answer(4, PLANTED));
    let args = ["--as", "transcript", "--policy", &policy];
    let (report, _) = json(&args, input.as_bytes());
    let rules: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|it| &it["rule"]).collect();
    assert_eq!(rules, ["frame.not-json", "frame.too-large", "content.frame"]);
    assert_eq!(report["notScanned"]["overlongBytes"], long.len());
    assert_eq!(report["findings"][1]["length"], long.len());
    let shown = text(&args, input.as_bytes());
    let expected = format!(
        "not scanned: {} of lines over the size limit; the strings of 1 line that is not a message\n",
        "5.0 KiB"
    );
    assert!(shown.contains(&expected), "{shown}");
}

#[test]
fn half_a_surrogate_pair_hides_nothing() {
    let frame = answer(1, "x\u{202e}").replace('x', "\\ud800");
    for profile in ["observe", "balanced", "strict"] {
        let found = found_at(&["--profile", profile], frame.as_bytes());
        let rules: Vec<_> = found.iter().map(|it| &*it.0).collect();
        assert_eq!(rules, ["frame.lone-surrogate", "content.hidden"], "{profile}");
        assert_eq!(found[1].2, "\u{202e}");
    }
}

#[test]
fn a_byte_order_mark_is_where_it_stands() {
    let input = format!("{PING}\n\u{feff}{PING}\n");
    assert_eq!(
        found_at(&[], input.as_bytes()),
        [("frame.bom".to_owned(), 2, "\u{feff}".to_owned())]
    );
    let shown = text(&[], input.as_bytes());
    assert!(shown.contains("<stdin>:2:1: low frame.bom"), "{shown}");
    assert!(
        shown.contains("    \\u{feff}{\"jsonrpc\"") && shown.contains("    ^^^^^^^^\n"),
        "{shown}"
    );
}

#[test]
fn a_transcript_in_utf_16_is_one_too() {
    let text = format!("\u{feff}{PING}\r\n{}\r\n", answer(1, "é\u{202e}"));
    let input: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let found = found(&[], &input);
    assert_eq!((&*found[0].0, &*found[1].0, found.len()), ("frame.bom", "content.hidden", 2));
    assert_eq!((&found[0].3, &found[1].3), (&b"\xff\xfe".to_vec(), &b"\x2e\x20".to_vec()));
}
