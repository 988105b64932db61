//! Contents of a recording: several sessions, none, half of one, and lines of any bytes and length.

use std::fs;

use serde_json::Value;

use super::{ASK_BOTH, DEMO, FAST, SLOW, check, replay, shell, text, write_recording};
use crate::hardline;
use crate::record::{large, large_frames_pass, place, record_large};

#[test]
fn one_of_several_sessions_is_chosen() {
    let (_folder, file) = place();
    write_recording(&file, "one", &[ASK_BOTH[0], SLOW]);
    write_recording(&file, "two", &[ASK_BOTH[0], ASK_BOTH[1]]);
    write_recording(&file, "two", &[FAST, SLOW]);
    let list = hardline(&["replay", "--list", &file], b"");
    assert_eq!(
        text(&list.stdout),
        "one  2026-11-15T22:22:38.125000Z  lines: 1 from the client, 1 from the server\n\
         two  2026-11-15T22:22:38.125000Z  lines: 2 from the client, 2 from the server\n"
    );
    let list = hardline(&["replay", "--list", "--format", "json", &file], b"");
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["sessions"][1]["session"], "two");
    let script = format!("read a; echo '{}'; read b && echo '{}'", &SLOW[1..], &FAST[1..]);
    check(&file, &[], &shell(&script), 0, &["2 requests, 2 the same"]);
    for name in ["one", "o"] {
        check(&file, &["--session", name], &shell(&script), 0, &["1 request, 1 the same"]);
    }
    let output = replay(&file, &["--session", "three"], &shell(&script));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--list"));
}

#[test]
fn files_that_are_no_recordings_are_refused() {
    let (_folder, file) = place();
    let output = replay(&file, &[], &DEMO);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(&file));
    for content in [
        "",
        "\n\n",
        "hello\nworld\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        "\0\u{1}\n",
    ] {
        fs::write(&file, content).unwrap();
        let output = replay(&file, &[], &DEMO);
        assert_eq!(output.status.code(), Some(2), "{content}");
        assert!(text(&output.stderr).contains("--record"), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
    let none = hardline(&["replay", &file], b"");
    assert_eq!(none.status.code(), Some(2));
    let pattern = replay(&file, &["--ignore", "result"], &DEMO);
    assert_eq!(pattern.status.code(), Some(2));
    assert!(text(&pattern.stderr).contains("$.result.content[*].text"));
}

#[test]
fn half_a_recording_is_played_as_far_as_it_goes() {
    let (_folder, file) = place();
    write_recording(&file, "1", &[ASK_BOTH[0], SLOW, ASK_BOTH[1]]);
    let content = fs::read_to_string(&file).unwrap();
    let cut = content.get(..content.len() - 40).unwrap();
    fs::write(&file, format!("garbage\n{cut}")).unwrap();
    let script = format!("read a; echo '{}'", &SLOW[1..]);
    let output = replay(&file, &[], &shell(&script));
    assert_eq!(text(&output.stdout), "1 request, 1 the same\n");
    assert_eq!(output.status.code(), Some(0));
    let errors = text(&output.stderr);
    assert!(errors.contains(":1: not a line") && errors.contains(":4: not a line"), "{errors}");
}

#[test]
fn bytes_that_are_no_text_are_said_as_they_were() {
    let (folder, file) = place();
    let heard = folder.path().join("heard");
    let said = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\xff\"}";
    let server = format!("tee {}", heard.to_string_lossy());
    let mut args = vec!["wrap", "--danger-no-guard", "--record", &file, "--"];
    args.extend(shell(&server));
    hardline(&args, &[said, &b"\n"[..]].concat());
    assert!(fs::read_to_string(&file).unwrap().contains("raw_base64"));
    fs::remove_file(&heard).unwrap();
    check(&file, &[], &shell(&server), 0, &["0 requests, 0 the same"]);
    assert_eq!(fs::read(&heard).unwrap(), [said, &b"\n"[..]].concat());
}

#[test]
fn large_frames_are_compared() {
    let (_folder, file) = place();
    let server = large();
    let server: Vec<_> = server.iter().map(String::as_str).collect();
    record_large(&file, &large_frames_pass());
    check(&file, &[], &server, 0, &["1 request, 1 the same"]);
    fs::remove_file(&file).unwrap();
    record_large(&file, &[]);
    let note = "note: 1 of the requests without an answer in the recording got one now";
    let summary = "1 request, 0 the same, 1 without an answer in the recording";
    check(&file, &[], &server, 0, &[note, summary]);
}
