//! `hardline frames`.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::hardline;

/// Returns the frames of `stream` in short form, from the JSON output, and the exit status.
fn frames(args: &[&str], stream: &[u8]) -> (Vec<Value>, i32) {
    let output = hardline(&[&["frames", "--format", "json"], args].concat(), stream);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let frames = document.get("frames").and_then(Value::as_array).unwrap();
    (frames.clone(), output.status.code().unwrap())
}

#[track_caller]
fn check(args: &[&str], stream: &[u8], status: i32, expected: Value) {
    assert_eq!(frames(args, stream), (expected.as_array().unwrap().clone(), status));
}

fn frame(offset: u64, length: u64, kind: &str, id: Value, method: Value) -> Value {
    json!({"offset": offset, "length": length, "kind": kind, "id": id, "method": method, "error": null})
}

fn invalid(offset: u64, length: u64, id: Value, code: i64, reason: &str, at: u64) -> Value {
    json!({"offset": offset, "length": length, "kind": "invalid", "id": id, "method": null,
        "error": {"code": code, "reason": reason, "offset": at}})
}

#[test]
fn shows_each_kind_of_message() {
    check(
        &[],
        b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\
          {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"ping\"}\r\n\
          \n\
          {\"jsonrpc\":\"2.0\",\"method\":\"a\\/b\"}\n\
          \xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\
          {\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}",
        0,
        json!([
            frame(0, 40, "request", json!(7), json!("ping")),
            frame(41, 42, "request", json!("7"), json!("ping")),
            frame(86, 33, "notification", json!(null), json!("a/b")),
            frame(123, 36, "response", json!(7), json!(null)),
            frame(160, 50, "error", json!(null), json!(null)),
        ]),
    );
}

#[test]
fn shows_what_is_wrong_with_a_frame_and_the_id_it_recovered() {
    check(
        &[],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",}\n\
          {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":7}\n\
          starting\n",
        1,
        json!([
            invalid(0, 38, json!(1), -32700, "expected a key in double quotes", 37),
            invalid(39, 37, json!("x"), -32600, "\"method\" is not a string", 35),
            invalid(77, 8, json!(null), -32700, "expected a value", 0),
        ]),
    );
}

#[test]
fn keeps_ids_exact() {
    let (frames, _) =
        frames(&[], b"{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,\"method\":\"a\"}\n");
    assert_eq!(frames[0]["id"], json!(9_223_372_036_854_775_807_u64));
    let big = b"{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"a\"}\n";
    let output = hardline(&["frames", "--format", "json"], big);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"kind\":\"invalid\",\"id\":123456789012345678901234567890,"), "{text}");
}

#[test]
fn shows_all_ids_of_several_values_on_a_line() {
    let (frames, status) = frames(&[], b"{\"id\":1}{\"id\":\"b\"}\n");
    assert_eq!(status, 1);
    assert_eq!((&frames[0]["id"], &frames[0]["ids"]), (&json!(1), &json!([1, "b"])));
}

#[test]
fn leaves_no_id_out_however_many_there_are() {
    let request = |id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"a\"}}");
    let requests: Vec<_> = (0..300).map(request).collect();
    for line in [requests.join(""), format!("[{}]", requests.join(","))] {
        let (frames, _) = frames(&[], line.as_bytes());
        assert_eq!(frames[0]["ids"], json!((0..300).collect::<Vec<_>>()));
    }
    let note = "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}";
    let (frames, _) = frames(&[], [&note.repeat(300), &*requests[7]].concat().as_bytes());
    assert_eq!(frames[0]["id"], 7);
}

#[test]
fn shows_a_batch_as_one_frame_with_elements() {
    let (frames, status) =
        frames(&[], b" [{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}, 7]\n[]\n");
    assert_eq!(status, 1);
    let mut batch = frame(0, 43, "batch", json!(null), json!(null));
    batch["elements"] = json!([
        frame(2, 37, "request", json!(1), json!("a")),
        invalid(41, 1, json!(null), -32600, "a message must be an object", 0),
    ]);
    assert_eq!(frames, [batch, invalid(44, 2, json!(null), -32600, "empty batch", 0)]);
    let valid = b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}]\n";
    assert_eq!(self::frames(&[], valid).1, 0);
}

#[test]
fn shows_an_oversized_frame_with_its_id_and_goes_on() {
    let long = format!(
        "{{\"params\":\"{}\",\"id\":5}}\n{{\"jsonrpc\":\"2.0\",\"method\":\"a\"}}\n",
        "x".repeat(3000)
    );
    check(
        &["--max-frame", "1KiB"],
        long.as_bytes(),
        1,
        json!([
            {"offset": 0, "length": 3020, "kind": "oversized", "id": 5, "method": null,
                "error": {"code": -32600, "reason": "message too large: 3020 bytes, limit 1024", "offset": 1024}},
            frame(3021, 30, "notification", json!(null), json!("a")),
        ]),
    );
}

#[test]
fn obeys_the_depth_it_is_given() {
    let deep = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":{}}}\n";
    assert_eq!(frames(&["--max-depth", "3"], deep).1, 0);
    let (frames, status) = frames(&["--max-depth", "2"], deep);
    assert_eq!(status, 1);
    assert_eq!(frames[0]["error"]["reason"], "nested deeper than 2");
}

#[test]
fn has_no_frames_in_an_empty_or_blank_stream() {
    for stream in [&b""[..], b"\n\r\n \t\n", b"\xef\xbb\xbf\n"] {
        check(&[], stream, 0, json!([]));
        let text = hardline(&["frames"], stream).stdout;
        assert!(String::from_utf8(text).unwrap().ends_with("0 frames, 0 valid, 0 not\n"));
    }
}

#[test]
fn reads_a_file_and_standard_input_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a file");
    fs::write(&path, b"{}\n").unwrap();
    let from_file = hardline(&["frames", path.to_str().unwrap()], b"");
    assert_eq!(from_file.status.code(), Some(1));
    assert_eq!(from_file.stdout, hardline(&["frames", "-"], b"{}\n").stdout);
    assert_eq!(from_file.stdout, hardline(&["frames"], b"{}\n").stdout);
}

#[test]
fn says_what_is_wrong_with_its_use() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    for (args, expected) in [
        (&["frames", "no-such-file"][..], "cannot read no-such-file: No such file"),
        (&["frames", folder], "cannot read"),
        (&["frames", "--max-frame", "0"], "--max-frame must be between 1 B and 1.0 GiB, not 0 B"),
        (&["frames", "--max-frame", "2GiB"], "--max-frame must be between"),
        (&["frames", "--max-frame", "much"], "expected a size such as"),
        (&["wrap", "--max-frame", "much", "--", "true"], "expected a size such as"),
        (&["audit", "prune", "--max-size", "much"], "expected a size such as"),
        (&["frames", "--max-depth", "0"], "--max-depth must be between 1 and 65536, not 0"),
        (&["frames", "--format", "xml"], "--format"),
        (&["frames", "--sample", "file"], "--sample"),
        (&["nonsense"], "nonsense"),
        (&[], "Usage: hardline"),
    ] {
        let output = hardline(args, b"");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(output.stdout, b"", "{args:?}");
        assert!(stderr.contains(expected), "{args:?}: {stderr}");
    }
}

#[test]
fn shows_the_sample_for_people_and_for_programs() {
    let text = hardline(&["frames", "--sample"], b"");
    assert_eq!(text.status.code(), Some(0));
    let text = String::from_utf8(text.stdout).unwrap();
    for expected in [
        "request",
        "notification",
        "response",
        "error",
        "batch",
        "invalid",
        "duplicate key",
        "ended inside a string",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    assert_eq!(frames(&["--sample"], b"").1, 0);
}

#[test]
fn never_prints_what_a_terminal_would_obey() {
    let stream = "{\"jsonrpc\":\"2.0\",\"id\":\"\u{9b}\u{202e}\",\"method\":\"\\u001b[2J\u{85}\"}\n\u{1b}]0;title\u{7}\r\r\n";
    let text = hardline(&["frames"], stream.as_bytes()).stdout;
    let text = String::from_utf8(text).unwrap();
    let obeyed = |char: char| char.is_control() && char != '\n' || char == '\u{202e}';
    assert!(!text.contains(obeyed), "{text:?}");
    assert!(text.contains(r"\u{1b}[2J"), "{text}");
}

#[test]
fn stops_quietly_when_nobody_reads_on() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hardline"))
        .args(["frames", "--format", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(1000);
            while std::io::Write::write_all(&mut input, &line).is_ok() {}
        });
        output.read_exact(&mut [0; 100]).unwrap();
        drop(output);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
        assert_eq!(ended.status.code(), Some(0));
    });
}

/// The stream is a hundred times as long as the memory limit.
#[cfg(target_os = "linux")]
#[test]
fn needs_no_more_memory_than_its_largest_frame() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hardline"))
        .args(["frames", "--format", "json", "--max-frame", "1MiB"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut sink = [0; 1 << 16];
            while output.read(&mut sink).unwrap() != 0 {}
        });
        let overlong = vec![b'['; 1 << 20];
        let frames = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(1000);
        for _ in 0..100 {
            std::io::Write::write_all(&mut input, &overlong).unwrap();
            std::io::Write::write_all(&mut input, &frames).unwrap();
        }
        let status = fs::read_to_string(status).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert!(kilobytes < 20_000, "{kilobytes} kB at the peak");
    });
}
