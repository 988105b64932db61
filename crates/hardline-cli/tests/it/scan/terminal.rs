//! Output of `hardline scan` on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::PLANTED;

/// Longer than the delay of the progress bar.
const LONG: Duration = Duration::from_millis(700);

/// Returns the two ends of a terminal: the person's and the program's.
fn terminal() -> (File, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let program = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (person.into(), program)
}

/// Scans standard input, which arrives in two parts with a pause in between, with a terminal for
/// the streams in `streams`. Returns the text on that terminal.
fn screen(streams: &str, environment: &[(&str, &str)], pause: Duration) -> String {
    let (mut person, program) = terminal();
    let stream = |name: &str| {
        if streams.contains(name) {
            Stdio::from(program.try_clone().unwrap())
        } else {
            Stdio::null()
        }
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_hardline"))
        .arg("scan")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR")
        .env_remove("CLICOLOR_FORCE")
        // With `CI` set, colors count as supported.
        .env_remove("CI")
        .env("TERM", "xterm")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(stream("out"))
        .stderr(stream("err"))
        .spawn()
        .unwrap();
    drop(program);
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut screen = Vec::new();
        // Reading from a terminal ends with an error once the program's end is closed.
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = person.read(&mut buffer) {
            screen.extend_from_slice(&buffer[..read]);
        }
        drop(sender.send(screen));
    });
    let mut input = child.stdin.take().unwrap();
    let filler = "Some words.\n".repeat(10_000);
    input.write_all(filler.as_bytes()).unwrap();
    thread::sleep(pause);
    input.write_all(PLANTED.as_bytes()).unwrap();
    input.write_all(filler.as_bytes()).unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    String::from_utf8(receiver.recv().unwrap()).unwrap()
}

#[test]
fn a_bar_is_shown_when_it_takes_long_and_goes_away() {
    let shown = screen("err", &[], LONG);
    assert!(shown.contains("scanning ") && shown.contains("KiB"), "{shown:?}");
    // The last action on the line must be to clear it.
    assert!(shown.trim_end_matches(['\r', '\n']).ends_with("\u{1b}[2K"), "{shown:?}");
    assert_eq!(screen("err", &[], Duration::ZERO), "");
    // Without a terminal on standard error, there is no bar.
    assert!(!screen("out", &[], LONG).contains("scanning "));
}

#[test]
fn the_bar_and_the_findings_do_not_mix() {
    let written = screen("out err", &[("NO_COLOR", "1")], LONG);
    assert!(written.contains("scanning "), "{written:?}");
    let quick = screen("out", &[("NO_COLOR", "1")], Duration::ZERO);
    assert!(quick.contains("<stdin>:10002:1: critical") && !quick.contains('\u{1b}'), "{quick:?}");
    assert_eq!(seen(&written), seen(&quick));
}

/// Returns the text that is left on the screen.
fn seen(written: &str) -> String {
    let mut lines = vec![String::new()];
    let mut rest = written;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        let line = lines.last_mut().unwrap();
        match char {
            '\n' => lines.push(String::new()),
            // The bar returns to the start of the line only to clear it.
            '\r' if rest.starts_with('\n') || line.is_empty() => {}
            '\r' => assert!(rest.starts_with("\u{1b}[2K"), "{rest:?}"),
            '\u{1b}' => {
                rest = rest.strip_prefix("[2K").expect("no other command");
                line.clear();
            }
            _ => line.push(char),
        }
    }
    lines.join("\n")
}

#[test]
fn a_terminal_gets_colors_unless_somebody_minds() {
    let has_colors = |environment: &[(&str, &str)]| {
        screen("out", environment, Duration::ZERO).contains("\u{1b}[31m")
    };
    assert!(has_colors(&[]));
    assert!(!has_colors(&[("NO_COLOR", "1")]));
    assert!(!has_colors(&[("TERM", "dumb")]));
}
