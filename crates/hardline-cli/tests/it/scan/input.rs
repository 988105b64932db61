//! Files, standard input, and their errors.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use super::{PLANTED, file, json};
use crate::hardline;

fn spawn(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hardline"))
        .arg("scan")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_file_that_cannot_be_read_costs_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let one = file(directory.path(), "one", PLANTED);
    let other = file(directory.path(), "other", "plain");
    let empty = file(directory.path(), "empty", "");
    let (report, code) = json(&[&one, &other, &empty], b"");
    assert_eq!((report["scanned"]["files"].as_u64(), code), (Some(3), Some(1)));
    assert_eq!(report["findings"][0]["file"], *one);

    let missing = directory.path().join("missing");
    let folder = directory.path().to_str().unwrap();
    let paths = [&*other, missing.to_str().unwrap(), folder, &one];
    let (report, code) = json(&paths, b"");
    assert_eq!((report["scanned"]["files"].as_u64(), code), (Some(2), Some(2)));
    assert_eq!(report["findings"].as_array().unwrap().len(), 1);
    let errors = report["errors"].as_array().unwrap();
    assert_eq!(
        (&errors[0]["file"], &errors[1]["file"]),
        (&missing.to_str().into(), &folder.into())
    );

    let output = hardline(&[&["scan"], &paths[..]].concat(), b"");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("/missing: No such file"), "{told}");
    assert!(told.contains("it is a directory; to scan all its files: find "), "{told}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("not scanned: 2 files that could not be read\n"), "{shown}");
}

#[test]
fn standard_input_can_be_named_once() {
    let output = hardline(&["scan", "-", "-"], PLANTED.as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8(output.stderr).unwrap().contains("once"));
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "one", PLANTED);
    let (report, _) = json(&[&path, "-"], PLANTED.as_bytes());
    assert_eq!(report["findings"].as_array().unwrap().len(), 2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for format in ["text", "json", "sarif"] {
        let mut child = spawn(&["--format", format]);
        let mut input = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let writer = std::thread::spawn(move || {
            // `scan` stops reading when its output is closed, and the write fails.
            let page = PLANTED.repeat(1000);
            while input.write_all(page.as_bytes()).is_ok() {}
        });
        output.read_exact(&mut [0; 64]).unwrap();
        drop(output);
        let end = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(end.stderr.is_empty(), "{}", String::from_utf8_lossy(&end.stderr));
        assert!(end.status.code().is_some_and(|code| code < 2), "{format}: {}", end.status);
    }
}

#[test]
fn what_is_found_is_shown_before_the_input_ends() {
    let mut child = spawn(&[]);
    let mut input = child.stdin.take().unwrap();
    let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(2000);
    input.write_all(ping.as_bytes()).unwrap();
    let text = serde_json::to_string(PLANTED).unwrap();
    let frame = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"text\":{text}}}}}\n");
    input.write_all(frame.as_bytes()).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("<stdin>:2001:"), "{line}");
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[cfg(unix)]
#[test]
fn reads_whatever_can_be_opened() {
    let (report, code) = json(&["/dev/stdin"], PLANTED.as_bytes());
    assert_eq!((&report["findings"][0]["offset"], code), (&16.into(), Some(1)));
    assert_eq!(json(&["/dev/null"], b"").1, Some(0));

    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::write(pipe, PLANTED).unwrap()
    });
    let (report, code) = json(&[pipe.to_str().unwrap()], b"");
    writer.join().unwrap();
    assert_eq!((&report["findings"][0]["offset"], code), (&16.into(), Some(1)));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_at_once() {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::{Pid, Signal, kill_process};

    if crate::is_ignored(Signal::INT.as_raw()) {
        return;
    }
    let mut child = spawn(&[]);
    let input = child.stdin.take().unwrap();
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    drop(input);
}

/// A scan needs the memory of one window, or of the largest frame.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_input() {
    let words = "Some words and more of them, with a {brace} and \"quotes\".\n".repeat(1 << 13);
    let text = serde_json::to_string(&"words and words ".repeat(1000)).unwrap();
    let frame =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"text\":{text}}}}}\n").repeat(30);
    let no_line = words.replace('\n', " ");
    for (chunk, mebibytes) in [(&*words, 40), (&frame, 40), (&no_line, 100)] {
        let mut child = spawn(&["--format", "json"]);
        let mut input = child.stdin.take().unwrap();
        for _ in 0..(128 << 20) / chunk.len() {
            input.write_all(chunk.as_bytes()).unwrap();
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kibibytes < mebibytes * 1024, "{kibibytes} KiB");
        input.write_all(format!("\n{}\n", super::MESSAGE).as_bytes()).unwrap();
        drop(input);
        let mut report = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut report).unwrap();
        assert!(child.wait().unwrap().code().is_some());
    }
}
